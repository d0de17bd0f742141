import assert from "node:assert/strict";
import { test } from "node:test";
import { Lease } from "#api/coordination/v1/lease.ts";
import { ApiError } from "#base/errors.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import type { Component } from "#base/supervise.ts";
import { Client } from "./client.ts";
import { Election, elected, fenced, LeadershipLost } from "./election.ts";
import { type ClientWorld, world } from "./testing.ts";

const lease = { namespace: "kube-system", name: "controllers" };

interface Candidate {
  readonly stop: AbortController;
  /** Why it ended, once it has. */
  readonly ended: Promise<unknown>;
  isCut: boolean;
}

/** Candidates for one lease, and who leads at each moment. */
function candidates(w: ClientWorld, seed = 1) {
  const leading = new Set<string>();
  let most = 0;
  const random = seededRandom(seed);
  const start = (identity: string): Candidate => {
    const stop = new AbortController();
    const cut = { isCut: false };
    const led: Component = {
      name: "led",
      run: (signal) =>
        new Promise((_, reject) => {
          leading.add(identity);
          most = Math.max(most, leading.size);
          signal.addEventListener("abort", () => {
            leading.delete(identity);
            reject(signal.reason);
          });
        }),
    };
    const client = new Client({
      user: { name: identity, groups: [] },
      userAgent: identity,
      signal: stop.signal,
      transport: async (request) => {
        if (cut.isCut) throw new ApiError({ code: 503, reason: "ServiceUnavailable", message: "cut off" });
        const response = await w.transport(request);
        // one answer in ten is lost after the fact
        if (random.below(10) === 0) throw new ApiError({ code: 503, reason: "ServiceUnavailable", message: "lost" });
        return response;
      },
    });
    const options = { client, clock: w.clock, random, log: silentLog, lease, identity };
    const ended = elected(led, options)
      .run(stop.signal)
      .then(
        () => undefined,
        (error: unknown) => error,
      );
    return Object.assign(cut, { stop, ended });
  };
  return { start, leading, most: () => most };
}

test("the first candidate leads, the others wait, and one follows soon after a release", async () => {
  const w = world();
  const { start, leading, most } = candidates(w);
  const a = start("a");
  await w.clock.advance(0);
  start("b");
  await w.clock.advance(60_000);
  assert.deepEqual([...leading], ["a"]);
  assert.equal(w.get(Lease, lease)?.spec.leaseTransitions, 0);
  a.stop.abort(new Error("stop"));
  await w.clock.advance(5000);
  assert.deepEqual([...leading], ["b"]);
  const { holderIdentity, leaseDurationSeconds, leaseTransitions } = w.get(Lease, lease)?.spec ?? {};
  assert.deepEqual([holderIdentity, leaseDurationSeconds, leaseTransitions], ["b", 15, 1]);
  assert.equal(most(), 1);
});

test("who begins and who ceases to lead is told, with the lease", async () => {
  const w = world();
  const told: string[] = [];
  const stop = new AbortController();
  const led: Component = {
    name: "led",
    run: (signal) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  };
  const { client, clock, random } = w;
  const onChange = ({ metadata }: Lease, what: string) => told.push(`${metadata.name} ${what}`);
  const running = elected(led, { client, clock, random, log: silentLog, lease, identity: "a", onChange }).run(
    stop.signal,
  );
  await w.clock.advance(100);
  assert.deepEqual(told, ["controllers became leader"]);
  stop.abort(new Error("stop"));
  await running;
  assert.deepEqual(told, ["controllers became leader", "controllers stopped leading"]);
});

test("a leader that is cut off stops before another begins", async () => {
  const w = world();
  const { start, leading, most } = candidates(w);
  const a = start("a");
  await w.clock.advance(100);
  start("b");
  await w.clock.advance(30_000);
  a.isCut = true;
  const changes: string[] = [];
  for (let second = 0; second < 30; second++) {
    await w.clock.advance(1000);
    const now = [...leading].join();
    if (now !== changes.at(-1)) changes.push(now);
  }
  assert.deepEqual(changes, ["a", "", "b"]);
  assert.equal(most(), 1);
  const error = await a.ended;
  assert.ok(error instanceof Error && error.cause instanceof LeadershipLost);
});

test("a leader survives errors that last less than its deadline, and a lease that is deleted", async () => {
  const w = world();
  const { start, leading } = candidates(w);
  const a = start("a");
  await w.clock.advance(10_000);
  a.isCut = true;
  await w.clock.advance(7000);
  a.isCut = false;
  await w.clock.advance(10_000);
  assert.deepEqual([...leading], ["a"]);
  w.lose(Lease, lease);
  await w.clock.advance(5000);
  assert.deepEqual([...leading], ["a"]);
  assert.equal(w.get(Lease, lease)?.spec.holderIdentity, "a");
});

test("never do two lead, whoever is cut off, stopped or started, and whatever the wall clock says", async () => {
  for (let seed = 1; seed <= 8; seed++) {
    const w = world();
    const random = seededRandom(seed);
    const { start, leading, most } = candidates(w, seed);
    const alive = new Map<string, Candidate>();
    let ledMoments = 0;
    for (let step = 0; step < 60; step++) {
      const identity = `c${random.below(4)}`;
      const one = alive.get(identity);
      const choice = random.below(4);
      if (!one) alive.set(identity, start(identity));
      else if (choice === 0) {
        one.stop.abort(new Error("stop"));
        alive.delete(identity);
      } else if (choice === 1) one.isCut = !one.isCut;
      else if (choice === 2) w.clock.jumpTo(w.clock.now() + (random.below(100) - 50) * 1000);
      for (const [name, { ended }] of alive) void ended.then(() => alive.delete(name));
      await w.clock.advance(random.below(20_000));
      if (leading.size === 1) ledMoments++;
    }
    assert.ok(most() <= 1, `seed ${seed}: ${most()} led at once`);
    assert.ok(ledMoments > 20, `seed ${seed}: someone led at ${ledMoments} of 60 moments`);
    for (const { stop } of alive.values()) stop.abort(new Error("over"));
  }
});

test("times that cannot work are refused", () => {
  const w = world();
  const options = { client: w.client, clock: w.clock, random: w.random, log: silentLog, lease, identity: "a" };
  assert.throws(
    () => new Election({ ...options, leaseMs: 5000 }),
    /the lease \(5000 ms\) must outlast the renew deadline/,
  );
});

test("election: a leader that was stopped for a while writes nothing after its time is over", async () => {
  const w = world();
  const options = { client: w.client, clock: w.clock, random: seededRandom(1), log: silentLog, lease, identity: "a" };
  const election = new Election(options);
  const write = fenced(w.transport, () => election.mayWrite);
  const client = new Client({
    transport: write,
    user: { name: "a", groups: [] },
    userAgent: "a",
    signal: w.client.signal,
  });
  const other = { metadata: { namespace: "kube-system", name: "other" } };
  await assert.rejects(client.create(Lease, other), LeadershipLost, "before it leads");
  await election.acquire(w.client.signal);
  await client.create(Lease, other);
  await w.clock.advance(10_000); // as if the whole process had stood still: nothing was renewed
  await assert.rejects(client.delete(Lease, other.metadata), LeadershipLost);
  assert.ok(await client.find(Lease, other.metadata), "but it may read");
});
