import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import { createLog } from "#base/log.ts";
import { MetricRegistry } from "#base/metrics.ts";
import { unauthorized } from "#wire/status.ts";
import { GuessLimiter, guessBurst, guessMs } from "./guess-limiter.ts";

/** A limiter in front of one who knows "right" alone; and how often that one was asked. */
function world() {
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  const lines: string[] = [];
  const metrics = new MetricRegistry();
  const limiter = new GuessLimiter({ clock, metrics, log: createLog({ clock, write: (line) => lines.push(line) }) });
  let checks = 0;
  const show = async (address: string, credential: string): Promise<number> => {
    try {
      return await limiter.check(address, credential, async () => {
        checks++;
        await Promise.resolve();
        if (!credential.startsWith("right")) throw unauthorized();
        return 200;
      });
    } catch (error) {
      return (error as { readonly code: number }).code;
    }
  };
  const guess = (address: string, count: number) =>
    Promise.all(Array.from({ length: count }, (_, i) => show(address, `wrong-${clock.elapsed()}-${i}`)));
  return { clock, lines, metrics, show, guess, checks: () => checks };
}

const codes = (answers: readonly number[]) =>
  Object.fromEntries([...Map.groupBy(answers, String)].map(([code, all]) => [code, all.length]));

test("of one address so many wrong credentials are checked at once, then one a second, and it is told once", async () => {
  const { clock, lines, metrics, guess, checks } = world();
  assert.deepEqual(codes(await guess("10.0.0.1", 1000)), { 401: guessBurst, 429: 1000 - guessBurst });
  await clock.advance(3 * guessMs);
  assert.deepEqual(codes(await guess("10.0.0.1", 50)), { 401: 3, 429: 47 });
  assert.equal(checks(), guessBurst + 3);
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? "", /somebody guesses tokens or passwords.*10\.0\.0\.1/);
  assert.match(await metrics.text(), /knarr_refused_credentials_total\{checked="false"\} 947/);
  await clock.advance(guessBurst * guessMs);
  await guess("10.0.0.1", guessBurst + 1);
  assert.equal(lines.length, 2, "another burst is told again");
});

test("a right credential is taken from elsewhere at once, from the guesser's address when one may be checked, and from then on always", async () => {
  const { clock, show, guess } = world();
  assert.equal(await show("10.0.0.1", "right before"), 200);
  await guess("10.0.0.1", guessBurst);
  assert.equal(await show("10.0.0.2", "right elsewhere"), 200);
  assert.equal(await show("10.0.0.1", "right before"), 200);
  assert.equal(await show("10.0.0.1", "right and new"), 429);
  await clock.advance(guessMs);
  assert.equal(await show("10.0.0.1", "right and new"), 200);
  await guess("10.0.0.1", 5);
  assert.equal(await show("10.0.0.1", "right and new"), 200);
});

test("many right credentials at once wait for each other, and are not refused", async () => {
  const { show } = world();
  const answers = await Promise.all(Array.from({ length: 1000 }, (_, i) => show("10.0.0.1", `right ${i}`)));
  assert.deepEqual(codes(answers), { 200: 1000 });
});

test("one wrong credential that comes again and again is no guess", async () => {
  const { show, guess } = world();
  for (let i = 0; i < 500; i++) assert.equal(await show("10.0.0.1", "expired"), 401);
  assert.deepEqual(codes(await guess("10.0.0.1", guessBurst)), { 401: guessBurst - 1, 429: 1 });
});

test("a network of IPv6 is one address, and an address of IPv4 is itself in either form", async () => {
  const { show, guess } = world();
  await guess("2001:db8:0:7::1", guessBurst);
  assert.equal(await show("2001:db8:0:7:ffff::2", "wrong"), 429);
  assert.equal(await show("2001:db8:0:8::1", "wrong"), 401);
  await guess("::ffff:10.0.0.1", guessBurst);
  assert.equal(await show("10.0.0.1", "wrong"), 429);
});
