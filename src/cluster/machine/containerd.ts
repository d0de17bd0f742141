// A containerd for one node, under folders of our own and in the node's network. It outlives this process: what it runs goes on when
// knarr is stopped or killed, and the next process finds it again.
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, fstatSync, mkdirSync, openSync, readSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import { hasAppArmor } from "#base/host/app-armor.ts";
import { programPath, runProgram } from "#base/host/run-program.ts";
import type { Log } from "#base/log.ts";
import { backoffMs } from "#base/retry.ts";
import { rotateIfLong } from "../log-rotation.ts";
import { cniConfig, containerdConfig } from "./containerd-config.ts";
import { type ContainerdHome, containerdOf, endAll, removeFolders } from "./leftovers.ts";
import type { NodeLocation } from "./node-location.ts";
import { signalTo } from "./processes.ts";

export interface NodeContainerdOptions {
  /** Where its data, its logs and its configuration are; removed with the node. */
  readonly folder: string;
  /** For its socket and what does not outlive a boot; a short path, for sockets. */
  readonly runFolder: string;
  readonly location: NodeLocation;
  /** Of its pods, one of each family. */
  readonly podRanges: readonly string[];
  /** Whether somebody else joins its pods to a network, by a configuration in the folder `cni`; defaults to no. */
  readonly hasForeignNetwork?: boolean;
  /** Largest packets of its pods; defaults to what the kernel chooses. */
  readonly mtu?: number;
  /** The control group of all pods of the node: `/knarr/<cluster>/<node>`. */
  readonly cgroup: string;
  /** Where the CNI plugins are. */
  readonly pluginFolder: string;
  readonly clock: Clock;
}

const startTimeoutMs = 20_000;
/** How long a containerd that was already running may be silent before it counts as stuck. */
const adoptTimeoutMs = 5_000;
const pollMs = 5;
const restartBackoff = { firstMs: 100, maxMs: 10_000 };
/** A containerd that ran for so long resets the back-off of restarts. */
const stableMs = 60_000;
const lastBytes = 4096;

/** A fixed umask: the modes of folders that containerd makes in containers must not depend on that of knarr's user. */
const underOwnMask = 'umask 022; exec containerd --config "$0"';

export class NodeContainerd {
  readonly socket: string;
  readonly #options: NodeContainerdOptions;
  readonly #home: ContainerdHome;
  #starting: Promise<void> | undefined;

  constructor(options: NodeContainerdOptions) {
    const { folder, runFolder, cgroup } = options;
    this.#options = options;
    this.socket = join(runFolder, "containerd.sock");
    this.#home = { folder, runFolder, cgroup, socket: this.socket, config: join(folder, "containerd.toml") };
  }

  /** Starts containerd unless it runs, and waits until it answers. Concurrent calls share one start. */
  start(signal: AbortSignal): Promise<void> {
    this.#starting ??= this.#start(signal).finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  async #start(signal: AbortSignal): Promise<void> {
    const { location, clock } = this.#options;
    const pid = this.pid();
    if (pid !== undefined && location.holds(pid)) {
      if ((await this.#listensWithin(adoptTimeoutMs, undefined, signal)) && (await this.#hasPauseImage(signal))) return;
      signalTo(pid, "SIGKILL");
    }
    // Pods in a namespace that was deleted or replaced meanwhile cannot be reached any more.
    else if (pid !== undefined) await endAll(this.#home, clock);
    const child = this.#spawn();
    if (!((await this.#listensWithin(startTimeoutMs, child, signal)) && (await this.#hasPauseImage(signal))))
      throw new Error(`containerd of ${location.name} does not answer: ${this.#lastWords()}`);
  }

  /** Starts it again whenever it ends, until the signal aborts. Its containers go on meanwhile. */
  async keepRunning(log: Log, signal: AbortSignal): Promise<never> {
    const { location, clock } = this.#options;
    for (let failures = 0; ; failures++) {
      const begun = clock.elapsed();
      try {
        await this.start(signal);
        await this.#ended(signal);
        log.warn("containerd ended; starting it again", { node: location.name, said: this.#lastWords() });
      } catch (error) {
        signal.throwIfAborted();
        log.error("containerd could not be started; trying again", { node: location.name, error: explain(error) });
      }
      if (clock.elapsed() - begun > stableMs) failures = 0;
      await clock.sleep(backoffMs(restartBackoff, failures), signal);
    }
  }

  /** The process that uses our configuration, if there is one. */
  pid(): number | undefined {
    return containerdOf(this.#home)?.pid;
  }

  async ctr(...args: readonly string[]): Promise<string> {
    return runProgram(["ctr", "--address", this.socket, "--namespace", "k8s.io", ...args]);
  }

  /** Imports an archive of images. */
  async load(archive: string): Promise<void> {
    await this.ctr("images", "import", "--all-platforms", archive);
  }

  /** Ends it and everything it runs, as a shutdown of the node would; images and logs stay. */
  async stop(): Promise<void> {
    await endAll(this.#home, this.#options.clock);
  }

  /** Ends it and everything it runs, and removes all that is left of it. */
  async remove(): Promise<void> {
    await this.stop();
    await removeFolders(this.#options.folder);
  }

  #spawn(): ChildProcess {
    const { folder, runFolder, location, podRanges, mtu, pluginFolder, hasForeignNetwork } = this.#options;
    for (const path of [folder, runFolder, join(folder, "cni")]) mkdirSync(path, { recursive: true, mode: 0o700 });
    const { config } = this.#home;
    const prefersIpv6 = podRanges[0]?.includes(":") === true;
    const paths = { folder, runFolder, socket: this.socket, pluginFolder, prefersIpv6 };
    writeFileSync(config, containerdConfig({ ...paths, hasAppArmor: hasAppArmor() }));
    if (!hasForeignNetwork)
      writeFileSync(join(folder, "cni", "10-knarr.conflist"), cniConfig(podRanges, join(folder, "cni-state"), mtu));
    const log = openSync(this.#log, "a", 0o600);
    try {
      const [program = "", ...args] = location.command(["sh", "-c", underOwnMask, config]);
      const child = spawn(program, args, {
        detached: true,
        stdio: ["ignore", log, log],
        env: { ...process.env, PATH: programPath(process.env.PATH) },
      });
      child.once("error", (error) => writeFileSync(this.#log, `${error.message}\n`, { flag: "a" }));
      child.unref();
      return child;
    } finally {
      closeSync(log);
    }
  }

  async #listensWithin(ms: number, child: ChildProcess | undefined, signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#options;
    for (const until = clock.elapsed() + ms; clock.elapsed() < until; await clock.sleep(pollMs, signal)) {
      const connection = await connectionTo(this.socket);
      connection?.destroy();
      if (connection) return true;
      if (child && (child.pid === undefined || child.exitCode !== null || child.signalCode !== null)) return false;
    }
    return false;
  }

  /** Resolves when it has ended, or can be reached no more and so has been ended. Costs nothing while it runs. */
  async #ended(signal: AbortSignal): Promise<void> {
    for (let pid = this.pid(); pid !== undefined; pid = this.pid()) {
      rotateIfLong(this.#log); // it complains for long if it complains at all
      const connection = await connectionTo(this.socket);
      if (!connection) {
        if (this.#starting) return; // it has ended before, and another is about to listen
        signalTo(pid, "SIGKILL");
        continue;
      }
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const stop = () => reject(signal.reason);
      signal.addEventListener("abort", stop, { once: true });
      connection.once("close", () => resolve()); // by its end, or since nothing was asked for two minutes
      connection.resume();
      connection.unref();
      try {
        signal.throwIfAborted();
        await promise;
      } finally {
        signal.removeEventListener("abort", stop);
        connection.destroy();
      }
    }
  }

  get #log(): string {
    return join(this.#options.folder, "containerd.log");
  }

  /** Why it ended, by its log. */
  #lastWords(): string {
    const words = endOf(this.#log).trimEnd().split("\n").at(-1) || "it said nothing";
    return `${words} (${this.#log})`;
  }

  /** Loads the pause image if it is missing. False if containerd does not answer. */
  async #hasPauseImage(signal: AbortSignal): Promise<boolean> {
    const { ensurePauseImage } = await import("./pause-image.ts"); // loaded late, since it brings gRPC, which stopping a node does not need
    return ensurePauseImage(this, this.#options, signal);
  }
}

/** Undefined if nothing listens. */
function connectionTo(socket: string) {
  const { promise, resolve } = Promise.withResolvers<ReturnType<typeof connect> | undefined>();
  const connection = connect(socket);
  connection.once("connect", () => resolve(connection));
  connection.on("error", () => resolve(undefined)); // after it was made, `close` follows
  return promise;
}

/** The last lines of a log, which may have grown for long. */
function endOf(path: string): string {
  try {
    const file = openSync(path, "r");
    try {
      const bytes = Buffer.alloc(lastBytes);
      const { size } = fstatSync(file);
      return bytes.toString("utf8", 0, readSync(file, bytes, 0, lastBytes, Math.max(0, size - lastBytes)));
    } finally {
      closeSync(file);
    }
  } catch {
    return ""; // the file was removed
  }
}
