import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { type TestServer, testServer, testUser } from "#apiserver/testing.ts";
import { turn } from "#base/breathe.ts";
import { isNotFound } from "#base/errors.ts";
import { silentLog } from "#base/log.ts";
import { type Random, seededRandom } from "#base/random.ts";
import { Client, type Transport } from "#client/client.ts";
import { ConnectionLost } from "#client/connection-lost.ts";
import { Informer, type InformerOptions } from "#client/informer.ts";
import { Informers } from "#client/informers.ts";
import { keyOfObject } from "#client/object-key.ts";
import type { WatchEvent } from "#wire/api-request.ts";
import { badRequest, expired, serviceUnavailable, statusOf } from "#wire/status.ts";

const clientOf = (transport: Transport) =>
  new Client({ transport, user: testUser, userAgent: "test/1", signal: new AbortController().signal });
const optionsFor = (server: TestServer, transport: Transport = server.server.request): InformerOptions => ({
  client: clientOf(transport),
  clock: server.clock,
  random: seededRandom(1),
  log: silentLog,
});
const configMap = (name: string, data: Record<string, string> = {}) => ({
  metadata: { name, namespace: "default" },
  data,
});

/** Runs an informer, and keeps a second account of what it tells. */
function followed(informer: Informer<typeof ConfigMap>) {
  const told = new Map<string, ConfigMap>();
  const log: string[] = [];
  informer.onChange(({ key, old, object }) => {
    const known = told.get(key);
    assert.equal(old === undefined, known === undefined, `${key}: told as new though known, or the other way round`);
    const [before, after] = [known, object ?? old].map((one) => Number(one?.metadata.resourceVersion ?? 0));
    assert.ok((after ?? 0) > (before ?? 0) || object === undefined, `${key}: told twice, or backwards`);
    log.push(`${old ? (object ? "~" : "-") : "+"}${key}`);
    if (object) told.set(key, object);
    else told.delete(key);
  });
  const stop = new AbortController();
  const running = informer.run(stop.signal);
  return {
    told,
    log,
    async [Symbol.asyncDispose]() {
      stop.abort(new Error("over"));
      await assert.rejects(running, /over/);
    },
  };
}

const status = (error: ReturnType<typeof expired>): WatchEvent => ({
  type: "ERROR",
  object: statusOf(error),
  json: () => new Uint8Array(),
});

/** Everything that happens to watches in the field. */
function faulty(server: TestServer, random: Random): Transport {
  const streamsLists = random.below(2) === 0;
  return async (request) => {
    if (request.verb === "watch" && request.query.has("sendInitialEvents") && !streamsLists)
      throw badRequest("unknown");
    if (random.below(10) === 0) throw serviceUnavailable("injected");
    const response = await server.server.request(request);
    if (response.type !== "watch") return response;
    const { events } = response;
    const fault = random.below(5);
    let left = random.below(4);
    const broken = async function* (): AsyncGenerator<readonly WatchEvent[]> {
      for await (const batch of events) {
        if (left-- > 0 || fault === 4) yield batch;
        else if (fault === 0) return;
        else if (fault === 1) throw new ConnectionLost("injected");
        else if (fault === 2) {
          yield [status(expired("injected"))];
          return;
        } else {
          // Silence: the connection is gone, and nobody says so.
          await new Promise<void>((resolve) => request.signal.addEventListener("abort", () => resolve()));
          return;
        }
      }
    };
    return { ...response, events: broken() };
  };
}

test("whatever becomes of its watches, an informer ends up with the truth, and tells each change once", async () => {
  for (let seed = 1; seed <= 12; seed++) {
    await using server = await testServer();
    const random = seededRandom(seed);
    const writer = clientOf(server.server.request);
    const informer = new Informer(ConfigMap, optionsFor(server, faulty(server, random)));
    await using follower = followed(informer);
    for (let i = 0; i < 150; i++) {
      const place = { namespace: "default", name: `c${random.below(12)}` };
      const present = await writer.find(ConfigMap, place);
      if (!present) await writer.create(ConfigMap, configMap(place.name, { i: String(i) }));
      else if (random.below(3) === 0) await writer.delete(ConfigMap, place);
      else await writer.update(ConfigMap, { ...present, data: { i: String(i) } });
      if (random.below(4) === 0) await server.clock.advance(random.below(20_000));
    }
    const shown = (all: Iterable<ConfigMap>) =>
      [...all].map((one) => `${keyOfObject(one)}@${one.metadata.resourceVersion}`).sort();
    const truth = shown((await writer.list(ConfigMap)).items);
    for (let i = 0; i < 400 && String(shown(informer.cache.list())) !== String(truth); i++)
      await server.clock.advance(5000);
    assert.deepEqual(shown(informer.cache.list()), truth, `seed ${seed}: the cache`);
    assert.deepEqual(shown(follower.told.values()), truth, `seed ${seed}: what was told`);
    assert.deepEqual(shown(informer.cache.list("default")), truth, `seed ${seed}: the index`);
  }
});

test("an idle watch stays open on bookmarks alone, and a silent one is resumed without a list", async () => {
  await using server = await testServer();
  const asked: string[] = [];
  let silent = false;
  const transport: Transport = async (request) => {
    asked.push(`${request.verb}${request.query.has("sendInitialEvents") ? " all" : ""}`);
    const response = await server.server.request(request);
    if (response.type !== "watch") return response;
    const { events } = response;
    const muted = async function* () {
      for await (const batch of events) if (!silent) yield batch;
    };
    return { ...response, events: muted() };
  };
  const informer = new Informer(ConfigMap, optionsFor(server, transport));
  await using follower = followed(informer);
  await server.clock.advance(240_000);
  assert.deepEqual(asked, ["watch all"]);
  silent = true;
  await clientOf(server.server.request).create(ConfigMap, configMap("a"));
  await server.clock.advance(140_000);
  assert.deepEqual([asked, follower.log], [["watch all"], []]);
  silent = false;
  for (let i = 0; i < 20; i++) await server.clock.advance(1000);
  assert.deepEqual([asked, follower.log], [["watch all", "watch"], ["+default/a"]]);
});

test("a server that is down is asked again at growing intervals", async () => {
  await using server = await testServer();
  let asked = 0;
  const down: Transport = async () => {
    asked++;
    throw new ConnectionLost("nobody is there");
  };
  const informer = new Informer(ConfigMap, optionsFor(server, down));
  await using _ = followed(informer);
  for (let i = 0; i < 100; i++) await server.clock.advance(3000);
  assert.ok(asked >= 8 && asked <= 20, `${asked} requests in five minutes`);
  assert.equal(informer.hasSynced, false);
});

test("who comes late is told what is there, and resyncs happen only when asked for", async () => {
  await using server = await testServer();
  const writer = clientOf(server.server.request);
  for (const name of ["a", "b"]) await writer.create(ConfigMap, configMap(name));
  const informer = new Informer(ConfigMap, { ...optionsFor(server), resyncMs: 10_000 });
  const stop = new AbortController();
  const running = informer.run(stop.signal);
  await informer.synced(stop.signal);
  const told: string[] = [];
  informer.onChange(({ key, old, object }) => void told.push(`${key}${old === object ? " again" : ""}`));
  await server.clock.advance(10_000);
  assert.deepEqual(told, ["default/a", "default/b", "default/a again", "default/b again"]);
  stop.abort(new Error("over"));
  await assert.rejects(running, /over/);
  await assert.rejects(informer.synced(stop.signal), /over/);
});

test("one informer serves all who ask for a kind, and those who ask late", async () => {
  await using server = await testServer();
  const informers = new Informers(optionsFor(server));
  const stop = new AbortController();
  const one = informers.of(ConfigMap);
  const running = informers.run(stop.signal);
  assert.equal(informers.of(ConfigMap), one);
  const other = informers.of(ConfigMap, { namespace: "kube-system" });
  assert.notEqual(other, one);
  await other.synced(stop.signal);
  await one.synced(stop.signal);
  assert.ok(informers.hasSynced);
  const made = await clientOf(server.server.request).create(ConfigMap, configMap("a"));
  for (let i = 0; i < 5; i++) await turn();
  assert.equal(one.cache.get("default/a"), await clientOf(server.server.request).get(ConfigMap, made.metadata));
  assert.equal(other.cache.size, 0);
  assert.throws(() => Object.assign(one.cache.get("default/a") ?? {}, { data: {} }), TypeError);
  stop.abort(new Error("over"));
  await assert.rejects(running, /over/);
  await assert.rejects(clientOf(server.server.request).get(ConfigMap, { namespace: "default", name: "x" }), isNotFound);
});
