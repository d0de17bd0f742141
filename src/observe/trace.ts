// Writes, joined by what caused them: from the request of a person down to the last status.
import type { DoneStep } from "#wire/steps.ts";
import type { WriteRecord } from "#wire/write-record.ts";

export interface TraceStep {
  readonly write: WriteRecord;
  /** What was done because of it, in the order in which it happened. */
  readonly effects: readonly TraceStep[];
}

/** The writes as trees. A write hangs under the newest of its causes that is known; one without is a root. */
export function traceTree(writes: readonly WriteRecord[]): readonly TraceStep[] {
  const ordered = writes.toSorted((a, b) => a.revision - b.revision);
  const steps = new Map(ordered.map((write) => [write.revision, { write, effects: [] as TraceStep[] }]));
  const roots: TraceStep[] = [];
  for (const step of steps.values()) {
    const causes = step.write.because.map(({ revision }) => revision).filter((one) => one < step.write.revision);
    const parent = steps.get(causes.filter((one) => steps.has(one)).sort((a, b) => b - a)[0] ?? -1);
    (parent?.effects ?? roots).push(step);
  }
  return roots;
}

/** Events are for people who do not have a trace: in one, they only say what stands there anyway. */
export const withoutEvents = (writes: readonly WriteRecord[]): readonly WriteRecord[] =>
  writes.filter(({ resource }) => resource !== "events" && resource !== "events.events.k8s.io");

/** How far pods got on their way, and when the first and the last of them. */
export interface Milestone {
  readonly name: "created" | "bound" | "started" | "ready" | "in endpoints";
  readonly pods: number;
  /** In milliseconds since 1970. */
  readonly firstAt: number;
  readonly lastAt: number;
}

export function milestones(writes: readonly WriteRecord[]): readonly Milestone[] {
  const ofPods = writes.filter(({ resource }) => resource === "pods");
  const stepOf =
    (name: DoneStep["step"]) =>
    ({ steps = [] }: WriteRecord) =>
      steps.find(({ step }) => step === name)?.at;
  const at = (name: Milestone["name"], timeOf: (write: WriteRecord) => number | undefined): readonly Milestone[] => {
    const times = new Map<string, number>();
    for (const write of ofPods) {
      const time = timeOf(write);
      const key = `${write.namespace}/${write.name}`;
      if (time !== undefined && !times.has(key)) times.set(key, time);
    }
    return milestone(name, [...times.values()]);
  };
  return [
    ...at("created", ({ verb, subresource, at }) => (verb === "create" && subresource === undefined ? at : undefined)),
    ...at("bound", ({ subresource, at }) => (subresource === "binding" ? at : undefined)),
    ...at("started", stepOf("start")),
    ...at("ready", stepOf("ready")),
    ...inEndpoints(writes),
  ];
}

/** When the first slice was written after each pod became ready, because of it. */
function inEndpoints(writes: readonly WriteRecord[]): readonly Milestone[] {
  const ready = writes.filter(({ resource, steps = [] }) => resource === "pods" && steps.some(isReady));
  const slices = writes.filter(({ resource }) => resource === "endpointslices.discovery.k8s.io");
  const times = ready.flatMap(({ revision }) => {
    const slice = slices.find(({ because }) => because.some((cause) => cause.revision === revision));
    return slice ? [slice.at] : [];
  });
  return milestone("in endpoints", times);
}

const isReady = ({ step }: DoneStep): boolean => step === "ready";

const milestone = (name: Milestone["name"], times: readonly number[]): readonly Milestone[] =>
  times.length === 0 ? [] : [{ name, pods: times.length, firstAt: Math.min(...times), lastAt: Math.max(...times) }];
