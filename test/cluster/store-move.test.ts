// The state of a cluster goes from its embedded store to an etcd while it is in use.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { systemClock } from "#base/clock.ts";
import { isReason } from "#base/errors.ts";
import { silentLog } from "#base/log.ts";
import { systemRandom } from "#base/random.ts";
import { connectClient } from "#client/host/connect.ts";
import { Informers } from "#client/informers.ts";
import { noEtcd } from "#store/testing/etcd.ts";
import { Machine } from "./machine.ts";

test("a cluster moves to etcd with writers at work: nothing that was acknowledged is lost, and informers end equal to a list", {
  skip: noEtcd,
}, async (t) => {
  await using machine = new Machine();
  await machine.ok("up", "--runtime=simulated", "--port=0");
  const over = new AbortController();
  const explicit = join(machine.clusters, "knarr", "pki", "admin.kubeconfig");
  const parts = { clock: systemClock, random: systemRandom, log: silentLog };
  const { client, close } = await connectClient({
    explicit,
    env: {},
    userAgent: "test/1",
    ...parts,
    signal: over.signal,
  });
  const informers = new Informers({ ...parts, client });
  const { cache } = informers.of(ConfigMap);
  const informed = informers.run(over.signal).catch(() => undefined);
  let isOver = false;
  t.after(async () => {
    isOver = true;
    over.abort(new Error("over"));
    await informed;
    close();
  });
  const namespace = "default";
  await machine.kubectl("create", "secret", "generic", "s", "--from-literal=word=kept");

  const acknowledged = new Map<string, number>();
  /** Makes an object and counts in it, as fast as the server lets it. */
  const write = async (writer: number): Promise<void> => {
    const name = `w${writer}`;
    for (let count = 0; !isOver; ) {
      try {
        const data = { count: String(count) };
        if (count === 0) await client.create(ConfigMap, { metadata: { namespace, name }, data });
        else await client.patch(ConfigMap, { namespace, name }, "merge", { data });
        acknowledged.set(name, count);
        count++;
      } catch (error) {
        if (count === 0 && isReason(error, "AlreadyExists")) count++;
        else await pause(20); // the API is away for a while: asked again
      }
    }
  };
  const writing = [0, 1, 2].map(write);
  const progress = async () => {
    const before = acknowledged.get("w0") ?? 0;
    while ((acknowledged.get("w0") ?? 0) < before + 20) await pause(20);
  };
  await progress();
  const said = await machine.ok("store", "move", "--to=etcd");
  assert.match(said, /The state of cluster "knarr" is in etcd now: \d+ keys; nothing could be written for \d+\.\d s\./);
  await progress();
  isOver = true;
  await Promise.all(writing);

  const { items } = await client.list(ConfigMap, { namespace });
  for (const [name, count] of acknowledged)
    assert.equal(items.find((item) => item.metadata.name === name)?.data?.count, String(count), name);
  const text = (all: readonly ConfigMap[]) =>
    all
      .filter(({ metadata }) => metadata.namespace === namespace)
      .map(({ metadata, data }) => `${metadata.name} ${metadata.resourceVersion} ${data?.count}`)
      .toSorted()
      .join("\n");
  for (const end = performance.now() + 60_000; text(cache.list()) !== text(items); await pause(50))
    assert.ok(
      performance.now() < end,
      `the informer ends equal to the list: ${text(cache.list())}, not ${text(items)}`,
    );

  assert.match(await machine.ok("status"), /^store\s+etcd$/m);
  assert.match(await machine.kubectl("get", "secret", "s", "-o", "jsonpath={.data.word}"), /a2VwdA==/);
  assert.match((await machine.knarr("store", "move", "--to=etcd")).err, /is in etcd already/);
});
