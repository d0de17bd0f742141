// Changes of kubeconfigs: an entry is changed in the file it stands in, a new one goes where new ones go
// (upstream: client-go/tools/clientcmd/config.go, ModifyConfig).
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { changeKubeconfig, kubeconfigPaths, kubeconfigToChange } from "#client/host/kubeconfig-files.ts";
import { type Kubeconfig, parseKubeconfig } from "#client/kubeconfig.ts";
import { loadConfigFiles } from "../../client-config.ts";
import type { Session } from "../../session.ts";

export type ConfigList = "clusters" | "users" | "contexts";
export type ConfigEntry = Readonly<Record<string, unknown>>;
export const entryField = { clusters: "cluster", users: "user", contexts: "context" } as const;

const placeOf = ({ io, globals }: Session) => ({
  explicit: globals.kubeconfig === "" ? undefined : resolve(io.cwd, globals.kubeconfig),
  env: io.env,
});

/** What all files say together. A file that was named and does not exist yet is empty. */
export async function startingConfig(session: Session): Promise<Kubeconfig> {
  const { explicit } = placeOf(session);
  if (explicit !== undefined && readIfThere(explicit) === undefined) return parseKubeconfig("", explicit);
  return loadConfigFiles(session.io, session.globals);
}

/** The file that messages name. */
export const defaultFile = (session: Session): string => kubeconfigToChange(placeOf(session));

/** The inner part of an entry; undefined if there is none of that name. */
export function entryIn(config: Kubeconfig, list: ConfigList, name: string): ConfigEntry | undefined {
  const entries: readonly ConfigEntry[] = config[list];
  return entries.find((entry) => entry.name === name)?.[entryField[list]] as ConfigEntry | undefined;
}

/** Writes an entry; undefined removes it. */
export async function writeEntry(
  session: Session,
  list: ConfigList,
  name: string,
  value: ConfigEntry | undefined,
): Promise<void> {
  const has = (config: Kubeconfig) => entryIn(config, list, name) !== undefined;
  await changeFile(session, has, (config) => {
    const others = (config[list] as readonly ConfigEntry[]).filter((entry) => entry.name !== name);
    const known = (config[list] as readonly ConfigEntry[]).find((entry) => entry.name === name);
    const entries = value === undefined ? others : [...others, { ...known, [entryField[list]]: value, name }];
    return { ...config, [list]: entries.toSorted((a, b) => (String(a.name) < String(b.name) ? -1 : 1)) } as Kubeconfig;
  });
}

export const writeCurrentContext = (session: Session, name: string): Promise<void> =>
  changeFile(
    session,
    (config) => config["current-context"] !== "",
    (config) => ({ ...config, "current-context": name }),
  );

/** Changes the first file that has what is changed, or the one for new entries. */
async function changeFile(
  session: Session,
  has: (config: Kubeconfig) => boolean,
  change: (config: Kubeconfig) => Kubeconfig,
): Promise<void> {
  const place = placeOf(session);
  const owner = kubeconfigPaths(place).find((path) => {
    const text = readIfThere(path);
    return text !== undefined && has(parseKubeconfig(text, path));
  });
  await changeKubeconfig(owner ?? kubeconfigToChange(place), change, session.io.clock, session.io.signal);
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
