// What upstream takes of a status and what it refuses. Where it takes anything, so must we: operators and controllers write what
// they like, and strictness that upstream lacks breaks them.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnyKind } from "#schema/kind.ts";
import { ValidatingAdmissionPolicy } from "./admissionregistration/v1/validating-admission-policy.ts";
import { Deployment } from "./apps/v1/deployment.ts";
import { HorizontalPodAutoscaler } from "./autoscaling/v2/horizontal-pod-autoscaler.ts";
import { Namespace } from "./core/v1/namespace.ts";
import { Node } from "./core/v1/node.ts";
import { PersistentVolume } from "./core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "./core/v1/persistent-volume-claim.ts";
import { Pod } from "./core/v1/pod.ts";
import { Service } from "./core/v1/service.ts";
import { Ingress } from "./networking/v1/ingress.ts";
import { ServiceCIDR } from "./networking/v1/service-cidr.ts";
import { PodDisruptionBudget } from "./policy/v1/pod-disruption-budget.ts";
import { changed, podTemplate, statusProblemsOf } from "./testing/rules.ts";

type Json = Readonly<Record<string, unknown>>;

const bare = { type: "Ready", status: "Odd" };
const whole = { type: "Ready", status: "True", reason: "R", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" };
const balancer = { loadBalancer: { ingress: [{ hostname: "a.b", ports: [{ port: 0, protocol: "Odd" }] }] } };
const twice = 'status.conditions[1].type: Duplicate value: "Ready"';
const claim = { spec: { accessModes: ["ReadWriteOnce"] } };

const cases: readonly [kind: AnyKind, object: Json, status: Json, ...problems: readonly string[]][] = [
  [Service, { spec: { type: "LoadBalancer" } }, { conditions: [bare] }],
  [Service, { spec: { type: "LoadBalancer" } }, balancer],
  [ServiceCIDR, {}, { conditions: [bare] }],
  [Ingress, {}, balancer],
  [Pod, { spec: podTemplate.spec }, { phase: "Odd" }],
  [PersistentVolume, {}, { phase: "Odd" }],
  [PersistentVolumeClaim, claim, { phase: "Odd", accessModes: ["Odd"], modifyVolumeStatus: { status: "Odd" } }],
  [Node, {}, { phase: "Odd" }],
  [HorizontalPodAutoscaler, {}, { currentMetrics: [{ type: "Object", object: {} }] }],
  [Namespace, {}, { phase: "Active" }],
  [
    Namespace,
    {},
    { phase: "Odd" },
    `status.Phase: Invalid value: "Odd": may only be 'Active' if \`deletionTimestamp\` is empty`,
  ],
  [
    Namespace,
    { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } },
    { phase: "Active" },
    `status.Phase: Invalid value: "Active": may only be 'Terminating' if \`deletionTimestamp\` is not empty`,
  ],
  [PodDisruptionBudget, {}, { conditions: [whole] }],
  [PodDisruptionBudget, {}, { conditions: [whole, whole] }, twice],
  [
    PodDisruptionBudget,
    {},
    { conditions: [bare] },
    'status.conditions[0].status: Unsupported value: "Odd": supported values: "False", "True", "Unknown"',
    "status.conditions[0].lastTransitionTime: Required value",
    "status.conditions[0].reason: Required value",
  ],
  [ValidatingAdmissionPolicy, {}, { conditions: [whole, whole] }, twice],
  [
    Deployment,
    { spec: { selector: { matchLabels: { app: "web" } }, template: podTemplate } },
    { collisionCount: -1 },
    "status.collisionCount: Invalid value: -1: must be greater than or equal to 0",
  ],
];
for (const [kind, object, status, ...problems] of cases)
  test(`a ${kind.kind} ${problems.length === 0 ? "takes" : "refuses"} the status ${JSON.stringify(status)}`, () =>
    assert.deepEqual(statusProblemsOf(kind, changed(object, { status }), object), problems));
