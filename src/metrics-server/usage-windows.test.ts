import assert from "node:assert/strict";
import { test } from "node:test";
import { readResourceSamples, type UsagePoint } from "./resource-samples.ts";
import { advanceWindows, isComplete, type NodeWindows, usageIn } from "./usage-windows.ts";

const resolutionMs = 15_000;
const second = 1000;

test("samples are read with their labels in any order, their escapes and their times", () => {
  const text = `# HELP node_cpu_usage_seconds_total Cumulative
# TYPE node_cpu_usage_seconds_total counter
node_cpu_usage_seconds_total 12.5 1700000000123
node_memory_working_set_bytes 1.048576e+06
container_cpu_usage_seconds_total{container="web",namespace="shop",pod="web-1"} 2 1700000000100
container_memory_working_set_bytes{pod="web-1",container="web",namespace="shop"} 4096 1700000000200
container_start_time_seconds{container="web",namespace="shop",pod="web-1"} 1.6999999e+09
container_swap_usage_bytes{container="web",namespace="shop",pod="web-1"} 7
container_cpu_usage_seconds_total{container="odd\\"}{",namespace="shop",pod="web-2"} 1
container_memory_working_set_bytes{container="odd\\"}{",namespace="shop",pod="web-2"} 0
container_memory_working_set_bytes{container="half",namespace="shop",pod="web-3"} 5
resource_scrape_error 0
`;
  const { node, pods } = readResourceSamples(text, 5000);
  assert.deepEqual(node, { at: 1_700_000_000_123, startedAt: undefined, cpuSeconds: 12.5, memoryBytes: 1_048_576 });
  assert.deepEqual([...pods.keys()], ["shop/web-1", "shop/web-2"], "half a pod is none");
  assert.deepEqual(
    [...(pods.get("shop/web-1") ?? [])],
    [["web", { at: 1_700_000_000_100, startedAt: 1_699_999_900_000, cpuSeconds: 2, memoryBytes: 4096 }]],
  );
  assert.deepEqual(
    [...(pods.get("shop/web-2") ?? [])],
    [['odd"}{', { at: 5000, startedAt: undefined, cpuSeconds: 1, memoryBytes: 0 }]],
  );
});

const point = (atSeconds: number, cpuSeconds: number, startedSeconds?: number): UsagePoint => ({
  at: atSeconds * second,
  startedAt: startedSeconds === undefined ? undefined : startedSeconds * second,
  cpuSeconds,
  memoryBytes: 1000,
});

/** The use after samples of one container, in thousandths of a core; undefined while it is not known. */
function after(...points: readonly (UsagePoint | undefined)[]): number | undefined {
  let windows: NodeWindows | undefined;
  for (const one of points)
    windows = one
      ? advanceWindows(windows, { node: undefined, pods: new Map([["ns/pod", new Map([["c", one]])]]) }, resolutionMs)
      : undefined;
  const window = windows?.pods.get("ns/pod")?.get("c");
  const used = window && usageIn(window);
  return used && used.nanoCores / 1e6;
}

const cases: Record<
  string,
  { readonly points: readonly (UsagePoint | undefined)[]; readonly milliCores: number | undefined }
> = {
  "one sample says nothing": { points: [point(100, 5, 0)], milliCores: undefined },
  "two samples make a rate": { points: [point(100, 5, 0), point(115, 8, 0)], milliCores: 200 },
  "the rate is that of the last two": { points: [point(100, 0, 0), point(115, 9, 0), point(130, 9, 0)], milliCores: 0 },
  "a container that was started again needs two new samples": {
    points: [point(100, 50, 0), point(115, 51, 0), point(130, 0.1, 121)],
    milliCores: undefined,
  },
  "and has a rate with the second": {
    points: [point(100, 50, 0), point(130, 0.1, 121), point(145, 1.6, 121)],
    milliCores: 100,
  },
  "a container that began within the last round, but not just now, is measured from its start": {
    points: [point(112, 1.2, 100)],
    milliCores: 100,
  },
  "one that has just begun is not": { points: [point(109, 0.9, 100)], milliCores: undefined },
  "a sample that was seen already moves nothing": {
    points: [point(100, 0, 0), point(110, 1, 0), point(110, 1, 0)],
    milliCores: 100,
  },
  "a sample from before the window leaves none": {
    points: [point(100, 0, 0), point(110, 1, 0), point(90, 0, 0)],
    milliCores: undefined,
  },
  "a counter that goes back says nothing": { points: [point(100, 5, 0), point(115, 4, 0)], milliCores: undefined },
  "what did not answer begins anew": {
    points: [point(100, 5, 0), point(115, 8, 0), undefined, point(130, 9, 0)],
    milliCores: undefined,
  },
};

for (const [name, { points, milliCores }] of Object.entries(cases))
  test(`usage: ${name}`, () => assert.equal(after(...points), milliCores));

test("a node is measured soon again until everything on it has two samples", () => {
  const pods = (...containers: readonly [string, UsagePoint][]) => new Map([["ns/pod", new Map(containers)]]);
  const first = advanceWindows(undefined, { node: point(1, 1), pods: pods(["a", point(1, 1, 0)]) }, resolutionMs);
  assert.equal(isComplete(first), false);
  const second = advanceWindows(first, { node: point(6, 1), pods: pods(["a", point(6, 1, 0)]) }, resolutionMs);
  assert.equal(isComplete(second), true);
  const another = pods(["a", point(7, 1, 0)], ["b", point(7, 0, 6)]);
  assert.equal(isComplete(advanceWindows(second, { node: point(7, 1), pods: another }, resolutionMs)), false);
  assert.equal(advanceWindows(second, { node: point(7, 1), pods: new Map() }, resolutionMs).pods.size, 0, "it is gone");
});
