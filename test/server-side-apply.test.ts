// Server-side apply on the kinds people use, as a cluster of upstream would show it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/v1/deployment.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { Service } from "#api/core/v1/service.ts";
import { excluding } from "#schema/apply/filter.ts";
import { Story } from "#schema/apply/testing.ts";

type Step = string | number;
/** What is at this place of the story's object. */
const at = (story: Story, ...path: readonly Step[]): unknown =>
  path.reduce<unknown>((value, step) => (value as Readonly<Record<Step, unknown>>)[step], story.object);
const each = (items: unknown, field: string): readonly unknown[] =>
  (items as readonly Readonly<Record<string, unknown>>[]).map((item) => item[field]);
const pod = ["spec", "template", "spec"] as const;

const labels = { app: "web" };
const container = { name: "web", image: "web:1" };
const deployment = (spec: object = {}, more: object = {}) => ({
  spec: {
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: { containers: [{ ...container, ...more }] } },
    ...spec,
  },
});

test("a creation owns what differs from an empty object, in upstream's form and order", () => {
  const ports = [{ containerPort: 8080 }, { containerPort: 80, name: "http" }];
  const story = new Story(Deployment).update("kubectl-create", () => ({
    metadata: { labels },
    ...deployment({ replicas: 3 }, { ports }),
  }));
  const port = '{".":{},"f:containerPort":{},"f:protocol":{}}';
  const named = '{".":{},"f:containerPort":{},"f:name":{},"f:protocol":{}}';
  const fields = JSON.stringify(story.managedFields[0]?.fieldsV1);
  // Structs that are always there are not owned as such, nor are required lists; pointers and optional lists and maps are.
  for (const part of [
    '"f:metadata":{"f:labels":{".":{},"f:app":{}}}',
    '"f:replicas":{},"f:revisionHistoryLimit":{},"f:selector":{}',
    '"f:strategy":{"f:rollingUpdate":{".":{},"f:maxSurge":{},"f:maxUnavailable":{}},"f:type":{}}',
    '"f:template":{"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:containers":{"k:{\\"name\\":\\"web\\"}":{".":{},"f:image":{}',
    `"f:ports":{".":{},"k:{\\"containerPort\\":80,\\"protocol\\":\\"TCP\\"}":${named},"k:{\\"containerPort\\":8080,\\"protocol\\":\\"TCP\\"}":${port}}`,
    '"f:resources":{}',
    '"f:securityContext":{}',
  ])
    assert.ok(fields.includes(part), `${part} is not in ${fields}`);
  assert.ok(!fields.includes("f:status"));
});

test("an autoscaler takes over the size once the applier stops to name it", () => {
  const story = new Story(Deployment).apply("ci", deployment({ replicas: 2 }));
  story.update("hpa", (o) => Object.assign(o.spec, { replicas: 5 }) && o, { subresource: "scale" });
  assert.throws(() => story.apply("ci", deployment({ replicas: 2 })), {
    message: 'Apply failed with 1 conflict: conflict with "hpa" with subresource "scale" using apps/v1: .spec.replicas',
  });
  story.apply("ci", deployment());
  assert.equal(at(story, "spec", "replicas"), 5);
  assert.deepEqual(
    story.managedFields.map(({ manager, operation }) => `${manager} ${operation}`),
    ["ci Apply", "hpa Update"],
  );
});

test("a field the server defaulted belongs to nobody, and goes with the struct that the applier made", () => {
  const probe = { livenessProbe: { httpGet: { port: 80, path: "/" } } };
  const story = new Story(Deployment).apply("ci", deployment({}, probe));
  assert.equal(at(story, ...pod, "containers", 0, "livenessProbe", "periodSeconds"), 10);
  story.apply("ci", deployment());
  assert.equal(at(story, ...pod, "containers", 0, "livenessProbe"), undefined);
});

test("containers of two appliers live in one pod template", () => {
  const story = new Story(Deployment).apply("app", deployment());
  const sidecar = { name: "proxy", image: "proxy:1", env: [{ name: "A", value: "1" }] };
  story.apply("mesh", { spec: { template: { spec: { containers: [sidecar] } } } });
  const names = () => each(at(story, ...pod, "containers"), "name");
  assert.deepEqual(names(), ["web", "proxy"]);
  story.apply("mesh", { spec: { template: { spec: {} } } });
  assert.deepEqual(names(), ["web"]);
});

test("ports are told apart by number and protocol, with the protocol's default", () => {
  const story = new Story(Service).apply("ann", { spec: { ports: [{ port: 53, targetPort: 53 }] } });
  story.apply("bob", { spec: { ports: [{ port: 53, protocol: "UDP", name: "dns" }] } });
  assert.deepEqual(each(at(story, "spec", "ports"), "protocol"), ["TCP", "UDP"]);
});

test("a kubelet's status is one entry that keeps its place while nothing changes", () => {
  const story = new Story(Pod).update("ann", () => ({ spec: { containers: [container] } }));
  const condition = (type: string, status: string) => ({ type, status, lastTransitionTime: "2026-01-01T00:00:00Z" });
  const report = (ready: string) => (o: object) => ({
    ...o,
    status: {
      phase: "Running",
      podIP: "10.0.0.1",
      podIPs: [{ ip: "10.0.0.1" }],
      conditions: [condition("Ready", ready)],
    },
  });
  const status = { subresource: "status", resetFields: excluding("spec", "metadata.ownerReferences") };
  story.update("kubelet", report("False"), status);
  const [, before] = story.managedFields;
  story.update("kubelet", report("False"), status);
  assert.equal(story.managedFields[1], before);
  story.update("kubelet", report("True"), status);
  const [, after] = story.managedFields;
  assert.equal(after?.fieldsV1, before?.fieldsV1);
  assert.deepEqual([before?.time, after?.time], ["2026-01-01T00:01:00Z", "2026-01-01T00:03:00Z"]);
  assert.equal(
    JSON.stringify(after?.fieldsV1),
    '{"f:status":{"f:conditions":{".":{},"k:{\\"type\\":\\"Ready\\"}":{".":{},"f:lastProbeTime":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}},' +
      '"f:phase":{},"f:podIP":{},"f:podIPs":{".":{},"k:{\\"ip\\":\\"10.0.0.1\\"}":{".":{},"f:ip":{}}}}}',
  );
});
