// Reads what a kubelet answers at /metrics/resource: the use of the node and of each container, at one moment.
// Upstream: sigs.k8s.io/metrics-server/pkg/scraper/client/resource/decode.go.

/** What was used up to a moment. */
export interface UsagePoint {
  /** When it was measured, in milliseconds. */
  readonly at: number;
  /** When what is measured began; the counter of seconds was zero then. Unknown for nodes. */
  readonly startedAt: number | undefined;
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
}

export interface ResourceSamples {
  readonly node: UsagePoint | undefined;
  /** By `namespace/name`, then by container. A pod of which anything is missing is not there. */
  readonly pods: ReadonlyMap<string, ReadonlyMap<string, UsagePoint>>;
}

interface PartialPoint {
  at?: number;
  startedAt?: number;
  cpuSeconds?: number;
  memoryBytes?: number;
}

type Read = (point: PartialPoint, value: number, at: number) => void;

const cpu: Read = (point, value, at) => {
  point.cpuSeconds = value;
  point.at = at; // of both, since the use of processors is what needs it exactly
};
const memory: Read = (point, value, at) => {
  point.memoryBytes = value;
  point.at ??= at;
};
const start: Read = (point, value) => {
  point.startedAt = value * 1000;
};

const nodeSeries: ReadonlyMap<string, Read> = new Map([
  ["node_cpu_usage_seconds_total", cpu],
  ["node_memory_working_set_bytes", memory],
]);
const containerSeries: ReadonlyMap<string, Read> = new Map([
  ["container_cpu_usage_seconds_total", cpu],
  ["container_memory_working_set_bytes", memory],
  ["container_start_time_seconds", start],
]);

/** `now` is the time of samples that do not say theirs. */
export function readResourceSamples(text: string, now: number): ResourceSamples {
  const node: PartialPoint = {};
  const pods = new Map<string, Map<string, PartialPoint>>();
  for (const [, name = "", labels = "", value = "", time] of text.matchAll(seriesLine)) {
    const at = time === undefined ? now : Number(time);
    nodeSeries.get(name)?.(node, Number(value), at);
    const read = containerSeries.get(name);
    if (read) read(pointOf(pods, labelsIn(labels)), Number(value), at);
  }
  const whole = [...pods].flatMap(([pod, containers]): [string, ReadonlyMap<string, UsagePoint>][] => {
    const points = [...containers].flatMap(([container, point]): [string, UsagePoint][] => {
      const complete = completePoint(point);
      return complete ? [[container, complete]] : [];
    });
    return points.length === containers.size ? [[pod, new Map(points)]] : [];
  });
  return { node: completePoint(node), pods: new Map(whole) };
}

/** Name, labels, value, and the time in milliseconds where it is told. */
const seriesLine = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?[ \t]+(\S+)(?:[ \t]+(-?\d+))?[ \t]*$/gm;
const label = /(\w+)="((?:[^"\\]|\\.)*)"/g;

const labelsIn = (text: string): ReadonlyMap<string, string> =>
  new Map(
    [...text.matchAll(label)].map(([, name = "", value = ""]) => [
      name,
      value.replace(/\\(.)/g, (_, escaped: string) => (escaped === "n" ? "\n" : escaped)),
    ]),
  );

function pointOf(pods: Map<string, Map<string, PartialPoint>>, labels: ReadonlyMap<string, string>): PartialPoint {
  const pod = `${labels.get("namespace")}/${labels.get("pod")}`;
  const container = labels.get("container") ?? "";
  const containers = pods.get(pod) ?? new Map<string, PartialPoint>();
  pods.set(pod, containers);
  const point = containers.get(container) ?? {};
  containers.set(container, point);
  return point;
}

/** Upstream takes zero for missing, too. A simulated container may really use nothing, so here only what is not there is missing. */
const completePoint = ({ at, startedAt, cpuSeconds, memoryBytes }: PartialPoint): UsagePoint | undefined =>
  at === undefined || !isAmount(cpuSeconds) || !isAmount(memoryBytes)
    ? undefined
    : { at, startedAt, cpuSeconds, memoryBytes };

const isAmount = (value: number | undefined): value is number =>
  value !== undefined && value >= 0 && value < Number.POSITIVE_INFINITY;
