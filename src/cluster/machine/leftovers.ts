// Finds and removes all that a node's containerd has on the machine, in its own folders and elsewhere, whether containerd, its shims,
// both or neither are alive. State that one of them held may be lost, so each thing is looked for in more than one way.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import type { Clock } from "#base/clock.ts";
import { mountsBelow } from "#base/host/mounts.ts";
import { ProgramFailed, runProgram } from "#base/host/run-program.ts";
import { parseJson } from "#schema/json.ts";
import { removeCgroups } from "./cgroups.ts";
import { isRootedIn, type ProcessInfo, processes, signalTo, withDescendants } from "./processes.ts";

/** Where a node's containerd lives. */
export interface ContainerdHome {
  readonly folder: string;
  readonly runFolder: string;
  readonly socket: string;
  readonly config: string;
  /** The control group of all that it runs. */
  readonly cgroup: string;
}

/** What is killed needs a processor once more to end, and a busy machine may not have one for long. */
const timeoutMs = 60_000;
const pollMs = 10;
const maxUnmountTries = 10;
const unmountedAtOnce = 200;
/** Fixed in containerd and in the library it runs CNI plugins with. */
const shimSockets = "/run/containerd/s";
const cniResults = "/var/lib/cni/results";

/** Ends containerd and all it runs, and removes what is left of that on the machine; its data stay. */
export async function endAll(home: ContainerdHome, clock: Clock): Promise<void> {
  const bundles = bundlesOf(home);
  const running = processes();
  const shims = [...bundles.map(({ id, namespace }) => ({ id, namespace })), ...running.flatMap(shimOf(home))];
  const groups = [home.cgroup, ...bundles.flatMap(({ cgroup }) => cgroup ?? [])];
  await endProcesses(home, clock);
  await removeCgroups([...new Set(groups)], clock);
  for (const { id, namespace } of shims) rmSync(shimSocket(home, namespace, id), { force: true });
  removeCniResults(home, new Set([...shims.map(({ id }) => id), ...sandboxesOf(home)]));
  await removeFolders(home.runFolder);
}

/** Unmounts all that is below these folders, and removes them. */
export async function removeFolders(...folders: readonly string[]): Promise<void> {
  for (let failures = 0, left = mountsBelow(...folders); left.length > 0; left = mountsBelow(...folders))
    try {
      await runProgram(["umount", "--lazy", ...left.slice(0, unmountedAtOnce)]);
    } catch (error) {
      // One that goes takes others with it, which then are not mounted any more.
      if (!(error instanceof ProgramFailed) || ++failures === maxUnmountTries) throw error;
    }
  // Only now: what was mounted there may be somebody's data.
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

const programs: ReadonlySet<string> = new Set(["containerd", "containerd-shim-runc-v2", "runc", "ctr"]);

const isContainerd = ({ args }: ProcessInfo, { config }: ContainerdHome): boolean =>
  basename(args[0] ?? "") === "containerd" && args.includes(config);

export const containerdOf = (home: ContainerdHome): ProcessInfo | undefined =>
  processes().find((one) => isContainerd(one, home));

function belongsTo(candidate: ProcessInfo, home: ContainerdHome): boolean {
  const isProgram = programs.has(basename(candidate.args[0] ?? ""));
  const names = (arg: string) => arg === home.socket || arg === home.config || arg.startsWith(`${home.runFolder}/`);
  return (
    (isProgram && (candidate.args.some(names) || candidate.cwd.startsWith(`${home.runFolder}/`))) ||
    isRootedIn(candidate.pid, home.folder)
  );
}

async function endProcesses(home: ContainerdHome, clock: Clock): Promise<void> {
  // It must not start others while we look for those it has started.
  const daemons = processes().filter((one) => isContainerd(one, home));
  for (const { pid } of daemons) signalTo(pid, "SIGSTOP");
  for (const { pid } of withDescendants(daemons, processes())) signalTo(pid, "SIGKILL");
  const until = clock.elapsed() + timeoutMs;
  for (;;) {
    const left = processes().filter((one) => belongsTo(one, home));
    if (left.length === 0) return;
    for (const { pid } of left) signalTo(pid, "SIGKILL");
    if (clock.elapsed() > until)
      throw new Error(`processes of ${home.folder} do not end: ${left.map(({ pid }) => pid).join(", ")}`);
    await clock.sleep(pollMs, new AbortController().signal);
  }
}

interface Bundle {
  readonly namespace: string;
  readonly id: string;
  readonly cgroup: string | undefined;
}

/** Of each container what its shim was started with. */
const bundlesOf = ({ runFolder }: ContainerdHome): readonly Bundle[] => {
  const tasks = join(runFolder, "containerd", "io.containerd.runtime.v2.task");
  return namesIn(tasks).flatMap((namespace) =>
    namesIn(join(tasks, namespace)).map((id) => ({
      namespace,
      id,
      cgroup: cgroupOf(join(tasks, namespace, id, "config.json")),
    })),
  );
};

function cgroupOf(path: string): string | undefined {
  try {
    const spec = parseJson(readFileSync(path, "utf8")).value as { linux?: { cgroupsPath?: unknown } }; // as runc has it
    const group = spec.linux?.cgroupsPath;
    return typeof group === "string" && group.startsWith("/") && group !== "/" ? group : undefined;
  } catch {
    return undefined; // its shim had not come so far, or was about to remove it
  }
}

/** `containerd-shim-runc-v2 -namespace k8s.io -id 0123… -address /run/…/containerd.sock`. */
const shimOf =
  ({ socket }: ContainerdHome) =>
  ({ args }: ProcessInfo) => {
    const after = (flag: string) => args[args.indexOf(flag, 1) + 1];
    const [id, namespace] = [after("-id"), after("-namespace")];
    return after("-address") === socket && id !== undefined && namespace !== undefined ? [{ id, namespace }] : [];
  };

const shimSocket = ({ socket }: ContainerdHome, namespace: string, id: string): string =>
  join(
    shimSockets,
    createHash("sha256")
      .update(join(socket, namespace, id))
      .digest("hex"),
  );

const sandboxesOf = ({ folder, runFolder }: ContainerdHome): readonly string[] =>
  [folder, runFolder].flatMap((one) => namesIn(join(one, "containerd", "io.containerd.grpc.v1.cri", "sandboxes")));

/** Plugins' answers are kept outside of our folders; each holds the configuration it was made with, which names one of ours. */
function removeCniResults({ folder }: ContainerdHome, ids: ReadonlySet<string>): void {
  const files = namesIn(cniResults);
  const ownIds = files.flatMap((file) => {
    const id = /-([0-9a-f]{64})-\w+$/.exec(file)?.[1];
    if (id === undefined || ids.has(id)) return id ?? [];
    return configOf(join(cniResults, file)).includes(`"${folder}/`) ? id : [];
  });
  for (const file of files) if (ownIds.some((id) => file.includes(id))) rmSync(join(cniResults, file), { force: true });
}

function configOf(path: string): string {
  try {
    const { config } = parseJson(readFileSync(path, "utf8")).value as { config?: unknown }; // as the library has it
    return typeof config === "string" ? Buffer.from(config, "base64").toString("utf8") : "";
  } catch {
    return ""; // it is being written or removed by its owner
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // removed already, or never made
  }
}
