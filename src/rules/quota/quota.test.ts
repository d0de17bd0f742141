import assert from "node:assert/strict";
import { test } from "node:test";
import { Event } from "#api/core/v1/event.ts";
import { Namespace } from "#api/core/v1/namespace.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { ResourceClaim } from "#api/resource/v1/resource-claim.ts";
import { applyDefaults } from "#schema/defaults.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import { formatQuantity } from "#schema/quantity.ts";
import { evaluatorOf } from "./list.ts";

const now = Date.parse("2026-01-01T00:00:00Z");

function usage(kind: AnyKind, object: object): Readonly<Record<string, string>> {
  const whole = applyDefaults(kind, structuredClone({ metadata: {}, ...object }) as never) as ApiObject;
  const amounts = evaluatorOf(kind)?.usage(whole, now) ?? new Map();
  return Object.fromEntries([...amounts].map(([name, amount]) => [name, formatQuantity(amount)]));
}

const pod = (cpu: string, status: object = {}, metadata: object = {}) => ({
  metadata,
  spec: { containers: [{ name: "c", image: "i", resources: { requests: { cpu } } }] },
  status,
});

test("a pod that is being resized counts for the larger of what it has and what it will have", () => {
  const had = {
    containerStatuses: [{ name: "c", resources: { requests: { cpu: "2" } }, allocatedResources: { cpu: "1" } }],
  };
  assert.equal(usage(Pod, pod("1500m", had))["requests.cpu"], "2");
  assert.equal(usage(Pod, pod("3", had))["requests.cpu"], "3");
  const stuck = { ...had, conditions: [{ type: "PodResizePending", status: "True", reason: "Infeasible" }] };
  assert.equal(usage(Pod, pod("3", stuck))["requests.cpu"], "2");
});

test("a pod that has ended, or should have, counts for its place alone", () => {
  assert.deepEqual(usage(Pod, pod("1", { phase: "Succeeded" })), { "count/pods": "1" });
  const ending = (deletionTimestamp: string) => ({ deletionTimestamp, deletionGracePeriodSeconds: 30 });
  assert.deepEqual(usage(Pod, pod("1", {}, ending("2025-12-31T23:59:00Z"))), { "count/pods": "1" });
  assert.equal(usage(Pod, pod("1", {}, ending("2025-12-31T23:59:50Z"))).pods, "1");
});

test("a claim counts for what is still being given back", () => {
  const claim = {
    spec: { resources: { requests: { storage: "1Gi" } } },
    status: { allocatedResources: { storage: "2Gi" } },
  };
  assert.equal(usage(PersistentVolumeClaim, claim)["requests.storage"], "2Gi");
});

test("a claim of devices counts for the worst of each class", () => {
  const requests = [
    { name: "a", exactly: { deviceClassName: "gpu", allocationMode: "ExactCount", count: 2 } },
    {
      name: "b",
      firstAvailable: [
        { name: "x", deviceClassName: "gpu", allocationMode: "ExactCount", count: 1 },
        { name: "y", deviceClassName: "gpu", allocationMode: "ExactCount", count: 3 },
        { name: "z", deviceClassName: "nic", allocationMode: "All" },
      ],
    },
  ];
  assert.deepEqual(usage(ResourceClaim, { spec: { devices: { requests } } }), {
    "count/resourceclaims.resource.k8s.io": "1",
    "gpu.deviceclass.resource.k8s.io/devices": "5",
    "nic.deviceclass.resource.k8s.io/devices": "32",
  });
});

test("events and what is in no namespace count for nothing", () => {
  assert.equal(evaluatorOf(Event), undefined);
  assert.equal(evaluatorOf(Namespace), undefined);
});
