// A containerd for one node, under folders of our own and in the node's network namespace. It outlives us: what it runs goes on when
// knarr is stopped or killed, and is found again by whoever starts it next.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, openSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "#base/clock.ts";
import { mountsBelow } from "#base/host/mounts.ts";
import { runProgram } from "#base/host/run-program.ts";
import { pauseImage, pauseReference } from "../images/pause.ts";
import { processes, type Running } from "./processes.ts";

export interface NodeContainerdOptions {
  /** Where its data, its logs and its configuration are; removed with the node. */
  readonly folder: string;
  /** For its socket and what does not outlive a boot; a short path, for sockets. */
  readonly runFolder: string;
  readonly netns: string;
  /** Address of the node, at which exec and port-forward are served. */
  readonly address: string;
  readonly podRange: string;
  /** Where the CNI plugins are. */
  readonly pluginFolder: string;
  readonly clock: Clock;
}

const startMs = 20_000;
const endMs = 10_000;
const lookMs = 20;

export class NodeContainerd {
  readonly socket: string;
  readonly #options: NodeContainerdOptions;

  constructor(options: NodeContainerdOptions) {
    this.#options = options;
    this.socket = join(options.runFolder, "containerd.sock");
  }

  /** Starts it unless it runs, and waits until it answers. */
  async start(signal: AbortSignal): Promise<void> {
    const { folder, runFolder, netns, clock } = this.#options;
    for (const path of [folder, runFolder, join(folder, "cni")]) mkdirSync(path, { recursive: true, mode: 0o700 });
    if (this.pid() === undefined) {
      this.#configure();
      const log = openSync(join(folder, "containerd.log"), "a", 0o600);
      // `ip netns exec` would mount /sys anew and hide the cgroups.
      const child = spawn(
        "nsenter",
        [`--net=/run/netns/${netns}`, "containerd", "--config", this.#path("containerd.toml")],
        { detached: true, stdio: ["ignore", log, log] },
      );
      child.once("error", () => undefined); // told below: it never answers
      child.unref();
    }
    const until = clock.elapsed() + startMs;
    while (!(await this.#answers()))
      if (clock.elapsed() > until)
        throw new Error(`containerd of ${netns} does not answer; see ${this.#path("containerd.log")}`);
      else await clock.sleep(lookMs, signal);
    await this.#ensurePauseImage(signal);
  }

  /** The process that uses our configuration, if there is one. */
  pid(): number | undefined {
    const config = this.#path("containerd.toml");
    return processes().find(({ args }) => args[0]?.endsWith("containerd") && args.includes(config))?.pid;
  }

  async ctr(...args: readonly string[]): Promise<string> {
    return runProgram(["ctr", "--address", this.socket, "--namespace", "k8s.io", ...args]);
  }

  /** Imports an archive of images. */
  async load(archive: string): Promise<void> {
    await this.ctr("images", "import", "--all-platforms", archive);
  }

  /** Ends it and everything it runs, and removes all that is left of it. */
  async remove(): Promise<void> {
    const { folder, runFolder, clock } = this.#options;
    const mine = ({ args, cwd }: Running) =>
      cwd.startsWith(`${runFolder}/`) || args.includes(this.#path("containerd.toml")) || args.includes(this.socket);
    // First what would start others again, then the shims, whose containers end with them.
    const until = clock.elapsed() + endMs;
    for (;;) {
      const left = processes().filter(mine);
      if (left.length === 0) break;
      for (const { pid, args } of left) end(pid, args);
      if (clock.elapsed() > until)
        throw new Error(`processes of ${folder} do not end: ${left.map(({ pid }) => pid).join(", ")}`);
      await clock.sleep(lookMs, new AbortController().signal);
    }
    for (const path of mountsBelow(folder, runFolder)) await runProgram(["umount", "--lazy", path]);
    for (const path of [folder, runFolder]) rmSync(path, { recursive: true, force: true });
  }

  #path(name: string): string {
    return join(this.#options.folder, name);
  }

  #configure(): void {
    const { folder, runFolder, address, podRange, pluginFolder } = this.#options;
    writeFileSync(
      this.#path("containerd.toml"),
      containerdConfig({ folder, runFolder, socket: this.socket, address, pluginFolder }),
    );
    writeFileSync(join(folder, "cni", "10-knarr.conflist"), cniConfig(podRange, join(folder, "cni-state")));
  }

  async #answers(): Promise<boolean> {
    if (!existsSync(this.socket)) return false;
    try {
      await this.ctr("version");
      return true;
    } catch {
      return false; // it is about to; whoever waits gives up in time, and says where the log is
    }
  }

  async #ensurePauseImage(signal: AbortSignal): Promise<void> {
    const present = await this.ctr("images", "list", "--quiet");
    if (present.split("\n").includes(pauseReference)) return;
    const archive = this.#path("pause.tar");
    writeFileSync(archive, pauseImage());
    signal.throwIfAborted();
    await this.load(archive);
    rmSync(archive);
  }
}

function end(pid: number, args: readonly string[]): void {
  try {
    process.kill(pid, args[0]?.endsWith("containerd") ? "SIGTERM" : "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

const containerdConfig = (paths: {
  readonly folder: string;
  readonly runFolder: string;
  readonly socket: string;
  readonly address: string;
  readonly pluginFolder: string;
}): string => `version = 2
root = ${toml(join(paths.folder, "containerd"))}
state = ${toml(join(paths.runFolder, "containerd"))}
oom_score = 0
[grpc]
  address = ${toml(paths.socket)}
[ttrpc]
  address = ${toml(`${paths.socket}.ttrpc`)}
[plugins."io.containerd.internal.v1.opt"]
  path = ${toml(join(paths.folder, "opt"))}
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = ${toml(pauseReference)}
  stream_server_address = ${toml(paths.address)}
  stream_server_port = "0"
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = ${toml(paths.pluginFolder)}
    conf_dir = ${toml(join(paths.folder, "cni"))}
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
      Root = ${toml(join(paths.runFolder, "runc"))}
`;

const toml = (text: string): string => JSON.stringify(text);

/** Pods on a bridge inside the node, with addresses of the node's own range, and host ports. */
const cniConfig = (podRange: string, stateFolder: string): string =>
  JSON.stringify(
    {
      cniVersion: "0.4.0",
      name: "knarr",
      plugins: [
        {
          type: "bridge",
          bridge: "cni0",
          isGateway: true,
          hairpinMode: true,
          ipam: {
            type: "host-local",
            dataDir: stateFolder,
            ranges: [[{ subnet: podRange }]],
            routes: [{ dst: "0.0.0.0/0" }],
          },
        },
        { type: "portmap", capabilities: { portMappings: true } },
      ],
    },
    undefined,
    2,
  );
