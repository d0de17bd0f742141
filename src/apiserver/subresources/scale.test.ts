import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiObject } from "#schema/object.ts";
import type { Admission } from "../registry/admission.ts";
import { testServer } from "../testing.ts";

const deployments = "/apis/apps/v1/namespaces/default/deployments";
const web = {
  metadata: { name: "web" },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "c", image: "i" }] } },
  },
};
const mergePatch = { "content-type": "application/merge-patch+json" };

test("admission sees the Scale, not the object behind it, and may change it", async () => {
  const seen: unknown[] = [];
  const note = (stage: string, subresource: string | undefined, object?: ApiObject, old?: ApiObject) =>
    seen.push([stage, subresource, object?.kind, object?.spec.replicas, old?.kind, old?.spec.replicas]);
  const admission: Admission = {
    async mutate({ request, old }, object) {
      if (request.verb === "create") return;
      note("mutate", request.subresource, object as ApiObject, old);
      if (object?.kind === "Scale" && object.spec.replicas > 5) object.spec = { replicas: 5 };
    },
    async validate({ request, old }, object) {
      if (request.verb !== "create") note("validate", request.subresource, object, old);
    },
  };
  await using s = await testServer({ admission });
  await s.call("POST", deployments, web);
  const { json } = await s.call("PATCH", `${deployments}/web/scale`, { spec: { replicas: 9 } }, mergePatch);
  assert.equal(json.kind, "Scale");
  assert.equal(json.spec.replicas, 5);
  assert.equal((await s.call("GET", `${deployments}/web`)).json.spec.replicas, 5);
  assert.deepEqual(seen, [
    ["mutate", "scale", "Scale", 9, "Scale", 1],
    ["validate", "scale", "Scale", 5, "Scale", 1],
  ]);
});

test("a size that admission makes impossible is refused", async () => {
  const admission: Admission = {
    async mutate(_call, object) {
      if (object?.kind === "Scale") object.spec = { replicas: -1 };
    },
    validate: async () => undefined,
  };
  await using s = await testServer({ admission });
  await s.call("POST", deployments, web);
  const { code, json } = await s.call("PATCH", `${deployments}/web/scale`, { spec: { replicas: 2 } }, mergePatch);
  assert.equal(code, 422, json.message as string);
  assert.equal((await s.call("GET", `${deployments}/web`)).json.spec.replicas, 1);
});

const selected = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "c", image: "i" }] } };
/** All kinds that have a size. */
const scalable: readonly [string, string, string, object][] = [
  ["Deployment", "apps/v1", "/apis/apps/v1/namespaces/default/deployments", { matchLabels: { app: "web" } }],
  ["ReplicaSet", "apps/v1", "/apis/apps/v1/namespaces/default/replicasets", { matchLabels: { app: "web" } }],
  ["StatefulSet", "apps/v1", "/apis/apps/v1/namespaces/default/statefulsets", { matchLabels: { app: "web" } }],
  ["ReplicationController", "v1", "/api/v1/namespaces/default/replicationcontrollers", { app: "web" }],
];
const typed = (type: string) => ({ "content-type": `application/${type}` });
const asScale = { apiVersion: "autoscaling/v1", kind: "Scale", metadata: { name: "web" }, spec: { replicas: 7 } };
const writes: readonly [string, string, unknown, Readonly<Record<string, string>>][] = [
  ["update", "PUT", asScale, {}],
  ["JSON patch", "PATCH", [{ op: "replace", path: "/spec/replicas", value: 7 }], typed("json-patch+json")],
  ["merge patch", "PATCH", { spec: { replicas: 7 } }, mergePatch],
  ["strategic patch", "PATCH", { spec: { replicas: 7 } }, typed("strategic-merge-patch+json")],
  ["apply", "PATCH", asScale, typed("apply-patch+yaml")],
];

for (const [kind, apiVersion, path, selector] of scalable)
  for (const [name, method, body, headers] of writes)
    test(`the ${name} of a ${kind}'s scale is neither undone nor overridden by a later apply`, async () => {
      await using s = await testServer();
      const configured = (spec: object) => ({
        apiVersion,
        kind,
        metadata: { name: "web" },
        spec: { selector, template: selected, ...spec },
      });
      const apply = (spec: object) =>
        s.call("PATCH", `${path}/web?fieldManager=gitops`, configured(spec), typed("apply-patch+yaml"));
      assert.equal((await apply({ replicas: 2 })).code, 201);
      const force = name === "apply" ? "&force=true" : "";
      const scaled = await s.call(method, `${path}/web/scale?fieldManager=scaler${force}`, body, headers);
      assert.equal(scaled.code, 200, scaled.text);
      assert.equal(scaled.json.metadata.managedFields, undefined);
      const { metadata, spec } = (await s.call("GET", `${path}/web`)).json;
      assert.equal(spec.replicas, 7);
      const owner = metadata.managedFields?.find(({ manager }) => manager === "scaler");
      assert.deepEqual(
        [owner?.operation, owner?.apiVersion, owner?.subresource, owner?.fieldsV1],
        [name === "apply" ? "Apply" : "Update", apiVersion, "scale", { "f:spec": { "f:replicas": {} } }],
      );
      const refused = await apply({ replicas: 2 });
      assert.equal(refused.code, 409, refused.text);
      assert.match(refused.json.message as string, /conflict with "scaler" with subresource "scale"/);
      const kept = await apply({});
      assert.equal(kept.code, 200, kept.text);
      assert.equal(kept.json.spec.replicas, 7);
    });

test("a write of a scale with another object as its body is refused", async () => {
  await using s = await testServer();
  await s.call("POST", deployments, web);
  const other = { ...web, apiVersion: "apps/v1", kind: "Deployment" };
  const { code } = await s.call("PUT", `${deployments}/web/scale`, other);
  assert.equal(code, 400);
  assert.equal((await s.call("GET", `${deployments}/web`)).json.spec.replicas, 1);
});

test("a scale of another uid or revision is refused", async () => {
  await using s = await testServer();
  await s.call("POST", deployments, web);
  const put = (metadata: object) =>
    s.call("PUT", `${deployments}/web/scale`, { ...asScale, metadata: { name: "web", ...metadata } });
  const other = await put({ uid: "x" });
  assert.equal(other.code, 409);
  assert.match(other.json.message as string, /UID in precondition: x/);
  assert.equal((await put({ resourceVersion: "999" })).code, 409);
  assert.equal((await put({})).code, 200);
});
