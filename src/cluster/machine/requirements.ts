// What nodes of real containers need of this machine: programs, kernel features, root. A feature is checked by trying
// it, in namespaces that end with the check. A containerd that runs already does not matter: nodes have their own.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { delimiter, join } from "node:path";
import { explain } from "#base/errors.ts";
import { programPath, runProgram } from "#base/host/run-program.ts";
import { type Distribution, distributionOf, howToInstall, installPackages, type PackageName } from "./packages.ts";

/** A machine as far as requirements ask about it. */
export interface MachineFacts {
  readonly platform: string;
  readonly isRoot: boolean;
  /** The text of /etc/os-release, empty where there is none. */
  readonly osRelease: string;
  /** The text of /proc/self/mountinfo. */
  readonly mounts: string;
  /** Whether there is such a program, wherever programs are looked for. */
  has(program: string): boolean;
  exists(path: string): boolean;
  /** Rejects if the program fails. */
  run(command: readonly string[], env?: Readonly<Record<string, string>>): Promise<string>;
}

/** Something that is missing, as a person reads it. */
export interface UnmetRequirement {
  readonly problem: string;
  /** What would bring it; none for what the kernel lacks. */
  readonly package?: PackageName;
  /** What helps instead of a package. */
  readonly cure?: string;
}

export interface RequirementsReport {
  readonly unmet: readonly UnmetRequirement[];
  /** Where the CNI plugins are, or undefined if they are not all there. */
  readonly pluginFolder: string | undefined;
}

interface Program {
  readonly name: string;
  readonly package: PackageName;
  /** The oldest that will do. */
  readonly least?: string;
}

/** containerd 1.6 is the first that speaks the first version of CRI; nft 1.0.1 is the oldest that upstream's proxy trusts. */
const programs: readonly Program[] = [
  { name: "containerd", package: "containerd", least: "1.6" },
  { name: "ctr", package: "ctr" },
  { name: "runc", package: "runc", least: "1.0" },
  { name: "ip", package: "iproute2" },
  { name: "nsenter", package: "util-linux" },
  { name: "unshare", package: "util-linux" },
  { name: "mount", package: "mount" },
  { name: "nft", package: "nftables", least: "1.0.1" },
  { name: "conntrack", package: "conntrack" },
  { name: "iptables", package: "iptables" }, // the CNI plugin portmap calls it for host ports
];

/** What proxy mode ipvs needs besides. */
const ipvsPrograms: readonly Program[] = [
  { name: "ipvsadm", package: "ipvsadm" },
  { name: "ipset", package: "ipset" },
];

const plugins = ["ptp", "host-local", "loopback", "portmap", "bandwidth"];
const pluginFolders = ["/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"];
const pluginVersion = "0.4.0";
/** All that is missing at once. `folder` is where nodes will keep their data. */
export async function findRequirements(
  folder: string,
  machine: MachineFacts = readMachine(),
  proxyMode = "",
): Promise<RequirementsReport> {
  const isIpvs = proxyMode === "ipvs";
  const features = [...kernelFeatures(folder, machine), ...(isIpvs ? [ipvsFeature(machine)] : [])];
  const [unmetPrograms, plugin, kernel] = await Promise.all([
    Promise.all([...programs, ...(isIpvs ? ipvsPrograms : [])].map((program) => checkProgram(program, machine))),
    findPlugins(machine),
    Promise.all(features.map((ability) => checkKernelFeature(ability, machine))),
  ]);
  return { unmet: [...unmetPrograms, plugin.unmet, ...kernel].filter(isUnmet), pluginFolder: plugin.folder };
}

const isUnmet = (found: UnmetRequirement | undefined): found is UnmetRequirement => found !== undefined;

async function checkProgram(
  { name, package: from, least: minVersion }: Program,
  machine: MachineFacts,
): Promise<UnmetRequirement | undefined> {
  if (!machine.has(name)) return { problem: `${name} is not installed`, package: from };
  if (minVersion === undefined) return undefined;
  let output: string;
  try {
    output = await machine.run([name, "--version"]);
  } catch (error) {
    return { problem: `${name} does not run (${explain(error)})`, package: from };
  }
  const version = versionIn(output);
  return version !== undefined && isOlder(version, minVersion)
    ? { problem: `${name} is of version ${version}, and ${minVersion} or newer is needed`, package: from }
    : undefined;
}

/** The first number of several parts: `1.6.20` of `containerd github.com/containerd/containerd 1.6.20~ds1`. */
export const versionIn = (text: string): string | undefined => /\d+(?:\.\d+)+/.exec(text)?.[0];

export function isOlder(version: string, least: string): boolean {
  const [a, b] = [version, least].map((text) => text.split(".").map(Number)) as [number[], number[]];
  const at = b.findIndex((part, i) => (a[i] ?? 0) !== part);
  return at >= 0 && (a[at] ?? 0) < (b[at] ?? 0);
}

interface Plugins {
  readonly folder?: string;
  readonly unmet?: UnmetRequirement;
}

async function findPlugins(machine: MachineFacts): Promise<Plugins> {
  const lacking = (folder: string) => plugins.filter((plugin) => !machine.exists(join(folder, plugin)));
  const folder = pluginFolders.find((candidate) => lacking(candidate).length === 0);
  const unmet = (problem: string): Plugins => ({ unmet: { problem, package: "cni-plugins" } });
  if (folder === undefined) {
    const nearest = pluginFolders.find((candidate) => lacking(candidate).length < plugins.length);
    return unmet(
      nearest === undefined
        ? `the CNI plugins are not installed (looked in ${pluginFolders.join(", ")})`
        : `the CNI plugins ${lacking(nearest).join(", ")} are missing in ${nearest}`,
    );
  }
  try {
    const said = await machine.run([join(folder, "ptp")], { CNI_COMMAND: "VERSION" });
    return said.includes(JSON.stringify(pluginVersion))
      ? { folder }
      : unmet(`the CNI plugins in ${folder} do not know version ${pluginVersion} of CNI`);
  } catch (error) {
    return unmet(`the CNI plugins in ${folder} do not run (${explain(error)})`);
  }
}

interface KernelFeature {
  /** Of the kernel: what it lacks if `test` rejects. */
  readonly lack: string;
  /** Programs that the check needs; without them it is skipped. */
  readonly by: readonly string[];
  /** What helps; defaults to doing without real containers. */
  readonly cure?: string;
  test(): Promise<unknown>;
}

const ipvsFeature = (machine: MachineFacts): KernelFeature => ({
  lack: "the kernel has no ip_vs, which --proxy-mode=ipvs is made of",
  by: [],
  cure: 'load it with "modprobe -a ip_vs ip_vs_rr" or use a kernel with CONFIG_IP_VS, or choose another --proxy-mode',
  async test() {
    if (machine.exists("/proc/net/ip_vs")) return;
    await machine.run(["modprobe", "-a", "ip_vs", "ip_vs_rr"]);
    if (!machine.exists("/proc/net/ip_vs")) throw new Error("there is no /proc/net/ip_vs");
  },
});

function kernelFeatures(folder: string, machine: MachineFacts): readonly KernelFeature[] {
  const isolated = (...command: readonly string[]) => machine.run(["unshare", ...command]);
  return [
    {
      lack: "processes cannot have namespaces of their own",
      by: ["unshare"],
      test: () => isolated("--net", "--mount", "--pid", "--ipc", "--uts", "--fork", "true"),
    },
    {
      lack: "there are no network bridges",
      by: ["unshare", "ip"],
      test: () => isolated("--net", "ip", "link", "add", "kn0", "type", "bridge"),
    },
    {
      lack: "there is no packet filter (nf_tables)",
      by: ["unshare", "nft"],
      test: () => isolated("--net", "nft", "list", "tables"),
    },
    {
      lack: `there is no overlay file system for ${folder}`,
      by: ["unshare", "mount"],
      test: () => mountOverlay(folder, isolated),
    },
    {
      lack: "no cgroups are mounted",
      by: [],
      test: async () => {
        if (!/ - cgroup2? /.test(machine.mounts)) throw new Error("/proc/self/mountinfo names none");
      },
    },
  ];
}

async function mountOverlay(folder: string, isolated: (...command: readonly string[]) => Promise<string>) {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const trial = mkdtempSync(join(folder, "overlay-"));
  try {
    const [lower, upper, work, merged] = ["lower", "upper", "work", "merged"].map((name) => join(trial, name));
    for (const path of [lower, upper, work, merged]) mkdirSync(path ?? "");
    const options = `lowerdir=${lower},upperdir=${upper},workdir=${work}`;
    await isolated("--mount", "mount", "-t", "overlay", "overlay", "-o", options, merged ?? "");
  } finally {
    rmSync(trial, { recursive: true, force: true });
  }
}

async function checkKernelFeature(
  ability: KernelFeature,
  machine: MachineFacts,
): Promise<UnmetRequirement | undefined> {
  if (!ability.by.every((program) => machine.has(program))) return undefined; // the missing program is reported already
  try {
    await ability.test();
    return undefined;
  } catch (error) {
    const { lack, cure } = ability;
    return { problem: `on this machine ${lack} (${explain(error)})`, ...(cure !== undefined && { cure }) };
  }
}

export interface EnsureOptions {
  /** Where nodes will keep their data. */
  readonly folder: string;
  /** Whether packages may be installed. */
  readonly install: boolean;
  /** How the nodes will carry traffic for services. */
  readonly proxyMode?: string;
  /** Called with what is being done, a few words at a time. */
  readonly progress: (text: string) => void;
}

const simulatedHint = "or use --runtime simulated, which needs nothing";

/** Makes the machine fit for nodes, or throws an error that says what a person can do. Returns where the CNI plugins are. */
export async function ensureRequirements(
  { folder, install, proxyMode, progress }: EnsureOptions,
  signal: AbortSignal,
  machine: MachineFacts = readMachine(),
): Promise<{ readonly pluginFolder: string }> {
  if (machine.platform !== "linux")
    throw new Error(`real containers need Linux, and this is ${machine.platform}: use --runtime simulated`);
  if (!machine.isRoot) throw new Error(`real containers need root: run as root (sudo), ${simulatedHint}`);
  const distribution = distributionOf(machine.osRelease);
  let report = await findRequirements(folder, machine, proxyMode);
  const packages = packagesOf(report);
  if (packages.length > 0 && install && distribution?.family === "debian" && report.unmet.every(isCurable)) {
    progress(`installing ${packages.join(" ")}`);
    await installPackages(packages, progress, signal);
    report = await findRequirements(folder, machine, proxyMode);
  }
  if (report.unmet.length > 0 || report.pluginFolder === undefined)
    throw new Error(refusal(report, distribution, { install }));
  return { pluginFolder: report.pluginFolder };
}

const isCurable = (unmet: UnmetRequirement): boolean => unmet.package !== undefined;
const packagesOf = ({ unmet }: RequirementsReport): readonly PackageName[] => [
  ...new Set(unmet.flatMap(({ package: name }) => name ?? [])),
];

/** Why there can be no nodes, and what would help. */
export function refusal(
  report: RequirementsReport,
  distribution: Distribution | undefined,
  { install }: Pick<EnsureOptions, "install">,
): string {
  const what = report.unmet.map(({ problem }) => problem).join("; ");
  const cure = report.unmet.every(isCurable)
    ? `${install ? "" : "--no-install was given, so "}${howToInstall(packagesOf(report), distribution)}, ${simulatedHint}`
    : (report.unmet.find((unmet) => unmet.cure !== undefined)?.cure ?? "use --runtime simulated, which needs nothing");
  return `real containers cannot run here: ${what}; ${cure}`;
}

export function readMachine(): MachineFacts {
  const text = (file: string) => (existsSync(file) ? readFileSync(file, "utf8") : "");
  const path = programPath(process.env.PATH);
  return {
    platform: process.platform,
    isRoot: process.getuid?.() === 0,
    osRelease: text("/etc/os-release"),
    mounts: text("/proc/self/mountinfo"),
    has: (program) => path.split(delimiter).some((folder) => existsSync(join(folder, program))),
    exists: existsSync,
    run: (command, env) => runProgram(command, env && { env }),
  };
}
