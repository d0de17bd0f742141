// Packages of Linux distributions: what each calls the thing, and how it is installed.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

type Family = "debian" | "fedora" | "alpine" | "arch" | "suse";

export interface Distribution {
  /** As it calls itself: `Fedora Linux 42`. */
  readonly name: string;
  readonly family: Family | undefined;
}

/** By the names of Debian's packages; and what the others call them where that differs. */
const names = {
  containerd: {},
  ctr: {
    debian: "containerd",
    fedora: "containerd",
    arch: "containerd",
    alpine: "containerd-ctr",
    suse: "containerd-ctr",
  },
  runc: {},
  "cni-plugins": { debian: "containernetworking-plugins", fedora: "containernetworking-plugins" },
  iproute2: { fedora: "iproute" },
  "util-linux": { alpine: "util-linux-misc" },
  mount: { fedora: "util-linux", alpine: "mount", arch: "util-linux", suse: "util-linux" },
  nftables: {},
  conntrack: { fedora: "conntrack-tools", alpine: "conntrack-tools", arch: "conntrack-tools", suse: "conntrack-tools" },
  iptables: { fedora: "iptables-nft" },
  ipvsadm: {},
  ipset: {},
  "etcd-server": { fedora: "etcd", alpine: "etcd", arch: "etcd", suse: "etcd" },
  setpriv: { debian: "util-linux", fedora: "util-linux", arch: "util-linux", suse: "util-linux" },
} as const satisfies Readonly<Record<string, Partial<Record<Family, string>>>>;

export type PackageName = keyof typeof names;

const installers: Readonly<Record<Family, string>> = {
  debian: "apt-get install -y --no-install-recommends",
  fedora: "dnf install -y",
  alpine: "apk add",
  arch: "pacman -S --needed",
  suse: "zypper install -y",
};

/** Which words of os-release's ID and ID_LIKE mean which family. */
const families: Readonly<Record<string, Family>> = {
  debian: "debian",
  ubuntu: "debian",
  fedora: "fedora",
  rhel: "fedora",
  centos: "fedora",
  alpine: "alpine",
  arch: "arch",
  suse: "suse",
  opensuse: "suse",
};

/** From the text of os-release; undefined if it says nothing. */
export function distributionOf(osRelease: string): Distribution | undefined {
  const field = (name: string) => new RegExp(`^${name}=(["']?)(.*)\\1$`, "m").exec(osRelease)?.[2];
  const id = field("ID");
  if (id === undefined) return undefined;
  const words = [id, ...(field("ID_LIKE") ?? "").split(" ")].map((word) => word.split("-")[0] ?? "");
  const known = words.find((word) => Object.hasOwn(families, word));
  return { name: field("PRETTY_NAME") ?? id, family: known === undefined ? undefined : families[known] };
}

/** `install it with "dnf install -y runc"`. */
export function howToInstall(wanted: readonly PackageName[], distribution: Distribution | undefined): string {
  const family = distribution?.family;
  return family === undefined
    ? `install what Debian has in its packages ${namesIn("debian", wanted).join(", ")}`
    : `install what is missing with "${installers[family]} ${namesIn(family, wanted).join(" ")}"`;
}

function namesIn(family: Family, packages: readonly PackageName[]): readonly string[] {
  const called = (name: PackageName): string => {
    const own: Partial<Record<Family, string>> = names[name];
    return own[family] ?? name;
  };
  return [...new Set(packages.map(called))];
}

const tailLines = 15;

/**
 * Installs packages on a Debian-like system. The lists of packages are fetched only if it cannot be done with those that are there.
 * Rejects with the last lines of what apt said.
 */
export async function installPackages(
  wanted: readonly PackageName[],
  progress: (text: string) => void,
  signal: AbortSignal,
): Promise<void> {
  const packages = namesIn("debian", wanted);
  const install = () => aptGet(["install", "-y", "--no-install-recommends", ...packages], progress, signal);
  if ((await install()).code === 0) return;
  progress("fetching lists of packages");
  const update = await aptGet(["update"], progress, signal);
  const { code, said } = await install();
  if (code === 0) return;
  const before = update.code === 0 ? "" : ` (and "apt-get update" failed: ${update.said.at(-1) ?? ""})`;
  throw new Error(`apt-get could not install ${packages.join(" ")}${before}:\n${said.join("\n")}`);
}

interface AptResult {
  readonly code: number | null;
  /** The last lines. */
  readonly said: readonly string[];
}

/** apt's words go to us, not to the terminal; how far it is comes as lines such as `pmstatus:runc:40.0:Unpacking runc (amd64)`. */
async function aptGet(
  args: readonly string[],
  progress: (text: string) => void,
  signal: AbortSignal,
): Promise<AptResult> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<AptResult>();
  const child = spawn("apt-get", ["-q", "-o", "APT::Status-Fd=1", "-o", "DPkg::Lock::Timeout=60", ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    // Never prompt, and restart no services.
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive", NEEDRESTART_SUSPEND: "1", LC_ALL: "C.UTF-8" },
  });
  const lines: string[] = [];
  const read = (line: string) => {
    const status = aptStatus(line);
    if (status !== undefined) progress(status);
    else if (line.trim() !== "") lines.push(line);
    if (lines.length > tailLines) lines.shift();
  };
  for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on("line", read);
  child.once("error", (cause) => reject(new Error("run apt-get", { cause })));
  // A killed apt leaves packages half installed: an abort waits for this run, and starts no other.
  child.once("close", (code) => (signal.aborted ? reject(signal.reason) : resolve({ code, said: lines })));
  return promise;
}

/** `40% Unpacking runc (amd64)`, or undefined for a line that is something else. */
export function aptStatus(line: string): string | undefined {
  const [, percent, text] = /^(?:pm|dl)status:[^:]*:([\d.]+):(.*)$/.exec(line) ?? [];
  return percent === undefined ? undefined : `${Math.round(Number(percent))}% ${text}`;
}
