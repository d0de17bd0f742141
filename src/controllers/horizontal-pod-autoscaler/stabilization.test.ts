import assert from "node:assert/strict";
import { test } from "node:test";
import type { HPAScalingRules } from "#api/autoscaling/v2/horizontal-pod-autoscaler.ts";
import { afterChange, type NormalizationInput, newHistory, normalize, type ScalingHistory } from "./stabilization.ts";

const now = 1_000_000_000;
const second = 1000;
const nothing: ScalingHistory = { recommendations: [], ups: [], downs: [] };

interface Row {
  readonly current: number;
  readonly desired: number;
  readonly min?: number;
  readonly max?: number;
  readonly history?: Partial<ScalingHistory>;
  readonly up?: HPAScalingRules;
  readonly down?: HPAScalingRules;
  /** The result, why AbleToScale, and why ScalingLimited. */
  readonly expect: readonly [number, string, string];
}

const ago = (seconds: number, replicas: number) => ({ replicas, at: now - seconds * second });
const change = (seconds: number, count: number) => ({ count, at: now - seconds * second });
const pods = (value: number, periodSeconds = 60) => ({ type: "Pods" as const, value, periodSeconds });
const percent = (value: number, periodSeconds = 60) => ({ type: "Percent" as const, value, periodSeconds });
const ready = "ReadyForNewScale";
const fine = "DesiredWithinRange";

const rows: Readonly<Record<string, Row>> = {
  "what is within all bounds is taken": { current: 3, desired: 5, expect: [5, ready, fine] },
  "not more than the maximum": { current: 8, desired: 12, expect: [10, ready, "TooManyReplicas"] },
  "not fewer than the minimum": { current: 3, desired: 1, min: 2, expect: [2, ready, "TooFewReplicas"] },
  "without rules, at most four at the beginning": { current: 1, desired: 9, expect: [4, ready, "ScaleUpLimit"] },
  "without rules, at most twice as many": { current: 3, desired: 9, expect: [6, ready, "ScaleUpLimit"] },
  "the highest recommendation of five minutes keeps pods": {
    current: 5,
    desired: 1,
    history: { recommendations: [ago(299, 4), ago(301, 9)] },
    expect: [4, "ScaleDownStabilized", fine],
  },
  "after five minutes it does no longer": {
    current: 5,
    desired: 1,
    history: { recommendations: [ago(301, 5)] },
    expect: [1, ready, fine],
  },
  "a rule says how many pods may be added in a period": {
    current: 4,
    desired: 10,
    up: { policies: [pods(2)] },
    expect: [6, ready, "ScaleUpLimit"],
  },
  "what was added in the period counts": {
    current: 6,
    desired: 10,
    up: { policies: [pods(2)] },
    history: { ups: [change(30, 2)] },
    expect: [6, ready, "ScaleUpLimit"],
  },
  "what was added before does not": {
    current: 6,
    desired: 10,
    up: { policies: [pods(2)] },
    history: { ups: [change(60, 2)] },
    expect: [8, ready, "ScaleUpLimit"],
  },
  "what was removed meanwhile may come back": {
    current: 4,
    desired: 10,
    up: { policies: [pods(2)] },
    history: { downs: [change(10, 3)] },
    expect: [9, ready, "ScaleUpLimit"],
  },
  "a share is rounded up on the way up": {
    current: 3,
    desired: 10,
    up: { policies: [percent(10)] },
    expect: [4, ready, "ScaleUpLimit"],
  },
  "a share is rounded down on the way down": {
    current: 9,
    desired: 1,
    down: { policies: [percent(10)], stabilizationWindowSeconds: 0 },
    expect: [8, ready, "ScaleDownLimit"],
  },
  "of several rules the one that allows most counts": {
    current: 4,
    desired: 10,
    up: { policies: [pods(1), percent(100)] },
    expect: [8, ready, "ScaleUpLimit"],
  },
  "unless the one that allows least is to": {
    current: 4,
    desired: 10,
    up: { policies: [pods(1), percent(100)], selectPolicy: "Min" },
    expect: [5, ready, "ScaleUpLimit"],
  },
  "the same on the way down": {
    current: 8,
    desired: 1,
    down: { policies: [pods(1), percent(50)], selectPolicy: "Min", stabilizationWindowSeconds: 0 },
    expect: [7, ready, "ScaleDownLimit"],
  },
  "most on the way down": {
    current: 8,
    desired: 1,
    down: { policies: [pods(1), percent(50)], stabilizationWindowSeconds: 0 },
    expect: [4, ready, "ScaleDownLimit"],
  },
  "a direction can be closed": {
    current: 8,
    desired: 1,
    down: { policies: [pods(1)], selectPolicy: "Disabled", stabilizationWindowSeconds: 0 },
    expect: [8, ready, "ScaleDownLimit"],
  },
  "the minimum ends a way down that rules allow": {
    current: 3,
    desired: 1,
    min: 2,
    down: { policies: [percent(100)], stabilizationWindowSeconds: 0 },
    expect: [2, ready, "TooFewReplicas"],
  },
  "with rules the window down is the usual one if it is not said": {
    current: 5,
    desired: 1,
    down: { policies: [percent(100)] },
    history: { recommendations: [ago(200, 5)] },
    expect: [5, "ScaleDownStabilized", fine],
  },
  "a window up waits for the lowest recommendation": {
    current: 3,
    desired: 9,
    up: { policies: [percent(100)], stabilizationWindowSeconds: 60 },
    history: { recommendations: [ago(30, 4), ago(61, 2)] },
    expect: [4, "ScaleUpStabilized", fine],
  },
  "between two windows nothing moves": {
    current: 5,
    desired: 8,
    up: { policies: [percent(100)], stabilizationWindowSeconds: 60 },
    history: { recommendations: [ago(30, 3)] },
    expect: [5, "ScaleUpStabilized", fine],
  },
};

const usualUp: HPAScalingRules = {
  policies: [pods(4, 15), percent(100, 15)],
  selectPolicy: "Max",
  stabilizationWindowSeconds: 0,
};
const usualDown: HPAScalingRules = { policies: [percent(100, 15)], selectPolicy: "Max" };

for (const [name, { current, desired, min = 1, max = 10, history, up, down, expect }] of Object.entries(rows))
  test(`normalization: ${name}`, () => {
    const behavior = up || down ? { scaleUp: { ...usualUp, ...up }, scaleDown: { ...usualDown, ...down } } : undefined;
    const given: NormalizationInput = {
      spec: { minReplicas: min, maxReplicas: max, behavior },
      history: { ...nothing, ...history },
      current,
      desired,
      downscaleStabilizationMs: 300 * second,
      now,
    };
    const { replicas, stabilized, limited } = normalize(given);
    assert.deepEqual([replicas, stabilized.reason, limited.reason], expect);
    assert.equal(limited.isLimited, limited.reason !== fine);
  });

test("the history keeps what windows and periods still ask for, and no more", () => {
  const spec = { minReplicas: 1, maxReplicas: 10, behavior: undefined };
  let history = newHistory(1, now);
  for (let i = 0; i < 100; i++)
    ({ history } = normalize({
      spec,
      history,
      current: 1,
      desired: 1,
      downscaleStabilizationMs: 300 * second,
      now: now + i * 15 * second,
    }));
  assert.equal(history.recommendations.length, 21);
  const behavior = { scaleUp: usualUp, scaleDown: usualDown };
  for (let i = 0; i < 100; i++)
    history = afterChange(history, behavior, { from: i, to: i + 1, now: now + i * 5 * second });
  assert.equal(history.ups.length, 4);
  assert.equal(afterChange(history, behavior, { from: 3, to: 1, now }).downs[0]?.count, 2);
  assert.equal(afterChange(nothing, undefined, { from: 1, to: 2, now }), nothing);
});
