// Two servers on one store give out addresses and ports at the same instant, and never the same one.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import { seededRandom } from "#base/random.ts";
import type { StoreEngine } from "#store/engine.ts";
import { MemoryStore } from "#store/memory.ts";
import { type TestServer, testServer } from "../../testing.ts";

const services = "/api/v1/namespaces/default/services";

/** A store as it is seen by one of several who write to it. */
const shared = (store: StoreEngine): StoreEngine => ({
  get: (...args) => store.get(...args),
  list: (...args) => store.list(...args),
  put: (...args) => store.put(...args),
  delete: (...args) => store.delete(...args),
  watch: (...args) => store.watch(...args),
  revision: (...args) => store.revision(...args),
  compact: (...args) => store.compact(...args),
  status: (...args) => store.status(...args),
  close: async () => undefined,
});

async function twoServers(ranges: { readonly addresses: string; readonly nodePorts: string }) {
  const store = new MemoryStore({ clock: new ManualClock() });
  // The same chance for both: what the one chooses first, the other does, too.
  const servers = await Promise.all(
    [1, 1].map((seed) => testServer({ ...ranges, store: shared(store), random: seededRandom(seed) })),
  );
  return {
    store,
    servers: servers as [TestServer, TestServer],
    async [Symbol.asyncDispose]() {
      for (const server of servers) await server[Symbol.asyncDispose]();
      await store.close();
    },
  };
}

test("services made by both at once have addresses and node ports of their own, down to the last", async () => {
  await using both = await twoServers({ addresses: "10.96.0.0/27", nodePorts: "30000-30029" });
  const answers = await Promise.all(
    both.servers.flatMap((server, i) =>
      Array.from({ length: 15 }, (_, n) =>
        server.call("POST", services, {
          metadata: { name: `s-${i}-${n}` },
          spec: { type: "NodePort", ports: [{ port: 80 }] },
        }),
      ),
    ),
  );
  assert.deepEqual(
    answers.filter(({ code }) => code !== 201).map(({ text }) => text),
    [],
  );
  const specs = answers.map(({ json }) => json.spec);
  assert.equal(new Set(specs.map(({ clusterIP }) => clusterIP)).size, 30);
  assert.equal(new Set(specs.map(({ ports }) => ports[0].nodePort)).size, 30);
  const { entries } = await both.store.list("/knarr/claims/");
  assert.deepEqual(entries, [], "no claim is left behind");
});

test("an address that both are asked for is given once", async () => {
  await using both = await twoServers({ addresses: "10.96.0.0/16", nodePorts: "30000-32767" });
  for (let round = 0; round < 20; round++) {
    const clusterIP = `10.96.1.${round}`;
    const answers = await Promise.all(
      both.servers.map((server, i) =>
        server.call("POST", services, {
          metadata: { name: `r-${i}-${round}` },
          spec: { clusterIP, ports: [{ port: 80 }] },
        }),
      ),
    );
    const refused = answers.filter(({ code }) => code === 422);
    assert.equal(answers.filter(({ code }) => code === 201).length, 1);
    for (const { text } of refused) assert.match(text, /provided IP is already allocated/);
  }
});

test("a write that fails leaves nothing taken", async () => {
  await using both = await twoServers({ addresses: "10.96.0.0/30", nodePorts: "30000-30000" });
  const [one, other] = both.servers;
  const wrong = await one.call("POST", services, {
    metadata: { name: "UPPER" },
    spec: { type: "NodePort", ports: [{ port: 80 }] },
  });
  assert.equal(wrong.code, 422);
  const right = await other.call("POST", services, {
    metadata: { name: "lower" },
    spec: { type: "NodePort", ports: [{ port: 80 }] },
  });
  assert.equal(right.code, 201, right.text);
  assert.deepEqual((await both.store.list("/knarr/claims/")).entries, []);
});
