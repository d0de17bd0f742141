// Many watchers with all kinds of selectors, each reconnecting now and then from where it was, while objects come, change and go.
// In the end each must have exactly what a list shows; on the way no event may come twice, late or for an object it cannot be about.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { type TestServer, testServer } from "#apiserver/testing.ts";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { type Random, seededRandom, systemRandom } from "#base/random.ts";
import type { ApiObject } from "#schema/object.ts";
import type { StoreEngine } from "#store/engine.ts";
import { EtcdStore } from "#store/host/etcd.ts";
import { openLmdbStore } from "#store/host/lmdb.ts";
import { noEtcd, startEtcd } from "#store/testing/etcd.ts";

/** The soak makes 20,000. */
const writes = Number(process.env.KNARR_WRITES ?? 6000);
const namespaces = Array.from({ length: 12 }, (_, i) => `ns-${i}`);
const apps = ["a", "b", "c", undefined];
const tiers = ["x", "y", undefined];
const nodes = Array.from({ length: 8 }, (_, i) => `node-${i}`);
const names = Array.from({ length: 30 }, (_, i) => `pod-${i}`);
const podsOf = (namespace: string | undefined) =>
  namespace === undefined ? "/api/v1/pods" : `/api/v1/namespaces/${namespace}/pods`;

test("watchers end with the truth: memory", async () => {
  await using server = await testServer();
  await live(server, { watchers: 500, writes, seed: 1 });
});

test("watchers end with the truth: embedded", async () => {
  const folder = mkdtempSync(join(tmpdir(), "knarr-truth-"));
  try {
    await using server = await testServer({ store: await openLmdbStore({ folder, clock: systemClock }) });
    await live(server, { watchers: 500, writes, seed: 2 });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("watchers end with the truth: etcd", { skip: noEtcd }, async () => {
  const cluster = await startEtcd();
  try {
    const { endpoints } = cluster;
    const store: StoreEngine = new EtcdStore({ endpoints, clock: systemClock, random: systemRandom, log: silentLog });
    await using server = await testServer({ store });
    await live(server, { watchers: 500, writes, seed: 3 });
  } finally {
    await cluster.stop();
  }
});

interface Life {
  readonly watchers: number;
  readonly writes: number;
  readonly seed: number;
}

async function live(server: TestServer, { watchers, writes, seed }: Life): Promise<void> {
  const random = seededRandom(seed);
  await write(server, random, 200); // so that there is something to list
  const all = Array.from({ length: watchers }, () => new Watcher(server, random));
  const following = Promise.all(all.map((watcher) => watcher.follow()));
  await Promise.race([write(server, random, writes), following]);

  const { json } = await server.call("GET", podsOf(undefined));
  const end = Number(json.metadata.resourceVersion);
  for (const watcher of all) watcher.end = end;
  // Who has nothing to see learns from a bookmark that it has seen everything.
  let isOver = false;
  void following.then(() => {
    isOver = true;
  });
  while (!isOver) {
    await server.clock.advance(61_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await following;
  for (const watcher of all) await watcher.compareWithList();
  assert.ok(all.some((watcher) => watcher.reconnects > 0));
}

/** Random creates, changes and deletions by several writers at once. */
async function write(server: TestServer, random: Random, count: number): Promise<void> {
  let left = count;
  const one = async () => {
    while (left-- > 0) {
      const namespace = pick(random, namespaces);
      const name = pick(random, names);
      const path = `${podsOf(namespace)}/${name}`;
      const [app, tier] = [pick(random, apps), pick(random, tiers)];
      const chance = random.next();
      const { code, text } =
        chance < 0.3
          ? await server.call("POST", podsOf(namespace), {
              metadata: { name, labels: { ...(app && { app }), ...(tier && { tier }) } },
              spec: {
                containers: [{ name: "c", image: "i" }],
                ...(random.next() < 0.7 && { nodeName: pick(random, nodes) }),
              },
            })
          : chance < 0.85
            ? await server.call(
                "PATCH",
                path,
                { metadata: { labels: { app: app ?? null, tier: tier ?? null } } },
                { "content-type": "application/merge-patch+json" },
              )
            : await server.call("DELETE", `${path}?gracePeriodSeconds=0`);
      if (![200, 201, 404, 409].includes(code)) throw new Error(`${code} ${text}`);
    }
  };
  await Promise.all(Array.from({ length: 32 }, one));
}

class Watcher {
  readonly #server: TestServer;
  readonly #random: Random;
  readonly #namespace: string | undefined;
  readonly #selection: string;
  /** Revisions of the objects it knows, by namespace and name. */
  readonly #state = new Map<string, string>();
  #seen = -1;
  reconnects = 0;
  /** When it has seen this, it is done. */
  end = Number.POSITIVE_INFINITY;

  constructor(server: TestServer, random: Random) {
    this.#server = server;
    this.#random = random;
    this.#namespace = random.next() < 0.95 ? pick(random, namespaces) : undefined;
    const labels = pick(random, ["", "app=a", "app in (a,b)", "!app", "tier!=x", "app=b,tier", "app notin (a),tier=y"]);
    const fields = pick(random, [
      "",
      "",
      `metadata.name=${pick(random, names)}`,
      `spec.nodeName=${pick(random, nodes)}`,
      "spec.nodeName!=node-1",
    ]);
    this.#selection = new URLSearchParams({ labelSelector: labels, fieldSelector: fields }).toString();
  }

  async follow(): Promise<void> {
    while (this.#seen < this.end) {
      if (this.#seen < 0) await this.#list();
      await this.#watch(1 + this.#random.below(200));
      this.reconnects++;
    }
  }

  async compareWithList(): Promise<void> {
    const known = new Map(this.#state);
    await this.#list();
    assert.deepEqual([...known].sort(), [...this.#state].sort(), this.#selection);
  }

  async #list(): Promise<void> {
    const { json } = await this.#server.call("GET", `${podsOf(this.#namespace)}?${this.#selection}`);
    this.#state.clear();
    for (const item of json.items as ApiObject[]) this.#state.set(keyOf(item), item.metadata.resourceVersion ?? "");
    this.#seen = Number(json.metadata.resourceVersion);
  }

  /** Takes so many events, then drops the connection. */
  async #watch(count: number): Promise<void> {
    const stop = new AbortController();
    const query = `watch=1&allowWatchBookmarks=true&resourceVersion=${this.#seen}&${this.#selection}`;
    const events = await this.#server.watch(`${podsOf(this.#namespace)}?${query}`, stop.signal);
    try {
      for (let taken = 0; taken < count && this.#seen < this.end; taken++) {
        const { value, done } = await events.next();
        if (done) throw new Error("a watch ended by itself");
        this.#take(value as unknown as Event);
        if (this.#seen < 0) return;
      }
    } finally {
      stop.abort(new Error("reconnect"));
      await events.return?.();
    }
  }

  #take({ type, object }: Event): void {
    if (type === "ERROR") {
      assert.equal(object.code, 410, JSON.stringify(object));
      this.#seen = -1;
      return;
    }
    const revision = Number(object.metadata.resourceVersion);
    if (type === "BOOKMARK") {
      assert.ok(revision >= this.#seen, `a bookmark went back from ${this.#seen} to ${revision}`);
      this.#seen = revision;
      return;
    }
    assert.ok(revision > this.#seen, `${type} at ${revision} after ${this.#seen}`);
    this.#seen = revision;
    const key = keyOf(object);
    assert.equal(this.#state.has(key), type !== "ADDED", `${type} of ${key} at ${revision}, ${this.#selection}`);
    if (type === "DELETED") this.#state.delete(key);
    else this.#state.set(key, object.metadata.resourceVersion ?? "");
  }
}

interface Event {
  readonly type: string;
  readonly object: ApiObject & { readonly code?: number };
}

const keyOf = ({ metadata }: ApiObject): string => `${metadata.namespace}/${metadata.name}`;
const pick = <T>(random: Random, from: readonly T[]): T => from[random.below(from.length)] as T;
