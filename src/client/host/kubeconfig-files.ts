// Finds, reads and changes kubeconfig files, with kubectl's rules for which one is meant.
// Files are read and written at once: `node:fs/promises` takes longer to load than a kubeconfig to be read, and every command waits for it.
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";
import type { Clock } from "#base/clock.ts";
import { UsageError } from "#base/errors.ts";
import { retry } from "#base/retry.ts";
import {
  emptyKubeconfig,
  type Kubeconfig,
  mergeKubeconfigs,
  parseKubeconfig,
  printKubeconfig,
  withAbsolutePaths,
} from "../kubeconfig.ts";

export interface KubeconfigPlace {
  /** `--kubeconfig`: then no other file is looked at. */
  readonly explicit?: string | undefined;
  /** The environment: `KUBECONFIG` and `HOME` are read. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The files that make up the configuration, the most important first. */
export function kubeconfigPaths({ explicit, env }: KubeconfigPlace): readonly string[] {
  if (explicit) return [resolve(explicit)];
  const listed = (env.KUBECONFIG ?? "").split(delimiter).filter((path) => path !== "");
  if (listed.length > 0) return [...new Set(listed.map((path) => resolve(path)))];
  return env.HOME ? [join(env.HOME, ".kube", "config")] : [];
}

/** All files merged. A file that does not exist is no error, unless it was asked for by name. */
export async function loadKubeconfig(place: KubeconfigPlace): Promise<Kubeconfig> {
  const configs: Kubeconfig[] = [];
  for (const path of kubeconfigPaths(place)) {
    const config = readKubeconfig(path);
    if (config) configs.push(withAbsolutePaths(config, dirname(path)));
    else if (place.explicit) throw new UsageError(`kubeconfig ${path}: no such file`);
  }
  return mergeKubeconfigs(configs);
}

function readKubeconfig(path: string): Kubeconfig | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    if (isCode(cause, "ENOENT")) return undefined;
    throw new UsageError(`kubeconfig ${path}: cannot be read`, { cause });
  }
  return parseKubeconfig(text, path);
}

/** The file that new entries go to: the first that exists, else the last of the list. */
export function kubeconfigToChange(place: KubeconfigPlace): string {
  const paths = kubeconfigPaths(place);
  const path = paths.find((one) => existsSync(one)) ?? paths.at(-1);
  if (path === undefined)
    throw new UsageError("there is no place for a kubeconfig: neither KUBECONFIG nor HOME is set");
  return path;
}

/** Changes a file as a whole or not at all; others that follow the same rule (kubectl, kind) wait, and we wait for them. */
export async function changeKubeconfig(
  path: string,
  change: (config: Kubeconfig) => Kubeconfig,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  mkdirSync(dirname(path), { recursive: true });
  // What is changed is the file a link leads to, not the link.
  const target = existsSync(path) ? realpathSync(path) : path;
  const release = await lock(target, clock, signal);
  try {
    const text = printKubeconfig(change(readKubeconfig(target) ?? emptyKubeconfig));
    const draft = `${target}.${process.pid}.new`;
    writeFileSync(draft, text, { mode: 0o600, flush: true });
    renameSync(draft, target);
  } finally {
    release();
  }
}

/** The file beside it that client-go's locking uses, too. */
async function lock(path: string, clock: Clock, signal: AbortSignal): Promise<() => void> {
  const file = `${path}.lock`;
  const take = async () => closeSync(openSync(file, "wx", 0o600));
  const when = (error: unknown) => isCode(error, "EEXIST");
  try {
    await retry(take, { clock, firstMs: 50, maxMs: 500, tries: 20, when }, signal);
  } catch (cause) {
    if (!isCode(cause, "EEXIST")) throw cause;
    throw new UsageError(`kubeconfig ${path} is being changed by another program; delete ${file} if there is none`, {
      cause,
    });
  }
  return () => rmSync(file, { force: true });
}

const isCode = (error: unknown, code: string): boolean =>
  error instanceof Error && "code" in error && error.code === code;
