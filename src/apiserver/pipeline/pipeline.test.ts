import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Namespace } from "#api/core/v1/namespace.ts";
import { MetricRegistry } from "#base/metrics.ts";
import { Client } from "#client/client.ts";
import { type TestServer, testServer, testUser } from "../testing.ts";

const { signal } = new AbortController();

async function counted() {
  const metrics = new MetricRegistry();
  const server = await testServer({ metrics });
  const client = new Client({ transport: server.server.request, user: testUser, userAgent: "part/1", signal });
  await client.create(Namespace, { metadata: { name: "x" } });
  const series = async (name: string, ...parts: readonly string[]): Promise<string | undefined> => {
    const lines = (await metrics.text()).split("\n");
    return lines
      .find((line) => line.startsWith(`${name}{`) && parts.every((part) => line.includes(part)))
      ?.split(" ")[1];
  };
  return { server, client, series };
}

async function stagesOf(server: TestServer, name: string): Promise<readonly string[]> {
  const { json } = await server.call("GET", `/knarr/v1/trace?resource=configmaps&namespace=x&name=${name}`);
  const { writes } = json as unknown as { readonly writes: readonly { readonly stages: object }[] };
  return Object.keys(writes.at(-1)?.stages ?? {});
}

test("a write of a part of this process is counted, and has the stages of one over HTTP that it passes", async () => {
  const { server, client, series } = await counted();
  await using _ = server;
  await client.create(ConfigMap, { metadata: { name: "a", namespace: "x" } });
  await server.call("POST", "/api/v1/namespaces/x/configmaps", { metadata: { name: "b" } });
  assert.equal(await series("apiserver_request_total", 'verb="POST"', 'resource="configmaps"', 'code="201"'), "2");
  assert.deepEqual(await stagesOf(server, "a"), ["authorize", "admit", "validate", "store"]);
  assert.deepEqual(await stagesOf(server, "b"), ["identify", "authorize", "read", "admit", "validate", "store"]);
});

test("a refusal of a part of this process is counted by its code", async () => {
  const { server, client, series } = await counted();
  await using _ = server;
  await assert.rejects(client.get(ConfigMap, { name: "none", namespace: "x" }), { reason: "NotFound" });
  assert.equal(await series("apiserver_request_total", 'verb="GET"', 'resource="configmaps"', 'code="404"'), "1");
  assert.equal(await series("apiserver_current_inflight_requests", 'request_kind="readOnly"'), "0");
});

test("a watch of a part of this process is open until its reader leaves, and counted then", async () => {
  const { server, series } = await counted();
  await using _ = server;
  const response = await server.server.request({
    group: "",
    version: "v1",
    resource: "configmaps",
    verb: "watch",
    user: testUser,
    query: new URLSearchParams(),
    userAgent: "part/1",
    signal,
  });
  assert.ok(response.type === "watch");
  const events = response.events[Symbol.asyncIterator]();
  const first = events.next();
  await server.call("POST", "/api/v1/namespaces/x/configmaps", { metadata: { name: "a" } });
  assert.equal((await first).value?.[0]?.type, "ADDED");
  assert.equal(await series("apiserver_longrunning_requests", 'resource="configmaps"'), "1");
  await events.return?.();
  assert.equal(await series("apiserver_longrunning_requests", 'resource="configmaps"'), "0");
  assert.equal(await series("apiserver_request_total", 'verb="WATCH"', 'resource="configmaps"'), "1");
});

test("a client that leaves while its body is read ends its request, which is not counted as answered", async () => {
  const { server, series } = await counted();
  await using _ = server;
  const gone = new AbortController();
  const reading = server.server.handle({
    method: "POST",
    path: "/api/v1/namespaces/x/configmaps",
    url: "/api/v1/namespaces/x/configmaps",
    query: new URLSearchParams(),
    headers: { "content-type": "application/json" },
    body: () =>
      new Promise((_, reject) => {
        gone.signal.addEventListener("abort", () => reject(gone.signal.reason));
        setImmediate(() => gone.abort(new Error("the client is gone")));
      }),
    content: { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined) }) },
    clientCertificate: undefined,
    remoteAddress: "127.0.0.1",
    signal: gone.signal,
  });
  await assert.rejects(async () => await reading, { message: "the client is gone" });
  assert.equal(await series("apiserver_request_total", 'verb="POST"', 'resource="configmaps"'), undefined);
  assert.equal(await series("apiserver_current_inflight_requests", 'request_kind="mutating"'), "0");
});
