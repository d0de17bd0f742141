// What `kubectl get pods` shows. One look at the container statuses decides ready, status and restarts together.
import { age } from "#schema/columns.ts";
import type { RowCondition } from "#schema/index.ts";
import { isSidecar } from "../amounts.ts";
import type { ContainerStatus } from "../container-status.ts";
import type { Pod } from "../pod.ts";
import { hasEnded } from "../pod-phase.ts";

export interface PodSummary {
  readonly ready: number;
  readonly total: number;
  /** The phase, or a better word for what keeps the pod from running. */
  readonly status: string;
  readonly restarts: number;
  readonly lastRestart: string | undefined;
}

export function summarize(pod: Pod): PodSummary {
  const { spec, status } = pod;
  const sidecars = new Set((spec.initContainers ?? []).filter(isSidecar).map(({ name }) => name));
  const start = initSummary(pod, sidecars);
  const running =
    start.waitsFor === undefined || holds(pod, "Initialized") ? containerSummary(pod, start.waitsFor) : undefined;
  const restarted = running
    ? [...start.seen.filter(({ name }) => sidecars.has(name)), ...(status.containerStatuses ?? [])]
    : start.seen;
  return {
    ready: start.ready + (running?.ready ?? 0),
    total: spec.containers.length + sidecars.size,
    status: ending(pod) ?? running?.reason ?? start.waitsFor ?? ownReason(pod),
    restarts: restarted.reduce((sum, { restartCount }) => sum + restartCount, 0),
    lastRestart: latest(restarted.map(({ lastState }) => lastState.terminated?.finishedAt)),
  };
}

const holds = ({ status }: Pod, condition: string): boolean =>
  status.conditions?.some(({ type, status }) => type === condition && status === "True") ?? false;

/** `2 (5m ago)`. */
export const restartsCell = ({ restarts, lastRestart }: PodSummary, now: number): string =>
  restarts === 0 || lastRestart === undefined ? String(restarts) : `${restarts} (${age(lastRestart, now)} ago)`;

function ownReason({ status }: Pod): string {
  const isGated = status.conditions?.some(
    ({ type, reason }) => type === "PodScheduled" && reason === "SchedulingGated",
  );
  return isGated ? "SchedulingGated" : status.reason || (status.phase ?? "");
}

function ending(pod: Pod): string | undefined {
  const { metadata, status } = pod;
  if (metadata.deletionTimestamp === undefined) return undefined;
  if (status.reason === "NodeLost") return "Unknown";
  return hasEnded(pod) ? undefined : "Terminating";
}

interface InitSummary {
  readonly ready: number;
  /** The statuses up to the one that is waited for. */
  readonly seen: readonly ContainerStatus[];
  /** Why the containers have not started: `Init:0/2`. */
  readonly waitsFor?: string;
}

function initSummary({ spec, status }: Pod, sidecars: ReadonlySet<string>): InitSummary {
  const statuses = status.initContainerStatuses ?? [];
  let ready = 0;
  for (const [index, container] of statuses.entries()) {
    const { terminated, waiting } = container.state;
    if (terminated?.exitCode === 0) continue;
    if (sidecars.has(container.name) && container.started) {
      if (container.ready) ready++;
      continue;
    }
    const why = terminated ? endReason(terminated) : waiting?.reason;
    const waitsFor = why && why !== "PodInitializing" ? why : `${index}/${spec.initContainers?.length ?? 0}`;
    return { ready, seen: statuses.slice(0, index + 1), waitsFor: `Init:${waitsFor}` };
  }
  return { ready, seen: statuses };
}

/** The first container that has something to say decides; one that failed outweighs those that completed. */
function containerSummary(pod: Pod, waitsFor: string | undefined): { ready: number; reason: string } {
  let reason = waitsFor ?? ownReason(pod);
  let ready = 0;
  let failed = "";
  for (const { state, ready: isReady } of (pod.status.containerStatuses ?? []).toReversed()) {
    if (state.waiting?.reason) reason = state.waiting.reason;
    else if (state.terminated) {
      reason = endReason(state.terminated);
      if (state.terminated.exitCode !== 0) failed = reason;
    } else if (isReady && state.running) ready++;
  }
  if (reason !== "Completed") return { ready, reason };
  if (ready > 0 && holds(pod, "Ready")) return { ready, reason: "Running" };
  return { ready, reason: failed || (ready > 0 ? "NotReady" : reason) };
}

type Terminated = NonNullable<ContainerStatus["state"]["terminated"]>;
const endReason = ({ reason, signal, exitCode }: Terminated): string =>
  reason || (signal ? `Signal:${signal}` : `ExitCode:${exitCode}`);

const latest = (times: readonly (string | undefined)[]): string | undefined =>
  times
    .filter((time) => time !== undefined)
    .toSorted()
    .at(-1);

export function readinessGates({ spec, status }: Pod): string {
  const gates = spec.readinessGates ?? [];
  if (gates.length === 0) return "<none>";
  const states = new Map((status.conditions ?? []).toReversed().map((condition) => [condition.type, condition.status]));
  const met = gates.filter(({ conditionType }) => states.get(conditionType) === "True");
  return `${met.length}/${gates.length}`;
}

/** By which clients hide pods that have ended. */
export const completed = ({ status }: Pod): readonly RowCondition[] => {
  switch (status.phase) {
    case "Succeeded":
      return [
        { type: "Completed", status: "True", reason: "Succeeded", message: "The pod has completed successfully." },
      ];
    case "Failed":
      return [{ type: "Completed", status: "True", reason: "Failed", message: "The pod failed." }];
    default:
      return [];
  }
};
