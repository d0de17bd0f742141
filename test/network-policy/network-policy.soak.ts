// The long runs of network policies: random ones with real connections, and long histories against the kernel.
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "#base/random.ts";
import { impossible, PodNetwork, runIn } from "./kernel.ts";
import { followHistory } from "./kernel-history.ts";
import { isAllowed } from "./model.ts";
import { nodes, randomWorld, tableFor } from "./worlds.ts";

const { signal } = new AbortController();

test("random policies let through what the documentation allows, with real connections", {
  skip: impossible,
}, async () => {
  const addresses = Array.from({ length: 7 }, (_, i) => [
    `10.244.${(i % 2) + 1}.${i + 1}`,
    `fd00:244:${(i % 2) + 1}::${i + 1}`,
  ]);
  const everybody = [...addresses.flat(), "192.0.2.7", "fd00:99::7"];
  await using network = await PodNetwork.make(everybody, [80, 81]);
  for (let seed = 1; seed <= 150; seed++) {
    const world = randomWorld(seededRandom(seed));
    for (const node of nodes)
      await runIn(network.nodes[node])(["nft", "-f", "-"], { input: tableFor(world, node).rewrite(), signal });
    const probes = everybody.flatMap((from) =>
      everybody
        .filter((to) => from.includes(":") === to.includes(":"))
        .flatMap((to) =>
          [80, 81].flatMap((port) =>
            (["TCP", "UDP"] as const).map((protocol) => {
              const connection = { from, to, protocol, port };
              return { ...connection, isExpected: isAllowed(world, connection) };
            }),
          ),
        ),
    );
    const answered = await network.round(probes);
    const wrong = probes.filter(({ isExpected }, i) => isExpected !== answered[i]);
    assert.deepEqual(wrong, [], `seed ${seed}`);
  }
});

test("after each step of long histories the kernel's rules are those that its objects give", {
  skip: impossible,
}, async () => {
  for (let seed = 100; seed < 110; seed++) await followHistory(seededRandom(seed), 300);
});
