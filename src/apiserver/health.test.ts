import assert from "node:assert/strict";
import { test } from "node:test";
import { testServer } from "./testing.ts";

test("a server is ready when it has followed its store, and no longer once it is told to stop; it lives all the time", async () => {
  const stop = new AbortController();
  await using server = await testServer({ stopping: stop.signal });
  const text = async (path: string) => (await server.call("GET", path)).text;
  const namesOf = (answer: string) => answer.match(/(?<=^\[\+\])[^ ]+(?= ok$)/gm) ?? [];
  const alive = await text("/livez?verbose");
  const hooks = namesOf(alive).filter((name) => /^(poststarthook\/|autoregister)/.test(name));
  assert.deepEqual([hooks.length, hooks.includes("poststarthook/rbac/bootstrap-roles")], [30, true]);
  assert.deepEqual(namesOf(alive), ["ping", "log", "loopback-serving-certificate", "etcd", ...hooks]);
  const isReady = ["ping", "log", "etcd", "etcd-readiness", "informer-sync", ...hooks, "shutdown"];
  assert.deepEqual(namesOf(await text("/readyz?verbose")), isReady);
  stop.abort(new Error("bye"));
  assert.match(await text("/readyz"), /^\[-\]shutdown failed: reason withheld\nreadyz check failed$/m);
  assert.equal(await text("/livez?verbose"), alive);
});

test("health can be asked with any method, each check by a path that the server names, and no other path", async () => {
  await using server = await testServer();
  for (const method of ["GET", "POST", "DELETE"]) assert.equal((await server.call(method, "/healthz")).text, "ok");
  const { paths } = (await server.call("GET", "/")).json;
  const checks = paths.filter((path: string) => /^\/(healthz|livez|readyz)\//.test(path));
  assert.ok(checks.length > 90);
  for (const path of checks) assert.equal((await server.call("GET", path)).code, 200, path);
  for (const path of ["/healthz/", "/readyz/nothing"]) assert.equal((await server.call("GET", path)).code, 404, path);
});

test("a full store is told, but is no reason to stop the server that can empty it", async () => {
  await using server = await testServer();
  const { store } = server;
  const status = await store.status();
  store.status = async () => ({ ...status, alarm: "the disk is full" });
  assert.equal((await server.call("GET", "/livez")).code, 200);
  const { json } = await server.call("GET", "/api/v1/componentstatuses/etcd-0");
  assert.equal(json.conditions[0].error, "the disk is full");
});
