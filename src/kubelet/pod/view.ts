// Input and output of the pod machine: a view of the pod, and a plan.
import type { Container } from "#api/core/v1/container.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { PodState } from "../runtime.ts";
import type { Delay, DelayLimits } from "./restart.ts";

export type ContainerKind = "init" | "app" | "ephemeral";

/** What a probe has found; undefined until it has found anything. */
export type ProbeResult = "success" | "failure" | undefined;
export interface ProbeResults {
  readonly startup: ProbeResult;
  readonly liveness: ProbeResult;
  readonly readiness: ProbeResult;
}

/** Why a container waits, as its status tells it. */
export interface WaitingReason {
  readonly reason: string;
  readonly message: string;
}

/** A start that went wrong. */
export interface StartFailure extends WaitingReason {
  readonly retryAt: number;
  /** The reason that replaces this one after a while: a failed pull becomes a back-off. */
  readonly later?: WaitingReason & { readonly at: number };
}

/** A container that is being stopped. */
export interface StopProgress {
  readonly since: number;
  readonly graceMs: number;
  /** Whether its preStop hook has run, so that it may be sent SIGTERM. */
  readonly isHookDone: boolean;
  /** When it will be killed; undefined before SIGTERM. */
  readonly killAt: number | undefined;
}

/** Why the node terminates the pod: eviction, rejection, a deadline. */
export interface Termination {
  readonly reason: string;
  readonly message: string;
  readonly graceSeconds?: number;
}

/** All that is known of one pod at one moment. */
export interface PodSyncView {
  readonly pod: Pod;
  readonly state: PodState;
  /** Whether a sandbox is being made, stopped or removed. */
  readonly isSandboxBusy: boolean;
  /** Not before this may another sandbox be tried. */
  readonly sandboxRetryAt: number;
  /** Names of containers that are being started. */
  readonly starting: ReadonlySet<string>;
  /** By container id. */
  readonly stopping: ReadonlyMap<string, StopProgress>;
  /** Ids of containers that are being removed. */
  readonly removing: ReadonlySet<string>;
  /** Names of containers that were stopped in order to be started again, whatever their restart policy. */
  readonly restarting: ReadonlySet<string>;
  /** By container id. */
  readonly probes: ReadonlyMap<string, ProbeResults>;
  /** By name. */
  readonly delays: ReadonlyMap<string, Delay>;
  readonly failures: ReadonlyMap<string, StartFailure>;
  readonly termination: Termination | undefined;
  /** When the kubelet took the pod on. */
  readonly acceptedAt: number;
  readonly crashDelays: DelayLimits;
  readonly now: number;
}

export type PodAction =
  | { readonly type: "createSandbox"; readonly attempt: number }
  | { readonly type: "stopSandbox"; readonly id: string }
  | { readonly type: "removeSandbox"; readonly id: string }
  | StartContainer
  | { readonly type: "abortStart"; readonly name: string }
  | BeginStop
  | { readonly type: "stopContainer"; readonly id: string; readonly graceMs: number }
  | { readonly type: "removeContainer"; readonly id: string };

/** Pull, create, start, and the hook after it. */
export interface StartContainer {
  readonly type: "startContainer";
  readonly kind: ContainerKind;
  readonly container: Container;
  readonly sandbox: string;
  readonly attempt: number;
  /** The container, if it was made before and has only to be started. */
  readonly existing: string | undefined;
  /** Whether even that was done, and only the hook is left. */
  readonly isStarted: boolean;
  /** What to wait after its next end; undefined to leave that as it is. */
  readonly delay: Delay | undefined;
}

/** Writes the event that a container is stopped and why, and runs its preStop hook. */
export interface BeginStop {
  readonly type: "beginStop";
  readonly id: string;
  readonly name: string;
  readonly graceMs: number;
  readonly message: string;
  /** The container whose hook has to run. */
  readonly hook: Container | undefined;
  /** Whether it is to be started again afterwards. */
  readonly restart: boolean;
}

export interface PodPlan {
  /** To be begun now; those in progress are part of the next view. */
  readonly actions: readonly PodAction[];
  /** When to plan again if nothing happens before; Infinity for never. */
  readonly wakeAt: number;
  /** Why containers that should run do not, by name. */
  readonly waiting: ReadonlyMap<string, WaitingReason>;
  /** Whether nothing will be started any more. */
  readonly isTerminating: boolean;
  /** Whether nothing of the pod runs any more, nor will. */
  readonly isFinished: boolean;
  /** Why it ends, where that is told in the pod's status. */
  readonly terminationReason: WaitingReason | undefined;
  readonly isRestartingAll: boolean;
}
