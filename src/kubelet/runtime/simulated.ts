// A container runtime in memory. Containers do what their scripts say, in the time of an injected clock; one instance serves
// thousands of nodes, with one timer.

import type { Pod } from "#api/core/v1/pod.ts";
import type { Clock } from "#base/clock.ts";
import { hex } from "#base/hex.ts";
import { sha256 } from "#base/sha256.ts";
import { TimerQueue } from "#base/timer-queue.ts";
import { parseQuantity, quantityToNumber } from "#schema/quantity.ts";
import { millisOf } from "#schema/time.ts";
import { InputMissing } from "../inputs/sources.ts";
import {
  type ContainerConfig,
  type ContainerRuntime,
  type ContainerState,
  type ExecResult,
  type Image,
  nothingObserved,
  type PodState,
  type RuntimeUsage,
  type SandboxConfig,
} from "../runtime.ts";
import { answerCommand } from "../simulated/command.ts";
import { type ContainerScript, scriptedUse, scriptOf } from "../simulated/script.ts";
import { SimulatedUse } from "../simulated/use.ts";
import { ChangeFeed } from "./change-feed.ts";

export interface SimulatedRuntimeOptions {
  readonly clock: Clock;
  /** Addresses for a new pod of a node. Throws if there are none left. */
  readonly allocate: (node: string) => readonly string[];
  readonly release: (node: string, ips: readonly string[]) => void;
  /** Rejects if an input of a container is missing; by default none is. */
  readonly inputs?: (pod: Pod, container: ContainerConfig["container"]) => Promise<void>;
  /** A pod as it is now, by its uid: its annotations may change what its containers use. */
  readonly podOf?: (uid: string) => Pod | undefined;
  /** What a container does; defaults to what its pod's annotations say. */
  readonly script?: (config: Pick<ContainerConfig, "pod" | "container" | "kind">) => ContainerScript;
}

// What is kept holds no part of a pod: the pod of a moment long ago would stay in memory with it.
interface Sandbox {
  readonly uid: string;
  readonly node: string;
}

interface SimulatedContainer {
  readonly uid: string;
  readonly script: ContainerScript;
  /** What it uses while it runs. */
  readonly use: SimulatedUse;
  /** The end that is coming, if any. */
  end: ScheduledEnd | undefined;
}

interface ScheduledEnd {
  readonly id: string;
  readonly at: number;
  readonly exitCode: number;
  readonly reason: string | undefined;
  readonly waiters: (() => void)[];
}

const imageBytes = 10_000_000;

export class SimulatedRuntime implements ContainerRuntime {
  readonly name = "simulated";
  readonly version = "1.0";
  readonly #options: SimulatedRuntimeOptions;
  readonly #pods = new Map<string, PodState>();
  readonly #sandboxes = new Map<string, Sandbox>();
  readonly #containers = new Map<string, SimulatedContainer>();
  readonly #images = new Map<string, Image>();
  readonly #pulls = new Map<string, number>();
  readonly #feed = new ChangeFeed();
  /** Callbacks for the end of a container, by its id. */
  readonly #watchers = new Map<string, Set<() => void>>();
  readonly #ends: TimerQueue<ScheduledEnd>;
  readonly #sleepers: TimerQueue<() => void>;
  /** In which ids differ from those of a process before this one: pods outlive it. */
  readonly #epoch: string;
  #made = 0;

  constructor(options: SimulatedRuntimeOptions) {
    this.#options = options;
    this.#epoch = options.clock.now().toString(16);
    this.#ends = new TimerQueue(options.clock, (end) => this.#exit(end));
    this.#sleepers = new TimerQueue(options.clock, (wake) => wake());
  }

  async observe(podUid: string): Promise<PodState> {
    return this.#pods.get(podUid) ?? nothingObserved;
  }

  async pods(): Promise<readonly string[]> {
    return [...this.#pods.keys()];
  }

  changes(signal: AbortSignal): AsyncIterable<readonly string[]> {
    return this.#feed.follow(signal);
  }

  /** Ends a container that runs, as its process would by itself. */
  exit(id: string, exitCode: number): void {
    this.#endNow(id, exitCode);
  }

  /** The script a container runs by. */
  scriptOf(id: string): ContainerScript | undefined {
    return this.#containers.get(id)?.script;
  }

  /** The container as the runtime sees it. */
  find(id: string): ContainerState | undefined {
    const uid = this.#containers.get(id)?.uid;
    return uid === undefined ? undefined : this.#stateOf(uid, id);
  }

  podOf(id: string): string | undefined {
    return this.#containers.get(id)?.uid;
  }

  async runSandbox({ pod, attempt }: SandboxConfig): Promise<string> {
    const uid = pod.metadata.uid ?? "";
    const node = pod.spec.nodeName ?? "";
    const ips = pod.spec.hostNetwork ? [] : this.#options.allocate(node);
    const id = this.#newId();
    this.#sandboxes.set(id, { uid, node });
    const { sandboxes, containers } = this.#pods.get(uid) ?? nothingObserved;
    const sandbox = { id, attempt, isReady: true, createdAt: this.#options.clock.now(), ips };
    this.#pods.set(uid, { sandboxes: [sandbox, ...sandboxes], containers });
    return id;
  }

  async stopSandbox(id: string): Promise<void> {
    const sandbox = this.#sandboxes.get(id);
    const state = sandbox && this.#pods.get(sandbox.uid);
    if (!sandbox || !state) return;
    for (const container of state.containers) if (container.sandbox === id) this.#endNow(container.id, 137);
    const stopped = this.#pods.get(sandbox.uid) ?? state;
    this.#pods.set(sandbox.uid, {
      ...stopped,
      sandboxes: stopped.sandboxes.map((one) => {
        if (one.id !== id || !one.isReady) return one;
        this.#options.release(sandbox.node, one.ips);
        return { ...one, isReady: false };
      }),
    });
  }

  async removeSandbox(id: string): Promise<void> {
    const uid = this.#sandboxes.get(id)?.uid;
    if (uid === undefined) return;
    await this.stopSandbox(id);
    this.#sandboxes.delete(id);
    const state = this.#pods.get(uid) ?? nothingObserved;
    for (const container of state.containers) if (container.sandbox === id) this.#containers.delete(container.id);
    this.#keep(uid, {
      sandboxes: state.sandboxes.filter((one) => one.id !== id),
      containers: state.containers.filter((one) => one.sandbox !== id),
    });
  }

  async createContainer(sandbox: string, config: ContainerConfig): Promise<string> {
    const uid = this.#sandboxes.get(sandbox)?.uid;
    if (uid === undefined) throw new Error(`sandbox ${sandbox} not found`);
    const script = this.#script(config);
    if (script.configError !== undefined) throw new InputMissing(script.configError);
    await this.#options.inputs?.(config.pod, config.container);
    if (script.createError !== undefined) throw new Error(script.createError);
    const id = this.#newId();
    const { requests = {} } = config.container.resources;
    const cpuCores = script.cpuCores ?? tenthOf(requests.cpu);
    const memoryBytes = script.memoryBytes ?? tenthOf(requests.memory);
    this.#containers.set(id, { uid, script, use: new SimulatedUse({ cpuCores, memoryBytes }), end: undefined });
    const { sandboxes, containers } = this.#pods.get(uid) ?? nothingObserved;
    const { container, attempt, imageId } = config;
    const state: ContainerState = {
      id,
      sandbox,
      name: container.name,
      attempt,
      phase: "created",
      createdAt: this.#options.clock.now(),
      startedAt: 0,
      finishedAt: 0,
      exitCode: 0,
      reason: "",
      message: "",
      image: container.image ?? "",
      imageId,
      ...(container.lifecycle?.postStart && { isHookDue: true }),
    };
    this.#pods.set(uid, { sandboxes, containers: [state, ...containers, ...this.#lostRun(config, uid, sandbox)] });
    return id;
  }

  /**
   * The run that a process before this one had going, as the API remembers it. It has ended with that process, as the runtime of a
   * machine tells it that was switched off.
   */
  #lostRun(config: ContainerConfig, uid: string, sandbox: string): readonly ContainerState[] {
    const { pod, container } = config;
    const { containers } = this.#pods.get(uid) ?? nothingObserved;
    const { containerStatuses = [], initContainerStatuses = [] } = pod.status;
    const reported = [...containerStatuses, ...initContainerStatuses].find(({ name }) => name === container.name);
    if (!reported?.state.running || containers.some(({ name }) => name === container.name)) return [];
    const id = reported.containerID?.replace(`${this.name}://`, "") ?? "";
    if (id === "" || this.#containers.has(id)) return [];
    const use = new SimulatedUse({ cpuCores: 0, memoryBytes: 0 });
    this.#containers.set(id, { uid, script: this.#script(config), use, end: undefined });
    const { startedAt } = reported.state.running;
    return [
      {
        id,
        sandbox,
        name: container.name,
        attempt: reported.restartCount,
        phase: "exited",
        createdAt: 0,
        startedAt: startedAt === undefined ? 0 : millisOf(startedAt),
        finishedAt: this.#options.clock.now(),
        exitCode: 255,
        reason: "Unknown",
        message: "",
        image: reported.image,
        imageId: reported.imageID,
      },
    ];
  }

  async startContainer(id: string, signal: AbortSignal): Promise<void> {
    const { script } = this.#known(id);
    await this.sleep(script.startDelayMs, signal);
    if (script.startError !== undefined) throw new Error(script.startError);
    this.#change(id, { phase: "running", startedAt: this.#options.clock.now() });
    if (script.runMs !== Number.POSITIVE_INFINITY) this.#endIn(id, script.runMs, script.exitCode, script.exitReason);
  }

  async hookDone(id: string): Promise<void> {
    this.#change(id, { isHookDue: false });
  }

  async resizeContainer(): Promise<void> {} // it uses nothing

  async stopContainer(id: string, graceMs: number): Promise<void> {
    const container = this.#containers.get(id);
    if (!container || this.#stateOf(container.uid, id)?.phase !== "running") return;
    const { stopDelayMs, stopExitCode } = container.script;
    const isKilled = stopDelayMs > graceMs;
    const afterMs = Math.min(stopDelayMs, graceMs);
    if (afterMs <= 0) return this.#endNow(id, stopExitCode);
    const end = this.#endIn(id, afterMs, isKilled ? 137 : stopExitCode, undefined);
    await new Promise<void>((resolve) => end.waiters.push(resolve));
  }

  async removeContainer(id: string): Promise<void> {
    const uid = this.#containers.get(id)?.uid;
    if (uid === undefined) return;
    this.#endNow(id, 137);
    this.#containers.delete(id);
    const { sandboxes, containers } = this.#pods.get(uid) ?? nothingObserved;
    this.#keep(uid, { sandboxes, containers: containers.filter((one) => one.id !== id) });
  }

  async exec(id: string, command: readonly string[]): Promise<ExecResult> {
    this.#known(id);
    const { exitCode, output } = answerCommand(command);
    return { exitCode, output: new TextEncoder().encode(output) };
  }

  async usage(containers: readonly string[]): Promise<ReadonlyMap<string, RuntimeUsage>> {
    const now = this.#options.clock.now();
    const usage = new Map<string, RuntimeUsage>();
    for (const id of containers) {
      const container = this.#containers.get(id);
      const state = this.find(id);
      if (!container || state?.phase !== "running") continue;
      const pod = this.#options.podOf?.(container.uid);
      usage.set(id, container.use.read(state.startedAt, now, pod && scriptedUse(pod, state.name)));
    }
    return usage;
  }

  async images(): Promise<readonly Image[]> {
    return [...this.#images.values()];
  }

  async findImage(reference: string): Promise<Image | undefined> {
    return this.#images.get(reference);
  }

  async pullImage(reference: string, _auth: unknown, pod: Pod, signal: AbortSignal): Promise<Image> {
    const { script, key } = this.#pulling(reference, pod);
    await this.sleep(script?.pullDelayMs ?? 0, signal);
    if (script?.pullError !== undefined) {
      const failures = this.#pulls.get(key) ?? 0;
      if (failures < script.pullFailures) {
        this.#pulls.set(key, failures + 1);
        throw new Error(script.pullError);
      }
    }
    this.#pulls.delete(key);
    const image = this.#images.get(reference) ?? { id: digestOf(reference), names: [reference], sizeBytes: imageBytes };
    // An image whose pull is scripted is pulled for each pod anew, or the script would only count for the first.
    if (!script?.pullDelayMs && script?.pullError === undefined) this.#images.set(reference, image);
    return image;
  }

  async removeImage(id: string): Promise<void> {
    for (const [reference, image] of this.#images) if (image.id === id) this.#images.delete(reference);
  }

  /** Resolves when the container has ended, or is gone, or the signal aborts. */
  ended(id: string, signal: AbortSignal): Promise<void> {
    const container = this.#containers.get(id);
    if (!container || signal.aborted || this.#stateOf(container.uid, id)?.phase !== "running") return Promise.resolve();
    return new Promise((resolve) => {
      const watchers = this.#watchers.get(id) ?? new Set();
      this.#watchers.set(id, watchers.add(resolve));
      signal.addEventListener("abort", () => {
        watchers.delete(resolve);
        resolve();
      });
    });
  }

  /** Resolves after `ms` of the clock, without a timer of its own. */
  sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (ms <= 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const aborted = () => {
        this.#sleepers.delete(wake);
        reject(signal.reason);
      };
      const wake = () => {
        signal.removeEventListener("abort", aborted);
        resolve();
      };
      if (signal.aborted) return reject(signal.reason);
      signal.addEventListener("abort", aborted, { once: true });
      this.#sleepers.set(wake, ms);
    });
  }

  #pulling(reference: string, pod: Pod) {
    const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
    const container = [...initContainers, ...containers, ...ephemeralContainers].find(
      ({ image }) => image === reference,
    );
    const script = container && this.#script({ pod, container, kind: "app" });
    return { script, key: `${pod.metadata.uid}/${reference}` };
  }

  #script(config: Pick<ContainerConfig, "pod" | "container" | "kind">): ContainerScript {
    return this.#options.script?.(config) ?? scriptOf(config.pod, config.container, config.kind);
  }

  #newId(): string {
    return `${this.#epoch}${(++this.#made).toString(16).padStart(8, "0")}`;
  }

  #known(id: string): SimulatedContainer {
    const container = this.#containers.get(id);
    if (!container) throw new Error(`container ${id} not found`);
    return container;
  }

  #stateOf(uid: string, id: string): ContainerState | undefined {
    return this.#pods.get(uid)?.containers.find((one) => one.id === id);
  }

  #keep(uid: string, state: PodState): void {
    if (state.sandboxes.length + state.containers.length === 0) this.#pods.delete(uid);
    else this.#pods.set(uid, state);
  }

  #change(id: string, change: Partial<ContainerState>): void {
    const { uid } = this.#known(id);
    const { sandboxes, containers } = this.#pods.get(uid) ?? nothingObserved;
    this.#pods.set(uid, {
      sandboxes,
      containers: containers.map((one) => (one.id === id ? { ...one, ...change } : one)),
    });
  }

  #endIn(id: string, ms: number, exitCode: number, reason: string | undefined): ScheduledEnd {
    const container = this.#known(id);
    const at = this.#options.clock.elapsed() + ms;
    const before = container.end;
    if (before && before.at <= at) return before;
    const end: ScheduledEnd = { id, at, exitCode, reason, waiters: before?.waiters ?? [] };
    if (before) this.#ends.delete(before);
    container.end = end;
    this.#ends.set(end, ms);
    return end;
  }

  #endNow(id: string, exitCode: number): void {
    const container = this.#containers.get(id);
    if (!container || this.#stateOf(container.uid, id)?.phase !== "running") return;
    const before = container.end;
    if (before) this.#ends.delete(before);
    this.#exit({ id, at: 0, exitCode, reason: undefined, waiters: before?.waiters ?? [] });
  }

  #exit({ id, exitCode, reason, waiters }: ScheduledEnd): void {
    const container = this.#containers.get(id);
    if (container) {
      container.end = undefined;
      this.#change(id, {
        phase: "exited",
        finishedAt: this.#options.clock.now(),
        exitCode,
        reason: reason ?? (exitCode === 0 ? "Completed" : "Error"),
        message: container.script.exitMessage,
      });
      this.#feed.add(container.uid);
    }
    for (const done of [...waiters, ...(this.#watchers.get(id) ?? [])]) done();
    this.#watchers.delete(id);
  }
}

const tenthOf = (amount: string | undefined): number =>
  amount === undefined ? 0 : quantityToNumber(parseQuantity(amount)) / 10;

/** An image has always the same digest. */
const digestOf = (reference: string): string => `${reference.split("@")[0]}@sha256:${hex(sha256(reference))}`;
