import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "#base/errors.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { Client } from "#client/client.ts";
import { world } from "#client/testing.ts";
import { electedPart } from "./elected-part.ts";

test("a part that loses its lease stops, may not write, and is made anew when it leads again", async () => {
  const w = world();
  const stop = new AbortController();
  let isCut = false;
  const client = new Client({
    user: { name: "a", groups: [] },
    userAgent: "a",
    signal: stop.signal,
    transport: async (request) => {
      if (isCut) throw new ApiError({ code: 503, reason: "ServiceUnavailable", message: "cut off" });
      return w.transport(request);
    },
  });
  const terms: { readonly mayWrite: () => boolean; hasEnded: boolean }[] = [];
  const part = electedPart({
    name: "kube-scheduler",
    identity: "a",
    client,
    clock: w.clock,
    random: seededRandom(1),
    log: silentLog,
    make(mayWrite) {
      const term = { mayWrite, hasEnded: false };
      terms.push(term);
      const run = (signal: AbortSignal) =>
        new Promise<void>((_, reject) => {
          signal.addEventListener("abort", () => {
            term.hasEnded = true;
            reject(signal.reason);
          });
        });
      return [{ name: "part", run }];
    },
  });
  const ended = part.run(stop.signal).catch((error: unknown) => error);
  await w.clock.advance(5_000);
  assert.deepEqual([terms.length, terms[0]?.mayWrite()], [1, true]);
  isCut = true;
  await w.clock.advance(30_000);
  assert.deepEqual([terms.length, terms[0]?.mayWrite(), terms[0]?.hasEnded], [1, false, true]);
  isCut = false;
  await w.clock.advance(30_000);
  assert.deepEqual([terms.length, terms[1]?.mayWrite(), terms[0]?.mayWrite()], [2, true, false]);
  stop.abort(new Error("over"));
  await w.clock.advance(1_000);
  assert.match(String(await ended), /over/);
});
