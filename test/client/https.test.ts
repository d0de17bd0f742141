import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, connect as connectTcp, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { ReplicaSet } from "#api/apps/v1/replica-set.ts";
import { catalog } from "#api/catalog.ts";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { type TestServer, testServer, testUser } from "#apiserver/testing.ts";
import { turn } from "#base/breathe.ts";
import { ManualClock, systemClock } from "#base/clock.ts";
import { explain, isConflict, isNotFound } from "#base/errors.ts";
import { silentLog } from "#base/log.ts";
import { MetricRegistry } from "#base/metrics.ts";
import { seededRandom } from "#base/random.ts";
import { Client } from "#client/client.ts";
import { ConnectionLost } from "#client/connection-lost.ts";
import { httpsTransport } from "#client/host/https-transport.ts";
import { Informer } from "#client/informer.ts";
import { metadataKind } from "#client/metadata-kind.ts";
import { declareClientMetrics } from "#client/metrics.ts";
import { runControllers } from "#client/run-controllers.ts";
import { ServerDiscovery } from "#client/server-discovery.ts";
import { Certificates } from "#cluster/certificates.ts";
import { httpsFront } from "#serving/host/https/front.ts";
import { replicaSet, sampleReplicaSets } from "./sample.ts";

const folder = mkdtempSync(join(tmpdir(), "client-https-"));
after(() => rmSync(folder, { recursive: true }));
const certificates = new Certificates(folder, systemClock);
const authority = certificates.authority();
const serving = certificates.issue("server", { commonName: "server", hosts: ["127.0.0.1"] });

interface Remote extends AsyncDisposable {
  readonly server: TestServer;
  readonly client: Client;
  readonly discovery: ServerDiscovery;
  /** Under which paths discovery was told something, and under which it was told that nothing has changed. */
  readonly answered: readonly string[];
  readonly clock: ManualClock;
  readonly url: string;
  readonly metrics: MetricRegistry;
  /** Cuts all connections, as a network does. */
  cut(): void;
}

async function remote(options: { readonly pageSize?: number } = {}): Promise<Remote> {
  const server = await testServer();
  const front = httpsFront({ ...serving, clientCa: authority.cert, handler: server.server.handle, log: silentLog });
  const port = await front.listen(0, "127.0.0.1");
  const sockets = new Set<Socket>();
  const middle = createServer((near) => {
    const far = connectTcp(port, "127.0.0.1");
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on("error", () => to.destroy());
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
  });
  await new Promise<void>((resolve) => middle.listen(0, "127.0.0.1", resolve));
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  const url = `https://127.0.0.1:${(middle.address() as AddressInfo).port}`;
  const metrics = new MetricRegistry();
  declareClientMetrics(metrics);
  const { transport, document, close } = httpsTransport({ server: url, ca: authority.cert, clock, metrics });
  const answered: string[] = [];
  const discovery = new ServerDiscovery(async (path, options) => {
    const found = await document(path, { ...options, userAgent: "test/1" });
    answered.push(found ? path : `${path} unchanged`);
    return found;
  });
  const { signal } = new AbortController();
  const client = new Client({ transport, user: testUser, userAgent: "test/1", signal, ...options });
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    server,
    client,
    discovery,
    answered,
    clock,
    url,
    metrics,
    cut,
    async [Symbol.asyncDispose]() {
      close();
      cut();
      middle.close();
      await front.close(1000);
      await server[Symbol.asyncDispose]();
    },
  };
}

async function until(isSo: () => boolean | Promise<boolean>, clock: ManualClock): Promise<void> {
  const limit = AbortSignal.timeout(60_000); // only to end a test that would never end
  while (!(await isSo())) {
    limit.throwIfAborted();
    await clock.advance(50);
    for (let i = 0; i < 20; i++) await turn();
  }
}

const isFine = (request: Promise<unknown>): Promise<boolean> =>
  request.then(
    () => true,
    () => false,
  );

const configMap = (name: string, data: Record<string, string> = {}) => ({
  metadata: { name, namespace: "default" },
  data,
});

test("what is sent over HTTPS and what comes back is counted", async () => {
  await using r = await remote();
  await r.client.create(ConfigMap, configMap("a"));
  await assert.rejects(r.client.get(ConfigMap, { namespace: "default", name: "none" }), isNotFound);
  const host = new URL(r.url).host;
  const lines = (await r.metrics.text()).split("\n");
  assert.ok(lines.includes(`rest_client_requests_total{code="201",host="${host}",method="POST"} 1`));
  assert.ok(lines.includes(`rest_client_requests_total{code="404",host="${host}",method="GET"} 1`));
  const sizeOf = (what: string, verb: string) =>
    Number(
      lines
        .find((line) => line.startsWith(`rest_client_${what}_size_bytes_sum{host="${host}",verb="${verb}"}`))
        ?.split(" ")[1],
    );
  assert.equal(sizeOf("request", "POST"), JSON.stringify(configMap("a")).length);
  assert.ok(sizeOf("response", "POST") > sizeOf("request", "POST"));
  assert.ok(sizeOf("response", "GET") > 100);
});

test("the verbs work over HTTPS as in the same process", async () => {
  await using r = await remote({ pageSize: 3 });
  const { client } = r;
  const made = await client.create(ConfigMap, configMap("a", { x: "1" }));
  assert.deepEqual(await client.get(ConfigMap, made.metadata), made);
  assert.deepEqual([made.apiVersion, made.kind, made.data], ["v1", "ConfigMap", { x: "1" }]);
  const updated = await client.update(ConfigMap, { ...made, data: { x: "2" } });
  await assert.rejects(client.update(ConfigMap, { ...made, data: { x: "3" } }), isConflict);
  const patches = [
    await client.patch(ConfigMap, made.metadata, "merge", { data: { y: "ü" } }),
    await client.patch(ConfigMap, made.metadata, "json", [{ op: "remove", path: "/data/x" }]),
    await client.patch(ConfigMap, made.metadata, "strategic", { data: { z: "1" } }),
    await client.patch(
      ConfigMap,
      made.metadata,
      "apply",
      { ...configMap("a", { w: "1" }), apiVersion: "v1", kind: "ConfigMap" },
      { fieldManager: "me" },
    ),
  ];
  assert.deepEqual(patches.at(-1)?.data, { w: "1", y: "ü", z: "1" });
  assert.equal(updated.data?.x, "2");
  for (let i = 0; i < 7; i++) await client.create(ConfigMap, configMap(`b${i}`));
  const { items } = await client.list(ConfigMap, { namespace: "default" });
  assert.deepEqual(
    items.map(({ metadata, kind }) => `${kind} ${metadata.name}`),
    ["a", ...Array.from({ length: 7 }, (_, i) => `b${i}`)].map((name) => `ConfigMap ${name}`),
  );
  assert.equal(await client.delete(ConfigMap, made.metadata, { preconditions: { uid: made.metadata.uid } }), undefined);
  await assert.rejects(client.get(ConfigMap, made.metadata), isNotFound);
  await client.deleteCollection(ConfigMap, { namespace: "default" });
  assert.equal((await client.list(ConfigMap)).items.length, 0);
});

test("what the type promises is there, though JSON leaves it out", async () => {
  await using r = await remote();
  const rs = await r.client.create(ReplicaSet, replicaSet("web", 0));
  assert.deepEqual([rs.spec.replicas, rs.status.replicas], [0, 0]);
});

test("a watch delivers, ends with its signal, and is refused as other requests are", async () => {
  await using r = await remote();
  const { client } = r;
  const stop = new AbortController();
  const events = await client.watch(ConfigMap, { namespace: "default", signal: stop.signal });
  const seen: string[] = [];
  const reading = (async () => {
    for await (const batch of events)
      for (const { type, object } of batch) if (type !== "BOOKMARK") seen.push(`${type} ${object.metadata.name}`);
  })();
  await client.create(ConfigMap, configMap("a"));
  await client.delete(ConfigMap, { namespace: "default", name: "a" });
  await until(() => seen.length === 2, r.clock);
  assert.deepEqual(seen, ["ADDED a", "DELETED a"]);
  stop.abort(new Error("enough"));
  await assert.rejects(reading, /enough/);
  const bad = { code: 400, reason: "BadRequest" };
  await assert.rejects(client.watch(ConfigMap, { labelSelector: "a=b=c" }), bad);
});

test("a lost connection is told as such, and the next request makes a new one", async () => {
  await using r = await remote();
  const events = await r.client.watch(ConfigMap);
  const broken = (async () => {
    for await (const _ of events);
  })();
  broken.catch(() => undefined);
  await r.client.create(ConfigMap, configMap("a"));
  r.cut();
  await assert.rejects(broken, ConnectionLost);
  await until(() => isFine(r.client.get(ConfigMap, { namespace: "default", name: "a" })), r.clock);
  const { transport } = httpsTransport({ server: "https://127.0.0.1:1", clock: r.clock });
  const nobody = new Client({ transport, user: testUser, userAgent: "t", signal: new AbortController().signal });
  await assert.rejects(nobody.list(ConfigMap), ConnectionLost);
});

test("a server whose certificate nobody vouches for is not talked to", async () => {
  await using r = await remote();
  const { transport, close } = httpsTransport({ server: r.url, clock: r.clock });
  const trusting = new Client({ transport, user: testUser, userAgent: "t", signal: new AbortController().signal });
  await assert.rejects(trusting.list(ConfigMap), (error: Error) => /self-signed|unable to verify/.test(explain(error)));
  close();
});

test("a server that takes connections but never answers is given up", async () => {
  const clock = new ManualClock();
  const sockets: Socket[] = [];
  const hole = createServer((socket) => void sockets.push(socket));
  await new Promise<void>((resolve) => hole.listen(0, "127.0.0.1", resolve));
  const server = `https://127.0.0.1:${(hole.address() as AddressInfo).port}`;
  const { transport, close } = httpsTransport({ server, clock });
  const client = new Client({ transport, user: testUser, userAgent: "t", signal: new AbortController().signal });
  const asked = assert.rejects(client.list(ConfigMap), {
    name: "ConnectionLost",
    message: /no answer within 60000 ms/,
  });
  await until(() => sockets.length > 0, clock);
  await clock.advance(60_000);
  await asked;
  close();
  for (const socket of sockets) socket.destroy();
  hole.close();
});

test("an informer over HTTPS stays true while connections are cut", async () => {
  await using r = await remote();
  const informer = new Informer(ConfigMap, {
    client: r.client,
    clock: r.clock,
    random: seededRandom(1),
    log: silentLog,
  });
  const stop = new AbortController();
  const running = informer.run(stop.signal);
  await until(() => informer.hasSynced, r.clock);
  const call = r.server.call;
  for (let i = 0; i < 30; i++) {
    await call("POST", "/api/v1/namespaces/default/configmaps", {
      ...configMap(`c${i}`),
      apiVersion: "v1",
      kind: "ConfigMap",
    });
    if (i % 10 === 5) r.cut();
    if (i % 3 === 2) await call("DELETE", `/api/v1/namespaces/default/configmaps/c${i}`);
  }
  await until(() => informer.cache.size === 20, r.clock);
  stop.abort(new Error("over"));
  await assert.rejects(running, /over/);
});

test("the sample controller converges over HTTPS", async () => {
  await using r = await remote();
  const { client, clock } = r;
  const stop = new AbortController();
  const running = runControllers([sampleReplicaSets], { client, clock, random: seededRandom(1), log: silentLog }).run(
    stop.signal,
  );
  await client.create(ReplicaSet, replicaSet("web", 12));
  await until(
    async () => (await client.get(ReplicaSet, { namespace: "default", name: "web" })).status.replicas === 12,
    clock,
  );
  r.cut();
  await until(() => isFine(client.list(Pod)), clock);
  const [pod] = (await client.list(Pod)).items;
  await client.delete(Pod, pod!.metadata);
  await until(async () => {
    const { items } = await client.list(Pod);
    return (
      items.filter(({ metadata }) => !metadata.deletionTimestamp).length === 12 &&
      !items.some(({ metadata }) => metadata.name === pod!.metadata.name)
    );
  }, clock);
  assert.equal((await client.list(Pod)).items.length, 12);
  stop.abort(new Error("over"));
  await running;
});

test("discovery over HTTPS finds the kinds of the catalog, and asks for what has changed alone", async () => {
  await using r = await remote();
  const { signal } = new AbortController();
  const found = await r.discovery.discover(signal);
  assert.deepEqual(new Set(found.kinds), new Set(catalog));
  assert.equal(found.failures.size, 0);
  assert.equal(await r.discovery.discover(signal), found);
  assert.deepEqual(r.answered.toSorted(), ["/api", "/api unchanged", "/apis", "/apis unchanged"]);
});

test("of a kind that is known by its metadata alone, only that is sent, and it can be followed, patched and deleted", async () => {
  await using r = await remote({ pageSize: 2 });
  const unknown = metadataKind({
    ...ConfigMap,
    shortNames: [],
    categories: [],
    subresources: {},
  });
  const large = "v".repeat(10_000);
  for (const name of ["a", "b", "c"]) await r.client.create(ConfigMap, configMap(name, { k: large }));
  const place = { namespace: "default", name: "a" };
  const got: object = await r.client.get(unknown, place);
  assert.deepEqual(Object.keys(got).sort(), ["apiVersion", "kind", "metadata"]);
  assert.deepEqual(
    (await r.client.list(unknown)).items.map(({ kind, metadata }) => `${kind} ${metadata.name}`),
    ["ConfigMap a", "ConfigMap b", "ConfigMap c"],
  );
  const sizes = /^rest_client_response_size_bytes_sum{.*verb="GET"} (\d+)$/m.exec(await r.metrics.text());
  assert.ok(Number(sizes?.[1]) < large.length, `${sizes?.[1]} bytes came for one object and a list of three`);
  const { clock, client } = r;
  const informer = new Informer(unknown, { client, clock, random: seededRandom(1), log: silentLog });
  const stop = new AbortController();
  const running = informer.run(stop.signal);
  await until(() => informer.hasSynced, clock);
  await client.patch(unknown, place, "merge", { metadata: { labels: { l: "1" } } });
  await until(() => informer.cache.get(place)?.metadata.labels?.l === "1", clock);
  await assert.rejects(client.update(unknown, await client.get(unknown, place)), /only their metadata is known/);
  assert.deepEqual((await client.get(ConfigMap, place)).data, { k: large });
  await client.delete(unknown, place);
  await until(() => informer.cache.get(place) === undefined, clock);
  stop.abort(new Error("over"));
  await assert.rejects(running, /over/);
});
