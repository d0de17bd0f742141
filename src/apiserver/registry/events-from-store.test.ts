// Events are not kept in memory: what clients see of them must not show it.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ApiObject } from "#schema/object.ts";
import { type TestServer, testServer } from "../testing.ts";

const events = "/api/v1/namespaces/default/events";
const eventOf = (name: string, more: object = {}) => ({
  apiVersion: "v1",
  kind: "Event",
  metadata: { name, namespace: "default" },
  involvedObject: { kind: "Pod", name: `pod-${name}`, namespace: "default" },
  reason: "Tested",
  type: "Normal",
  ...more,
});
const names = (list: ApiObject) => list.items.map(({ metadata }: ApiObject) => metadata.name);

async function withEvents(...some: readonly string[]): Promise<TestServer> {
  const s = await testServer();
  for (const name of some) assert.equal((await s.call("POST", events, eventOf(name))).code, 201);
  return s;
}

test("an event is read as it was written, at the present and not before a revision that was asked for", async () => {
  await using s = await withEvents("a", "b");
  const { json } = await s.call("GET", `${events}/a`);
  assert.equal(json.reason, "Tested");
  assert.deepEqual((await s.call("GET", `${events}/a?resourceVersion=0`)).json, json);
  assert.deepEqual((await s.call("GET", `${events}/a?resourceVersion=${json.metadata.resourceVersion}`)).json, json);
  assert.equal((await s.call("GET", `${events}/nope`)).code, 404);
  const other = await s.call("GET", "/apis/events.k8s.io/v1/namespaces/default/events/a");
  assert.equal(other.json.regarding.name, "pod-a");
});

test("events are listed with selectors, in pages and at a past revision", async () => {
  await using s = await withEvents("a", "b", "c", "d");
  assert.deepEqual(names((await s.call("GET", events)).json), ["a", "b", "c", "d"]);
  assert.deepEqual(names((await s.call("GET", `${events}?resourceVersion=0`)).json), ["a", "b", "c", "d"]);
  const ofPod = await s.call("GET", `${events}?fieldSelector=involvedObject.name=pod-c`);
  assert.deepEqual(names(ofPod.json), ["c"]);
  assert.deepEqual(names((await s.call("GET", `${events}?fieldSelector=metadata.name=b`)).json), ["b"]);

  const first = (await s.call("GET", `${events}?limit=3`)).json;
  assert.deepEqual([names(first), first.metadata.remainingItemCount], [["a", "b", "c"], 1]);
  await s.call("DELETE", `${events}/d`);
  const rest = (await s.call("GET", `${events}?limit=3&continue=${first.metadata.continue}`)).json;
  assert.deepEqual(names(rest), ["d"], "the second page is of the same moment as the first");
  const past = `resourceVersion=${first.metadata.resourceVersion}&resourceVersionMatch=Exact`;
  assert.deepEqual(names((await s.call("GET", `${events}?${past}`)).json), ["a", "b", "c", "d"]);
  assert.deepEqual(names((await s.call("GET", events)).json), ["a", "b", "c"]);
});

test("writes of an event build on what the store has", async () => {
  await using s = await withEvents("a");
  assert.equal((await s.call("POST", events, eventOf("a"))).code, 409);
  assert.equal((await s.call("POST", `${events}?dryRun=All`, eventOf("a"))).code, 409);
  assert.equal((await s.call("POST", `${events}?dryRun=All`, eventOf("new"))).code, 201);
  const merge = { "content-type": "application/merge-patch+json" };
  const patched = await s.call("PATCH", `${events}/a`, { count: 2 }, merge);
  assert.deepEqual([patched.code, patched.json.count], [200, 2]);
  const stale = await s.call("PUT", `${events}/a`, {
    ...eventOf("a", { count: 3 }),
    metadata: { name: "a", namespace: "default", resourceVersion: "2" },
  });
  assert.equal(stale.code, 409);
  assert.equal((await s.call("PUT", `${events}/made`, eventOf("made"))).code, 201);
  assert.equal((await s.call("DELETE", events)).code, 200);
  assert.deepEqual(names((await s.call("GET", events)).json), []);
});

test("a watch of events begins with those there are and tells what becomes of them", async () => {
  await using s = await withEvents("a", "b");
  const watch = await s.watch(`${events}?watch=1&fieldSelector=involvedObject.name=pod-a`);
  const next = async () => {
    const { value } = await watch.next();
    return [value.type, value.object.metadata.name, value.object.count];
  };
  assert.deepEqual(await next(), ["ADDED", "a", undefined]);
  const merge = { "content-type": "application/merge-patch+json" };
  await s.call("PATCH", `${events}/b`, { count: 2 }, merge);
  await s.call("PATCH", `${events}/a`, { count: 2 }, merge);
  assert.deepEqual(await next(), ["MODIFIED", "a", 2]);
  await s.call("DELETE", `${events}/a`);
  assert.deepEqual(await next(), ["DELETED", "a", 2]);
});

test("the number of stored events is known though they are not in memory", async () => {
  await using s = await withEvents("a", "b", "c");
  await s.call("PATCH", `${events}/b`, { count: 2 }, { "content-type": "application/merge-patch+json" });
  await s.call("DELETE", `${events}/c`);
  const { text } = await s.call("GET", "/metrics");
  assert.match(text, /^apiserver_storage_objects\{resource="events"\} 2$/m);
});
