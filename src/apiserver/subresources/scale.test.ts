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
