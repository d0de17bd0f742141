import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { ResourceQuota } from "#api/core/v1/resource-quota.ts";
import { world } from "#client/testing.ts";
import { usageOf } from "#rules/quota/evaluator.ts";
import { evaluatorOf } from "#rules/quota/list.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import { formatQuantity } from "#schema/quantity.ts";
import { givesBack, recount, statusAfter } from "./usage.ts";

const now = Date.parse("2026-01-01T00:00:00Z");
type Amounts = Readonly<Record<string, string>>;

function quotaOf(hard: Amounts, spec: object = {}, status: object = {}): ResourceQuota {
  return world().have(ResourceQuota, { metadata: { name: "q" }, spec: { hard, ...spec }, status });
}
const evaluator = (kind: AnyKind) => evaluatorOf(kind) ?? assert.fail(`${kind.plural} cannot be counted`);
const objectOf = (kind: AnyKind, draft: object): ApiObject => world().have(kind, draft as never) as ApiObject;
const pod = (cpu: string, more: { spec?: object; status?: object; metadata?: object } = {}) =>
  objectOf(Pod, {
    metadata: { name: "p", ...more.metadata },
    spec: { containers: [{ name: "c", image: "i", resources: { requests: { cpu } } }], ...more.spec },
    status: more.status ?? {},
  });
const bestEffort = objectOf(Pod, { metadata: { name: "b" }, spec: { containers: [{ name: "c", image: "i" }] } });
const configMap = objectOf(ConfigMap, { metadata: { name: "m" } });

const counts: Record<string, { hard: Amounts; spec?: object; pods?: ApiObject[]; maps?: ApiObject[]; used: Amounts }> =
  {
    "nothing there": { hard: { pods: "2", configmaps: "3" }, used: { pods: "0", configmaps: "0" } },
    "pods and what they ask for": {
      hard: { pods: "9", "requests.cpu": "9", "count/pods": "9" },
      pods: [pod("100m"), pod("2")],
      used: { pods: "2", "requests.cpu": "2100m", "count/pods": "2" },
    },
    "pods that have ended only count as objects": {
      hard: { pods: "9", "count/pods": "9", "requests.cpu": "9" },
      pods: [pod("1"), pod("1", { status: { phase: "Failed" } })],
      used: { pods: "1", "count/pods": "2", "requests.cpu": "1" },
    },
    "several kinds": {
      hard: { pods: "1", "count/configmaps": "2" },
      pods: [pod("1")],
      maps: [configMap],
      used: { pods: "1", "count/configmaps": "1" },
    },
    "a name that nothing counts": { hard: { "count/unknown.example.com": "1" }, pods: [pod("1")], used: {} },
    "a scope": {
      hard: { pods: "9" },
      spec: { scopes: ["BestEffort"] },
      pods: [pod("1"), bestEffort],
      used: { pods: "1" },
    },
    "a scope that objects of the kind are never in": {
      hard: { configmaps: "9" },
      spec: { scopes: ["BestEffort"] },
      maps: [configMap],
      used: { configmaps: "0" },
    },
  };
for (const [name, { hard, spec, pods = [], maps = [], used }] of Object.entries(counts))
  test(`usage is counted: ${name}`, async () => {
    const counted = [
      { evaluator: evaluator(Pod), objects: pods },
      { evaluator: evaluator(ConfigMap), objects: maps },
    ];
    const usage = await recount(quotaOf(hard, spec), counted, now);
    assert.deepEqual(Object.fromEntries([...usage].map(([key, value]) => [key, formatQuantity(value)])), used);
  });

interface StatusCase {
  readonly spec?: Amounts;
  readonly status: { hard?: Amounts; used?: Amounts };
  readonly counted: Amounts;
  readonly charged?: Amounts;
  readonly used: Amounts;
  readonly changed: boolean;
  readonly held?: boolean;
}
const hard = { pods: "10" };
const statuses: Record<string, StatusCase> = {
  "a new quota": { status: {}, counted: { pods: "0" }, used: { pods: "0" }, changed: true },
  "all is right": {
    status: { hard, used: { pods: "3" } },
    counted: { pods: "3" },
    used: { pods: "3" },
    changed: false,
  },
  "the same amount in other words": {
    spec: { cpu: "1" },
    status: { hard: { cpu: "1000m" }, used: { cpu: "0.5" } },
    counted: { cpu: "500m" },
    used: { cpu: "0.5" },
    changed: false,
  },
  "more is used than is said": {
    status: { hard, used: { pods: "3" } },
    counted: { pods: "4" },
    used: { pods: "4" },
    changed: true,
  },
  "less is used than is said": {
    status: { hard, used: { pods: "3" } },
    counted: { pods: "2" },
    used: { pods: "2" },
    changed: true,
  },
  "what was charged just now is not given back": {
    status: { hard, used: { pods: "3" } },
    counted: { pods: "2" },
    charged: { pods: "1" },
    used: { pods: "3" },
    changed: false,
    held: true,
  },
  "what was given back besides is": {
    status: { hard, used: { pods: "9" } },
    counted: { pods: "2" },
    charged: { pods: "3" },
    used: { pods: "5" },
    changed: true,
    held: true,
  },
  "limits have changed": {
    status: { hard: { pods: "5" }, used: { pods: "3" } },
    counted: { pods: "3" },
    used: { pods: "3" },
    changed: true,
  },
  "a limit is gone": {
    status: { hard: { pods: "10", secrets: "1" }, used: { pods: "3", secrets: "1" } },
    counted: { pods: "3" },
    used: { pods: "3" },
    changed: true,
  },
  "what cannot be counted at present stays": {
    spec: { "count/x.example.com": "2" },
    status: { hard: { "count/x.example.com": "2" }, used: { "count/x.example.com": "1" } },
    counted: {},
    used: { "count/x.example.com": "1" },
    changed: false,
  },
};
for (const [name, { spec = hard, status, counted, charged, used, changed, held = false }] of Object.entries(statuses))
  test(`the status of a quota: ${name}`, () => {
    const after = statusAfter(quotaOf(spec, {}, status), usageOf(counted), usageOf(charged));
    assert.deepEqual([after.status.used, after.isChanged, after.isHeld], [used, changed, held]);
    assert.deepEqual(after.status.hard, spec);
  });

const changes: Record<string, [old: ApiObject, object: ApiObject | undefined, hard: Amounts, expect: boolean]> = {
  "a pod is deleted": [pod("1"), undefined, { pods: "1" }, true],
  "a pod ends": [pod("1"), pod("1", { status: { phase: "Succeeded" } }), { pods: "1" }, true],
  "a pod becomes ready": [pod("1"), pod("1", { status: { phase: "Running" } }), { pods: "1" }, false],
  "a pod asks for less": [pod("2"), pod("1"), { "requests.cpu": "3" }, true],
  "a pod asks for more": [pod("1"), pod("2"), { "requests.cpu": "3" }, false],
  "what is deleted is not limited": [pod("1"), undefined, { configmaps: "1" }, false],
};
for (const [name, [old, object, limits, expect]] of Object.entries(changes))
  test(`${name}: ${expect ? "a quota is counted" : "no quota is"}`, () => {
    assert.equal(givesBack(quotaOf(limits), evaluator(Pod), [old, object], now), expect);
  });
