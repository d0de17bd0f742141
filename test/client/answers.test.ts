// Our client against a server in a process of its own: answers arrive whole or in parts, as the machine likes it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { systemClock } from "#base/clock.ts";
import { connectClient } from "#client/host/connect.ts";
import { ServerProcess } from "../apiserver/harness.ts";

test("no answer is lost, however it arrives", async () => {
  await using server = await ServerProcess.start();
  const { client, close } = await connectClient({
    explicit: server.kubeconfig,
    env: {},
    userAgent: "test/1",
    clock: systemClock,
    signal: AbortSignal.timeout(120_000),
  });
  let made = 0;
  const lane = async () => {
    while (made < 3_000) {
      const name = `c${made++}`;
      const { metadata } = await client.create(ConfigMap, { metadata: { namespace: "default", name } });
      assert.equal(metadata.name, name);
      await client.update(ConfigMap, { ...(await client.get(ConfigMap, metadata)), data: { a: "b" } });
    }
  };
  await Promise.all(Array.from({ length: 32 }, lane));
  close();
});
