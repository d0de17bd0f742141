// Every kubectl that can be found, one of each minor version.
import { execFileSync } from "node:child_process";
import { existsSync, globSync, mkdirSync, readdirSync, realpathSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export interface Kubectl {
  readonly path: string;
  /** Like "1.20". */
  readonly version: string;
}

/** Oldest first. Debian's is among them wherever Debian's packages can be had. */
export function findKubectls(): readonly Kubectl[] {
  const found = new Map<string, Kubectl>();
  for (const path of candidates()) {
    const version = versionOf(path);
    if (version !== undefined && !found.has(version)) found.set(version, { path, version });
  }
  return [...found.values()].toSorted((a, b) => minorOf(a.version) - minorOf(b.version));
}

export const minorOf = (version: string): number => Number.parseInt(version.split(".")[1] ?? "", 10);

function* candidates(): Generator<string> {
  if (process.env.KNARR_KUBECTL) yield* process.env.KNARR_KUBECTL.split(delimiter);
  const debian = debianKubectl();
  if (debian) yield debian;
  const folders = new Set([...(process.env.PATH ?? "").split(delimiter), "/usr/bin", "/usr/local/bin"]);
  for (const folder of folders) {
    const plain = join(folder, "kubectl");
    if (!existsSync(plain)) continue;
    // Some distributions bring one command that chooses among several versions beside it.
    yield* globSync(join(dirname(realpathSync(plain)), "kubectl.1.*"));
    yield plain;
  }
}

/** Where another package owns /usr/bin/kubectl, Debian's is unpacked beside, not installed over it. */
function debianKubectl(): string | undefined {
  const folder = fileURLToPath(new URL("../../node_modules/.cache/kubernetes-client", import.meta.url));
  const path = join(folder, "usr/bin/kubectl");
  if (existsSync(path)) return path;
  if (!existsSync("/usr/bin/apt-get") || !existsSync("/usr/bin/dpkg-deb")) return undefined;
  mkdirSync(folder, { recursive: true });
  try {
    execFileSync("apt-get", ["-qq", "download", "kubernetes-client"], { cwd: folder, stdio: "ignore" });
  } catch {
    return undefined; // no mirror, or none of that name: the others have to do
  }
  const [archive] = readdirSync(folder).filter((name) => name.endsWith(".deb"));
  if (archive === undefined) return undefined;
  execFileSync("dpkg-deb", ["-x", archive, "."], { cwd: folder });
  return existsSync(path) ? path : undefined;
}

function versionOf(path: string): string | undefined {
  const output = execFileSync(path, ["version", "--client", "-o", "json"], { encoding: "utf8" });
  return /"gitVersion": "v(\d+\.\d+)/.exec(output)?.[1];
}
