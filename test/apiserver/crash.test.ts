// A server killed under load: what it acknowledged is there when it is started again, and clients find their way back.
import assert from "node:assert/strict";
import { test } from "node:test";
import { CoreV1Api } from "@kubernetes/client-node";
import { ServerProcess } from "./harness.ts";
import { configFrom, InformedMaps } from "./informed.ts";

const KILLS = 3;
const WRITERS = 16;
const WRITES_BEFORE_KILL = 200;

test(`a server killed ${KILLS} times under ${WRITERS} writers keeps what it acknowledged`, async () => {
  await using server = await ServerProcess.start({ store: "embedded" });
  const config = configFrom(server.kubeconfig);
  const core = config.makeApiClient(CoreV1Api);
  await using informed = new InformedMaps(config);
  await informed.start();
  const acknowledged = new Set<string>();

  for (let round = 0; round < KILLS; round++) {
    const enough = Promise.withResolvers<void>();
    const before = acknowledged.size;
    const writer = async (id: number) => {
      for (let i = 0; ; i++) {
        const name = `w-${round}-${id}-${i}`;
        try {
          await core.createNamespacedConfigMap({
            namespace: "default",
            body: { metadata: { name }, data: { n: name } },
          });
        } catch {
          return; // killed: whether this one was written is not known, and nothing may depend on it
        }
        acknowledged.add(name);
        if (acknowledged.size - before >= WRITES_BEFORE_KILL) enough.resolve();
      }
    };
    const writers = Array.from({ length: WRITERS }, (_, id) => writer(id));
    await Promise.race([enough.promise, Promise.all(writers)]);
    await server.kill("SIGKILL");
    await Promise.all(writers);
    await server.start();

    const { items } = await core.listNamespacedConfigMap({ namespace: "default" });
    const found = new Map(items.map(({ metadata, data }) => [metadata?.name, data?.n]));
    const lost = [...acknowledged].filter((name) => found.get(name) !== name);
    assert.deepEqual(lost, [], `lost after kill ${round + 1}`);
    assert.ok(acknowledged.size - before >= WRITES_BEFORE_KILL, "the server ended before it was killed");
  }

  await informed.until((cache) => {
    const names = new Set(cache.map(({ metadata }) => metadata?.name));
    return [...acknowledged].every((name) => names.has(name));
  });
  const added = informed.events.filter((event) => event.startsWith("add ") && event.includes(" w-"));
  assert.equal(new Set(added).size, added.length, "an object was added twice");
});
