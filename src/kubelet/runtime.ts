// The container runtime as the kubelet sees it. Implementations: CRI over gRPC, and one in memory for simulated nodes and tests.
//
// Observation is the whole truth about a pod; changes are only hints of where to look. What destroys is idempotent: it resolves when
// the thing is gone, whoever removed it, and a kubelet that was restarted may simply repeat it.
import type { Container } from "#api/core/v1/container.ts";
import type { Pod } from "#api/core/v1/pod.ts";

export interface SandboxState {
  readonly id: string;
  /** How many sandboxes the pod had before this one. */
  readonly attempt: number;
  readonly isReady: boolean;
  readonly createdAt: number;
  /** None for a pod that uses the node's own network. */
  readonly ips: readonly string[];
}

/** One whose start was aborted has never run, and can only be removed. */
export type ContainerPhase = "created" | "aborted" | "running" | "exited" | "unknown";

export interface ContainerState {
  readonly id: string;
  /** Id of its sandbox. */
  readonly sandbox: string;
  readonly name: string;
  /** How often the container had been started before. */
  readonly attempt: number;
  readonly phase: ContainerPhase;
  /** Whether the hook that follows its start has not run to its end; if it runs, that is. */
  readonly isHookDue?: boolean;
  readonly createdAt: number;
  /** Milliseconds since 1970; 0 if it has not been started. */
  readonly startedAt: number;
  /** 0 if it has not ended. */
  readonly finishedAt: number;
  readonly exitCode: number;
  /** `Completed`, `Error`, `OOMKilled`; empty while it runs. */
  readonly reason: string;
  /** Its last words. */
  readonly message: string;
  /** As the spec names it. */
  readonly image: string;
  /** The digest that name stood for. */
  readonly imageId: string;
}

/** All that the runtime has of one pod, newest first. */
export interface PodState {
  readonly sandboxes: readonly SandboxState[];
  readonly containers: readonly ContainerState[];
}

export const nothingObserved: PodState = { sandboxes: [], containers: [] };

export interface SandboxConfig {
  readonly pod: Pod;
  readonly attempt: number;
}

export interface ContainerConfig {
  readonly pod: Pod;
  readonly container: Container;
  readonly kind: "init" | "app" | "ephemeral";
  readonly attempt: number;
  readonly imageId: string;
}

export interface Image {
  /** The digest. */
  readonly id: string;
  readonly names: readonly string[];
  readonly sizeBytes: number;
  /** Whether the runtime itself needs it. */
  readonly isPinned?: boolean;
  /** The user in the image's configuration, if the runtime reports it. */
  readonly user?: { readonly id: number } | { readonly name: string };
}

export interface Credentials {
  readonly username: string;
  readonly password: string;
}

/** What a container uses. */
export interface RuntimeUsage {
  /** Since it was started. */
  readonly cpuSeconds: number;
  /** What it cannot do without. */
  readonly memoryBytes: number;
  /** When this was so, in milliseconds, where the runtime tells it. */
  readonly at?: number;
}

/** What a command in a container gives back. */
export interface ExecResult {
  readonly exitCode: number;
  readonly output: Uint8Array;
}

export interface ContainerRuntime {
  /** Precedes container ids in the API: `containerd`. */
  readonly name: string;
  readonly version: string;

  /** Everything there is of a pod, dead things included. */
  observe(podUid: string, signal: AbortSignal): Promise<PodState>;
  /** The pods of which there is anything: what a kubelet finds when it starts. */
  pods(signal: AbortSignal): Promise<readonly string[]>;
  /** Uids of pods that may have changed. Only a hint: `observe` is the truth. */
  changes(signal: AbortSignal): AsyncIterable<readonly string[]>;

  runSandbox(config: SandboxConfig, signal: AbortSignal): Promise<string>;
  /** Stops its containers, too. */
  stopSandbox(id: string, signal: AbortSignal): Promise<void>;
  removeSandbox(id: string, signal: AbortSignal): Promise<void>;

  createContainer(sandbox: string, config: ContainerConfig, signal: AbortSignal): Promise<string>;
  /** Starts a created container; rejects if it was started already, or is being started. */
  startContainer(id: string, signal: AbortSignal): Promise<void>;
  /** Notes that the postStart hook has run, so that a later kubelet does not run it again. */
  hookDone(id: string): Promise<void>;
  /** Asks it to end, and kills it after the grace. Resolves when it has ended. A later call with less grace shortens an earlier one. */
  stopContainer(id: string, graceMs: number, signal: AbortSignal): Promise<void>;
  /** Gives one that runs the resources that its spec says by now. */
  resizeContainer(id: string, pod: Pod, container: Container, signal: AbortSignal): Promise<void>;
  removeContainer(id: string, signal: AbortSignal): Promise<void>;
  /** Runs a command to its end; for probes and hooks. */
  exec(id: string, command: readonly string[], signal: AbortSignal): Promise<ExecResult>;
  /** Of those of the containers that run, by id. */
  usage(containers: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, RuntimeUsage>>;

  images(signal: AbortSignal): Promise<readonly Image[]>;
  /** The image of that name if it is there. */
  findImage(reference: string, signal: AbortSignal): Promise<Image | undefined>;
  /** The pod is whom it is pulled for. */
  pullImage(reference: string, auth: Credentials | undefined, pod: Pod, signal: AbortSignal): Promise<Image>;
  removeImage(id: string, signal: AbortSignal): Promise<void>;
}

/** The newest container of each name comes first; this finds it. */
export const latest = (state: PodState, name: string): ContainerState | undefined =>
  state.containers.find((container) => container.name === name);

export const hasRun = ({ phase }: ContainerState): boolean => phase !== "created" && phase !== "aborted";

/** Whether it runs, or may. */
export const isLive = ({ phase }: ContainerState): boolean => phase === "running" || phase === "unknown";
