// Three API servers on three members of an etcd, under writers that take whichever server answers. Each of the six is killed in turn and comes
// back; what was acknowledged is there, on every server, and nothing was written twice.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { systemClock } from "#base/clock.ts";
import { isReason } from "#base/errors.ts";
import { type Connection, connectClient } from "#client/host/connect.ts";
import { noEtcd, startEtcd } from "#store/testing/etcd.ts";
import { ServerProcess } from "./harness.ts";

const namespace = "default";
const rounds = Number(process.env.KNARR_ROUNDS ?? 2);
const writers = 3;

const connect = ({ kubeconfig }: ServerProcess): Promise<Connection> =>
  connectClient({
    explicit: kubeconfig,
    env: {},
    userAgent: "test/1",
    clock: systemClock,
    signal: new AbortController().signal,
  });

/** Goes on to the next server when one does not answer, as a client with several endpoints does. */
async function write(connections: readonly Connection[], first: number, name: string): Promise<void> {
  for (let i = first; ; i++) {
    const { client } = connections[i % connections.length] as Connection;
    try {
      await client.bound({ signal: AbortSignal.timeout(10_000) }).create(ConfigMap, { metadata: { namespace, name } });
      return;
    } catch (error) {
      if (isReason(error, "AlreadyExists")) return; // it was written, and the answer was lost
      await pause(50);
    }
  }
}

test("of three API servers on three etcd members each is killed in turn, and no acknowledged write is lost", {
  skip: noEtcd,
}, async (t) => {
  const etcd = await startEtcd({ members: 3 });
  t.after(() => etcd.stop());
  const flags = [`--etcd-servers=${etcd.endpoints.join(",")}`];
  await using one = await ServerProcess.start({ flags });
  await using two = await ServerProcess.start({ flags });
  await using three = await ServerProcess.start({ flags });
  const servers = [one, two, three];
  const connections = await Promise.all(servers.map(connect));
  const acknowledged: string[] = [];
  let isOver = false;
  const writing = Array.from({ length: writers }, async (_, writer) => {
    for (let i = 0; !isOver; i++) {
      const name = `w${writer}-${i}`;
      await write(connections, writer, name);
      acknowledged.push(name);
    }
  });
  const progress = async () => {
    const before = acknowledged.length;
    while (acknowledged.length < before + 30) await pause(20);
  };
  for (let round = 0; round < rounds; round++) {
    for (const server of servers) {
      await progress();
      await server.kill("SIGKILL");
      await progress();
      await server.start();
    }
    for (const member of etcd.members) {
      await progress();
      await member.kill();
      await progress();
      await member.start();
    }
  }
  isOver = true;
  await Promise.all(writing);
  for (const { client } of connections) {
    const { items } = await client.list(ConfigMap, { namespace });
    const present = new Set(items.map(({ metadata }) => metadata.name));
    assert.deepEqual(
      acknowledged.filter((name) => !present.has(name)),
      [],
    );
  }
  assert.equal(new Set(acknowledged).size, acknowledged.length);
  t.diagnostic(`${acknowledged.length} writes were acknowledged, ${6 * rounds} processes killed`);
  for (const { close } of connections) close();
});
