// No request keeps the event loop for long, whatever is sent.
import assert from "node:assert/strict";
import { admissionOf } from "#apiserver/admission/configuration.ts";
import { testServer } from "#apiserver/testing.ts";
import { systemClock } from "#base/clock.ts";
import { seededRandom } from "#base/random.ts";
import type { AnyKind } from "#schema/kind.ts";
import { yamlThread } from "#wire/host/yaml-thread.ts";
import { LargeRequests } from "./large-requests.ts";
import { leastLongestTurn, slowness } from "./turns.ts";

const limitMs = 50;
const runs = 5;

/** Draws so many requests, and fails if one of them takes a turn of the event loop that is longer than it may be. Answers the longest. */
export async function watchLoop(count: number, seed: number, kinds?: (kind: AnyKind) => boolean): Promise<string> {
  await using server = await testServer({
    admission: admissionOf({ disable: ["ServiceAccount"] }),
    protect: (object) => object,
    readYaml: yamlThread(systemClock),
  });
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "default" } });
  const quota = { metadata: { name: "many" }, spec: { hard: { pods: "100000", "count/configmaps": "100000" } } };
  await server.call("POST", "/api/v1/namespaces/default/resourcequotas", quota);
  const requests = new LargeRequests(server, seededRandom(seed), kinds);
  const codes: Record<number, number> = {};
  const found: { readonly ms: number; readonly name: string }[] = [];
  for (let i = 0; i < count; i++) {
    const request = requests.next();
    await request.prepare?.();
    let code = 0;
    const measured = await leastLongestTurn(
      async () => {
        code = await request.run();
      },
      limitMs,
      runs,
    );
    const ms = measured > limitMs ? measured / slowness() : measured;
    found.push({ ms, name: `${code} ${request.name}` });
    codes[code] = (codes[code] ?? 0) + 1;
  }
  found.sort((a, b) => b.ms - a.ms);
  const shown = found.slice(0, 10).map(({ ms, name }) => `${ms.toFixed()} ms: ${name}`);
  assert.deepEqual(
    found.filter(({ ms }) => ms > limitMs).map(({ ms, name }) => `${ms.toFixed()} ms: ${name}`),
    [],
    "turns of the event loop that are too long",
  );
  return `${JSON.stringify(codes)}\n${shown.join("\n")}`;
}
