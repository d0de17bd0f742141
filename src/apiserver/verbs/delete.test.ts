import assert from "node:assert/strict";
import { test } from "node:test";
import { type TestServer, testServer } from "../testing.ts";

const pods = "/api/v1/namespaces/dev/pods";
const maps = "/api/v1/namespaces/dev/configmaps";
const merge = { "content-type": "application/merge-patch+json" };

async function serverWithPod(spec: object = {}): Promise<TestServer> {
  const s = await testServer();
  await s.call("POST", "/api/v1/namespaces", { metadata: { name: "dev" } });
  await s.call("POST", maps, { metadata: { name: "x" } });
  const containers = [{ name: "c", image: "i" }];
  await s.call("POST", pods, { metadata: { name: "x" }, spec: { containers, nodeName: "n", ...spec } });
  return s;
}

test("a pod that no node has is deleted at once, and the answer says when", async () => {
  await using s = await serverWithPod({ nodeName: undefined });
  const { code, json } = await s.call("DELETE", `${pods}/x`);
  const { deletionTimestamp, deletionGracePeriodSeconds, generation } = json.metadata;
  assert.deepEqual(
    [code, json.kind, deletionTimestamp, deletionGracePeriodSeconds, generation],
    [200, "Pod", "2026-01-01T00:00:00Z", 0, 2],
  );
  assert.equal((await s.call("GET", `${pods}/x`)).code, 404);
});

test("the time a deleted pod was given becomes shorter only when someone says so", async () => {
  await using s = await serverWithPod({ terminationGracePeriodSeconds: 5 });
  const remove = async (body?: object) => (await s.call("DELETE", `${pods}/x`, body)).json.metadata;
  assert.equal((await remove({ gracePeriodSeconds: 100 })).deletionGracePeriodSeconds, 100);
  assert.equal((await remove()).deletionGracePeriodSeconds, 100);
  assert.equal((await remove({ gracePeriodSeconds: 200 })).deletionGracePeriodSeconds, 100);
  const shorter = await remove({ gracePeriodSeconds: 30 });
  assert.deepEqual(
    [shorter.deletionGracePeriodSeconds, shorter.deletionTimestamp, shorter.generation],
    [30, "2026-01-01T00:00:30Z", 2],
  );
  await s.clock.advance(20_000);
  const late = await remove({ gracePeriodSeconds: 10 });
  assert.deepEqual([late.deletionGracePeriodSeconds, late.deletionTimestamp], [1, "2026-01-01T00:00:20Z"]);
  assert.equal((await remove({ gracePeriodSeconds: 0 })).deletionGracePeriodSeconds, 0);
  assert.equal((await s.call("GET", `${pods}/x`)).code, 404);
});

test("options in the body of a deletion leave nothing to those in the query", async () => {
  await using s = await serverWithPod();
  const options = { kind: "DeleteOptions", apiVersion: "v1", orphanDependents: true };
  const { json } = await s.call("DELETE", `${maps}/x?dryRun=All`, options);
  assert.deepEqual(json.metadata.finalizers, ["orphan"]);
  assert.deepEqual((await s.call("GET", `${maps}/x`)).json.metadata.finalizers, ["orphan"]);
  await s.call("PATCH", `${maps}/x`, { metadata: { finalizers: null } }, merge);
  assert.equal((await s.call("GET", `${maps}/x`)).code, 404);
});

test("a dry run of a deletion answers what would be told last", async () => {
  await using s = await serverWithPod({ nodeName: undefined });
  const { json } = await s.call("DELETE", `${pods}/x?dryRun=All`);
  assert.equal(json.metadata.deletionGracePeriodSeconds, 0);
  assert.equal((await s.call("GET", `${pods}/x`)).json.metadata.deletionTimestamp, undefined);
});

test("a namespace goes when its last finalizer does, and its finalizers are checked", async () => {
  await using s = await serverWithPod();
  const path = "/api/v1/namespaces/dev";
  const finalize = (finalizers: readonly string[], headers = {}) =>
    s.call("PUT", `${path}/finalize`, { metadata: { name: "dev" }, spec: { finalizers } }, headers);
  const bad = await finalize(["kubernetes", "bad"]);
  assert.equal(
    `${bad.code} ${bad.json.message}`,
    '422 Namespace "dev" is invalid: spec.finalizers[1]: Invalid value: "bad": name is neither a standard finalizer name nor is it fully qualified',
  );
  for (const method of ["GET", "PATCH", "POST"])
    assert.equal((await s.call(method, `${path}/finalize`, {}, method === "PATCH" ? merge : {})).code, 405, method);
  assert.deepEqual((await finalize(["kubernetes", "a.io/b"])).json.spec.finalizers, ["kubernetes", "a.io/b"]);
  const { json: deleted } = await s.call("DELETE", path);
  assert.equal(typeof deleted.metadata.deletionTimestamp, "string");
  assert.deepEqual([deleted.metadata.deletionGracePeriodSeconds, deleted.status.phase], [undefined, "Terminating"]);
  const { code, json } = await finalize([]);
  assert.deepEqual([code, json.spec.finalizers], [200, undefined]);
  assert.equal((await s.call("GET", path)).code, 404);
});
