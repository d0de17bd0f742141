// How many replicas metrics ask for: the rules of upstream, one row each.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/v1/pod.ts";
import { applyDefaults } from "#schema/defaults.ts";
import { timeOf } from "#schema/time.ts";
import type { PodMetric } from "./pod-groups.ts";
import { byAverage, byShare, byUtilization, byValue, type PodAverages } from "./replica-count.ts";

const now = Date.parse("2026-01-01T12:00:00Z");
const minute = 60_000;
const times = { cpuInitializationMs: 2 * minute, initialReadinessMs: 10_000 };
const tolerances = { up: 0.1, down: 0.1 };

interface PodState {
  /** Thousandths of what is measured; undefined if there is no metric. */
  readonly uses?: number;
  readonly requests?: string;
  readonly phase?: string;
  readonly isReady?: boolean;
  readonly isDeleted?: boolean;
  /** How long ago. */
  readonly startedMs?: number;
  readonly changedMs?: number;
  readonly measuredMs?: number;
  readonly windowMs?: number;
}

function pod(name: string, { phase = "Running", isReady = true, requests = "1000m", ...state }: PodState): Pod {
  const { startedMs = 60 * minute, changedMs = 59 * minute, isDeleted = false } = state;
  const containers = [{ name: "main", resources: { requests: { cpu: requests, memory: "1Ki" } } }];
  return applyDefaults(Pod, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "ns", ...(isDeleted && { deletionTimestamp: timeOf(now) }) },
    spec: { containers },
    status: {
      phase,
      startTime: timeOf(now - startedMs),
      conditions: [{ type: "Ready", status: isReady ? "True" : "False", lastTransitionTime: timeOf(now - changedMs) }],
    },
  }) as object as Pod;
}

function input(states: readonly PodState[], current: number, resource = "cpu"): PodAverages & { container: string } {
  const metrics = states.flatMap(({ uses, measuredMs = 0, windowMs = minute }, i): [string, PodMetric][] =>
    uses === undefined ? [] : [[`p${i}`, { value: BigInt(uses), at: now - measuredMs, windowMs }]],
  );
  const pods = states.map((state, i) => pod(`p${i}`, state));
  return { pods, metrics: new Map(metrics), resource, current, tolerances, times, now, container: "" };
}

const using = (...uses: readonly number[]): readonly PodState[] => uses.map((one) => ({ uses: one }));
const missing: PodState = {};
const starting: PodState = { uses: 100, isReady: false, startedMs: minute, changedMs: minute };

interface Row {
  readonly states: readonly PodState[];
  readonly target: number;
  readonly current?: number;
  /** Replicas, percent, and thousandths on average; or the problem. */
  readonly expect: readonly [number, number, number] | string;
  readonly resource?: string;
}
const utilization: Readonly<Record<string, Row>> = {
  "more are needed": { states: using(300, 500, 700), target: 30, expect: [5, 50, 500] },
  "fewer are needed": { states: using(100, 300, 500, 250, 250), target: 50, expect: [3, 28, 280] },
  "within the tolerance nothing changes": { states: using(1010, 1030, 1020), target: 100, expect: [3, 102, 1020] },
  "just outside of it something does": { states: using(1200, 1100, 1100), target: 100, expect: [4, 113, 1133] },
  "the count is rounded up": { states: using(310), target: 30, current: 1, expect: [1, 31, 310] },
  "a share of a pod is a pod": { states: using(340), target: 30, current: 1, expect: [2, 34, 340] },
  "pods that start do not count when there should be more": {
    states: [...using(500, 700), starting],
    target: 30,
    expect: [4, 60, 600],
  },
  "and take part when that would be too many": {
    states: [...using(400, 500), starting, starting],
    target: 30,
    current: 4,
    expect: [4, 45, 450],
  },
  "pods that start do not count when there could be fewer": {
    states: [...using(100, 100), starting],
    target: 50,
    expect: [1, 10, 100],
  },
  "pods that wait for a node count as unready": {
    states: [...using(500, 700), { phase: "Pending" }],
    target: 30,
    expect: [4, 60, 600],
  },
  "pods without metrics are taken to use nothing when there should be more": {
    states: [...using(800), missing],
    target: 50,
    expect: [2, 80, 800],
  },
  "and all they ask for when there could be fewer": {
    states: [...using(100, 100, 100), missing],
    target: 50,
    expect: [3, 10, 100],
  },
  "a target above all counts instead of all": {
    states: [...using(1000, 1000, 1000), missing],
    target: 150,
    expect: [3, 100, 1000],
  },
  "a direction that turns around is none": {
    states: [...using(200), missing],
    target: 30,
    current: 2,
    expect: [2, 20, 200],
  },
  "failed pods do not count": {
    states: [...using(500, 700), { uses: 9000, phase: "Failed" }],
    target: 30,
    current: 2,
    expect: [4, 60, 600],
  },
  "deleted pods do not count": {
    states: [...using(500, 700), { uses: 9000, isDeleted: true }],
    target: 30,
    current: 2,
    expect: [4, 60, 600],
  },
  "unready pods that were ready once count": {
    states: [...using(100, 100), { uses: 700, isReady: false, startedMs: 60 * minute, changedMs: minute }],
    target: 30,
    expect: [3, 30, 300],
  },
  "unready pods that never were ready do not": {
    states: [...using(300, 300), { uses: 900, isReady: false, startedMs: 60 * minute, changedMs: 60 * minute }],
    target: 30,
    current: 3,
    expect: [3, 30, 300],
  },
  "a ready pod counts once a whole window lies behind its becoming ready": {
    states: [{ uses: 900, startedMs: minute, changedMs: 30_000, windowMs: 20_000 }],
    target: 30,
    current: 1,
    expect: [3, 90, 900],
  },
  "and not before": {
    states: [{ uses: 900, startedMs: minute, changedMs: 30_000, windowMs: 31_000 }],
    target: 30,
    current: 1,
    expect: "did not receive metrics for targeted pods (pods might be unready)",
  },
  "memory counts from the beginning": {
    states: [{ uses: 2_048_000, startedMs: minute, changedMs: 0, isReady: false }],
    target: 100,
    current: 1,
    resource: "memory",
    expect: [2, 200, 2_048_000],
  },
  "without pods there is no answer": {
    states: [],
    target: 30,
    expect: "no pods returned by selector while calculating replica count",
  },
  "without requests there is no answer": {
    states: using(100),
    target: 30,
    resource: "ephemeral-storage",
    expect: "missing request for ephemeral-storage in container main of Pod p0",
  },
};

for (const [name, { states, target, current = states.length, expect, resource }] of Object.entries(utilization))
  test(`utilization: ${name}`, () => {
    const count = () => byUtilization(input(states, current, resource), target);
    if (typeof expect === "string") return assert.throws(count, { message: expect });
    const { replicas, utilization: percent, usage } = count();
    assert.deepEqual([replicas, percent, Number(usage)], expect);
  });

test("utilization: one container of each pod can be meant", () => {
  const sized = { ...input(using(500), 1), container: "main" };
  assert.equal(byUtilization(sized, 50).replicas, 1);
  assert.throws(() => byUtilization({ ...sized, container: "side" }, 50), {
    message: "container side not found in Pod p0",
  });
});

test("utilization: amounts of the whole pod come before those of its containers", () => {
  const whole = input(using(500), 1);
  const [first] = whole.pods;
  const pods = [{ ...first, spec: { ...first?.spec, resources: { requests: { cpu: "250m" } } } } as Pod];
  assert.deepEqual(byUtilization({ ...whole, pods }, 100), { replicas: 2, usage: 500n, utilization: 200 });
});

const averages: Readonly<Record<string, Row>> = {
  "more are needed": { states: using(20_000, 10_000, 30_000), target: 15_000, expect: [4, 0, 20_000] },
  "fewer are needed": { states: using(12_000, 12_000, 12_000, 12_000, 12_000), target: 20_000, expect: [3, 0, 12_000] },
  "missing pods are taken to be at the target when there could be fewer": {
    states: [...using(5000, 5000), missing],
    target: 10_000,
    expect: [2, 0, 5000],
  },
  "and at nothing when there should be more": {
    states: [...using(20_000, 20_000), missing],
    target: 10_000,
    expect: [4, 0, 20_000],
  },
  "how long pods run does not matter": { states: [starting, starting], target: 50, expect: [4, 0, 100] },
  "pods that wait do": { states: [...using(30_000), { phase: "Pending" }], target: 10_000, expect: [3, 0, 30_000] },
};
for (const [name, { states, target, current = states.length, expect }] of Object.entries(averages))
  test(`average: ${name}`, () => {
    const { replicas, usage } = byAverage(input(states, current, ""), BigInt(target));
    assert.deepEqual([replicas, 0, Number(usage)], expect);
  });

test("value: only pods that are ready count, and none are needed to begin from zero", () => {
  const { pods } = input([...using(1, 1), { isReady: false }], 3);
  const value = (current: number, usage: bigint) => byValue({ current, pods, tolerances }, usage, 10_000n).replicas;
  assert.equal(value(3, 20_000n), 4);
  assert.equal(value(3, 10_900n), 3, "within the tolerance");
  assert.equal(value(3, 1000n), 1);
  assert.equal(value(0, 25_000n), 3);
  assert.equal(byValue({ current: 1, pods, tolerances }, 10n ** 18n, 1n).replicas, 2 ** 31 - 1, "there is an end");
  assert.throws(() => byValue({ current: 1, pods: [], tolerances }, 20n, 10n), {
    message: "unable to calculate ready pods: no pods returned by selector while calculating replica count",
  });
});

test("share: the whole is divided among pods, whatever state they are in", () => {
  assert.deepEqual(byShare(3, tolerances, 50_000n, 10_000n), { replicas: 5, usage: 16_667n });
  assert.deepEqual(byShare(5, tolerances, 52_000n, 10_000n), { replicas: 5, usage: 10_400n });
  assert.deepEqual(byShare(0, tolerances, 52_000n, 10_000n).replicas, 6);
});

test("tolerances differ by direction", () => {
  const count = (used: number) =>
    byAverage({ ...input(using(used, used), 2, ""), tolerances: { up: 0.5, down: 0 } }, 100n);
  assert.equal(count(149).replicas, 2);
  assert.equal(count(151).replicas, 4);
  assert.equal(count(99).replicas, 2, "rounded up, two are needed all the same");
  assert.equal(count(50).replicas, 1);
});
