// The parts of fairness that are plain arithmetic.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Histogram } from "#base/metrics.ts";
import { seededRandom } from "#base/random.ts";
import { allocateSeats } from "./allocation.ts";
import { deal, flowHash } from "./dealer.ts";
import { DemandIntegral, demandAfter, noDemand } from "./demand.ts";
import { DroppedRequests } from "./dropped-requests.ts";
import { TimedRatio } from "./timed-ratio.ts";
import { WatchCounts } from "./watch-counts.ts";
import { estimateList, estimateWrite, oneSeat } from "./work-estimate.ts";

test("a hand is dealt from a deck without putting cards back", () => {
  fc.assert(
    fc.property(
      fc.bigInt(0n, 2n ** 60n),
      fc.integer({ min: 1, max: 128 }),
      fc.integer({ min: 1, max: 8 }),
      (hash, deck, hand) => {
        const cards = Array.from({ length: deck }, (_, i) => i);
        const expected: number[] = [];
        let entropy = hash;
        for (let i = 0; i < Math.min(hand, deck); i++) {
          const digit = Number(entropy % BigInt(cards.length));
          entropy /= BigInt(cards.length);
          expected.push(...cards.splice(digit, 1));
        }
        assert.deepEqual(deal(hash, deck, Math.min(hand, deck)), expected);
      },
    ),
  );
});

test("the queues of a flow are all taken by heavy ones as seldom as chance has it", () => {
  const random = seededRandom(7);
  const hash = () => flowHash("test", random.uuid());
  const rounds = 3000;
  for (const heavy of [1, 4, 16]) {
    let squashed = 0;
    for (let round = 0; round < rounds; round++) {
      const taken = new Set(Array.from({ length: heavy }, () => deal(hash(), 64, 6)).flat());
      if (deal(hash(), 64, 6).every((card) => taken.has(card))) squashed++;
    }
    const expected = (1 - (1 - 6 / 64) ** heavy) ** 6;
    assert.ok(Math.abs(squashed / rounds - expected) < 0.03, `${heavy}: ${squashed / rounds}, not ${expected}`);
  }
});

test("equal flows have equal hashes on every server", () => {
  assert.equal(
    flowHash("service-accounts", "system:serviceaccount:a:b"),
    flowHash("service-accounts", "system:serviceaccount:a:b"),
  );
  assert.notEqual(flowHash("a", "bc"), flowHash("ab", "c"));
});

test("seats are divided in proportion to what each could use, within its bounds, and all are given out", () => {
  assert.deepEqual(
    allocateSeats(100, [
      { target: 10, lower: 0, upper: 100 },
      { target: 30, lower: 0, upper: 100 },
    ])?.seats,
    [25, 75],
  );
  const bounded = allocateSeats(100, [
    { target: 10, lower: 5, upper: 12 },
    { target: 90, lower: 60, upper: 60 },
    { target: 20, lower: 0, upper: 100 },
  ]);
  assert.deepEqual(bounded?.seats, [12, 60, 28]);
  assert.equal(allocateSeats(10, [{ target: 20, lower: 20, upper: 30 }]), undefined);
  const claim = fc
    .record({
      lower: fc.integer({ min: 0, max: 50 }),
      more: fc.integer({ min: 0, max: 50 }),
      wish: fc.integer({ min: 0, max: 200 }),
    })
    .map(({ lower, more, wish }) => ({ lower, upper: lower + more, target: lower + wish }));
  fc.assert(
    fc.property(
      fc.array(claim, { minLength: 1, maxLength: 8 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (claims, part) => {
        const least = claims.reduce((sum, { lower }) => sum + lower, 0);
        const most = claims.reduce((sum, { upper }) => sum + upper, 0);
        const total = Math.round(least + (most - least) * part);
        const { seats, share } = allocateSeats(total, claims) ?? assert.fail("there is a way");
        assert.ok(Math.abs(seats.reduce((a, b) => a + b, 0) - total) < 1e-3);
        for (const [i, { lower, upper, target }] of claims.entries()) {
          const seat = seats[i] ?? Number.NaN;
          assert.ok(seat >= lower - 1e-6 && seat <= upper + 1e-6);
          const fair = Math.max(target, 0.001) * share;
          assert.ok(Math.abs(seat - Math.max(lower, Math.min(upper, fair))) < 1e-3 || total === 0);
        }
      },
    ),
  );
});

test("demand follows a rise at once and a fall slowly", () => {
  const integral = new DemandIntegral(0);
  integral.set(10, 0);
  integral.set(30, 5000);
  const busy = demandAfter(noDemand, integral.take(10_000));
  assert.deepEqual([busy.most, busy.average, busy.deviation, busy.smoothed], [30, 20, 10, 30]);
  integral.set(0, 10_000);
  let stats = demandAfter(busy, integral.take(20_000));
  assert.equal(stats.most, 30, "it began the period with as many");
  for (let i = 0; i < 30; i++) stats = demandAfter(stats, integral.take(30_000 + i * 10_000));
  assert.ok(Math.abs(stats.smoothed - 15) < 1, "half is left after five minutes");
});

test("clients are told to stay away longer while many are rejected, and less long later", () => {
  const dropped = new DroppedRequests();
  const second = (at: number, count: number) => {
    for (let i = 0; i < count; i++) dropped.note(at * 1000);
  };
  assert.equal(dropped.retryAfter, 1);
  second(100, 5);
  second(101, 5);
  assert.equal(dropped.retryAfter, 2);
  for (let at = 102; at < 300; at++) second(at, 100);
  assert.equal(dropped.retryAfter, 32);
  for (let at = 400; at < 2000; at += 40) second(at, 1);
  assert.equal(dropped.retryAfter, 1);
});

const list = { limit: 0, hasSelector: false, isNamed: false, isFromMemory: true };
const pods = { count: 5000, averageBytes: 2400 };

test("lists take seats by what they read", () => {
  const seats = (facts: Partial<Parameters<typeof estimateList>[0]>, most = 0) =>
    estimateList({ ...list, stats: pods, ...facts }, most).initialSeats;
  assert.equal(seats({}), 10, "from memory, no more than a megabyte is held at once");
  assert.equal(seats({ isFromMemory: false }), 100);
  assert.equal(seats({ isFromMemory: false }, 8), 8, "a level lets no request take so much of it");
  assert.equal(seats({ limit: 100 }), 3);
  assert.equal(seats({ isFromMemory: false, limit: 100, hasSelector: true }), 60);
  assert.equal(seats({ isNamed: true }), 1);
  assert.equal(seats({ stats: { count: 0, averageBytes: 0 } }), 1);
  assert.equal(estimateList({ ...list, stats: undefined }, 0), oneSeat);
});

test("writes take seats for a while by how many watch", () => {
  assert.equal(estimateWrite(9, 0), oneSeat);
  assert.deepEqual(estimateWrite(50, 0), { initialSeats: 1, finalSeats: 5, additionalMs: 5 });
  assert.deepEqual(estimateWrite(1000, 0), { initialSeats: 1, finalSeats: 10, additionalMs: 50 });
  assert.deepEqual(estimateWrite(100, 2), { initialSeats: 1, finalSeats: 2, additionalMs: 25 });
});

test("watches are counted that may hear of a write", () => {
  const watches = new WatchCounts();
  const at = (namespace?: string, name?: string) => ({ group: "", version: "v1", resource: "pods", namespace, name });
  const ends = [
    watches.begin(at(), ""),
    watches.begin(at("a"), ""),
    watches.begin(at("b"), ""),
    watches.begin(at("a"), "metadata.name=web"),
    watches.begin(at(), "spec.nodeName=n1"),
  ];
  assert.deepEqual(
    [watches.interestedIn(at("a", "web")), watches.interestedIn(at("a", "db")), watches.interestedIn(at("c"))],
    [3, 2, 1],
  );
  for (const end of ends) end();
  assert.equal(watches.interestedIn(at("a", "web")), 0);
});

test("a number over time is counted by how long it was so much, also when its limit changes", () => {
  const histogram = new Histogram([0, 0.5, 1]);
  const ratio = new TimedRatio(histogram, 100);
  ratio.set(1, 102); // 2 ms of 0 of 1
  ratio.set(2, 102.5); // half of 1 of 1
  ratio.setLimit(4, 103.5); // 1 ms of 2 of 1
  ratio.set(0, 104.5); // 1 ms of 2 of 4
  ratio.advance(105.5); // 1 ms of 0
  const { upTo, sum } = histogram.read();
  assert.deepEqual(
    upTo.map(([, nanoseconds]) => nanoseconds / 1e6),
    [3, 4, 4.5, 5.5],
  );
  assert.equal(sum / 1e6, 0.5 + 2 + 0.5);
});
