import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Secret } from "#api/core/v1/secret.ts";
import { aborted } from "#base/aborted.ts";
import { turn } from "#base/breathe.ts";
import { silentLog } from "#base/log.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiRequest, ApiResponse, WatchEvent } from "#wire/api-request.ts";
import { serviceUnavailable } from "#wire/status.ts";
import { Client } from "./client.ts";
import { Informers } from "./informers.ts";
import { type ClientWorld, world } from "./testing.ts";

/** Informers over a server that begins each watch with one object, and keeps it open. */
function served(w: ClientWorld = world()) {
  const watches = new Set<string>();
  const failing = new Set<AnyKind>();
  let opened = 0;
  const transport = async (request: ApiRequest): Promise<ApiResponse> => {
    const { expects: kind, signal } = request;
    if (!kind) throw new Error("the kind of a request is not known");
    if (failing.has(kind)) throw serviceUnavailable("injected");
    const event = (type: WatchEvent["type"], metadata: object): WatchEvent => ({
      type,
      object: { apiVersion: kind.apiVersion, kind: kind.kind, metadata },
      json: () => new Uint8Array(),
    });
    const name = `${kind.plural} ${++opened}`;
    const events = async function* () {
      watches.add(name);
      try {
        yield [
          event("ADDED", { name: "a", namespace: "default", uid: name, resourceVersion: "1" }),
          event("BOOKMARK", { resourceVersion: "1", annotations: { "k8s.io/initial-events-end": "true" } }),
        ];
        await aborted(signal);
      } finally {
        watches.delete(name);
      }
      signal.throwIfAborted();
    };
    return { type: "watch", kind, events: events() };
  };
  const { signal } = new AbortController();
  const client = new Client({ user: { name: "w", groups: [] }, userAgent: "w/1", signal, transport });
  const informers = new Informers({ client, clock: w.clock, random: w.random, log: silentLog });
  const stop = new AbortController();
  const running = informers.run(stop.signal);
  return {
    informers,
    clock: w.clock,
    watches,
    failing,
    running,
    async [Symbol.asyncDispose]() {
      stop.abort(new Error("over"));
      await assert.rejects(running, /over/);
      assert.deepEqual([...watches], [], "watches are left open");
    },
  };
}

const settle = async () => {
  for (let i = 0; i < 20; i++) await turn();
};
const { signal: always } = new AbortController();

test("a kind that is dropped stops with all its selections, and a new informer begins when it is asked for again", async () => {
  await using s = served();
  const whole = s.informers.of(ConfigMap);
  const selected = s.informers.of(ConfigMap, { labelSelector: "a=b" });
  const other = s.informers.of(Secret);
  await Promise.all([whole, selected, other].map((one) => one.synced(always)));
  let told = 0;
  whole.onChange(() => told++);
  assert.deepEqual([told, whole.cache.size, s.watches.size], [1, 1, 3]);

  s.informers.drop(ConfigMap);
  await settle();
  assert.deepEqual([...s.watches], ["secrets 3"]);
  assert.deepEqual([whole.cache.size, selected.cache.size, other.cache.size], [0, 0, 1]);
  assert.equal(whole.isWatched, false);
  assert.equal(s.informers.hasSynced, true);

  const again = s.informers.of(ConfigMap);
  assert.notEqual(again, whole);
  assert.notEqual(s.informers.of(ConfigMap, { labelSelector: "a=b" }), selected);
  await again.synced(always);
  assert.deepEqual([told, again.cache.size], [1, 1]);
  assert.equal(s.informers.of(ConfigMap), again);
});

test("who waits for a kind that cannot be listed is refused when it is dropped", async () => {
  await using s = served();
  s.failing.add(ConfigMap);
  const synced = s.informers.of(ConfigMap).synced(always);
  await settle();
  s.informers.drop(ConfigMap);
  await assert.rejects(synced, /informer of configmaps was dropped/);
  s.failing.clear();
  await s.clock.advance(60_000); // the dropped one must not come back after its pause
  assert.deepEqual([...s.watches], []);
});

test("an informer that is dropped before it was started is never started", async () => {
  const w = world();
  const informers = new Informers({ client: w.client, clock: w.clock, random: w.random, log: silentLog });
  const informer = informers.of(ConfigMap);
  informers.drop(ConfigMap);
  await assert.rejects(informer.synced(always), /dropped/);
  let asked = 0;
  w.fail(() => {
    asked++;
    return undefined;
  });
  const stop = new AbortController();
  const running = informers.run(stop.signal);
  await settle();
  stop.abort(new Error("over"));
  await assert.rejects(running, /over/);
  assert.equal(asked, 0);
});

test("an informer that someone still follows stays when the unwatched ones are dropped", async () => {
  await using s = served();
  const informer = s.informers.of(ConfigMap);
  const stop = informer.onChange(() => undefined);
  s.informers.dropUnwatched(ConfigMap);
  assert.equal(s.informers.of(ConfigMap), informer);
  stop();
  s.informers.dropUnwatched(ConfigMap);
  assert.notEqual(s.informers.of(ConfigMap), informer);
});

test("a kind that nobody needs and that cannot be listed keeps nobody from being healthy", async () => {
  await using s = served();
  s.failing.add(ConfigMap);
  const broken = s.informers.optional(ConfigMap);
  await s.informers.of(Secret).synced(always);
  await settle();
  assert.deepEqual([broken.hasSynced, s.informers.hasSynced], [false, true]);
  assert.equal(s.informers.of(ConfigMap), broken);
  assert.equal(s.informers.hasSynced, false, "now some part needs it");
  s.informers.drop(ConfigMap);
  assert.equal(s.informers.hasSynced, true);
});
