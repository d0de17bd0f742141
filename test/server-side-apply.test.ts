import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/v1/deployment.ts";
import { trackUpdate } from "#schema/apply/apply.ts";
import { applyDefaults } from "#schema/defaults.ts";

const now = Date.UTC(2026, 0, 1, 0, 0, 0, 999);

test("a creation owns what differs from an empty object, in upstream's form and order", () => {
  const updated: any = applyDefaults(Deployment, {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace: "default", labels: { app: "web" } },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: "web" } },
      template: {
        metadata: { labels: { app: "web" } },
        spec: { containers: [{ name: "c", image: "i", ports: [{ containerPort: 8080 }, { containerPort: 80 }] }] },
      },
    },
  } as object);
  const [entry, ...others] = trackUpdate({
    kind: Deployment,
    live: undefined,
    updated,
    manager: "kubectl-create",
    now,
  });
  assert.deepEqual(others, []);
  assert.equal(entry?.manager, "kubectl-create");
  assert.equal(entry?.time, "2026-01-01T00:00:00Z");
  const spec: any = entry?.fieldsV1?.["f:spec"];
  // Value structs are always there, so nobody owns them as such; pointers are owned by who sets them.
  assert.deepEqual(spec["f:strategy"], {
    "f:rollingUpdate": { ".": {}, "f:maxSurge": {}, "f:maxUnavailable": {} },
    "f:type": {},
  });
  assert.deepEqual(spec["f:selector"], {});
  assert.deepEqual(Object.keys(spec["f:template"]["f:spec"]["f:containers"]['k:{"name":"c"}']["f:ports"]), [
    ".",
    'k:{"containerPort":80,"protocol":"TCP"}',
    'k:{"containerPort":8080,"protocol":"TCP"}',
  ]);
  assert.deepEqual(entry?.fieldsV1?.["f:metadata"], { "f:labels": { ".": {}, "f:app": {} } });
});
