import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import { Compacted, type Entry, Unavailable, type WatchBatch } from "./engine.ts";
import { type ChangeHistory, WatchHub } from "./watch-hub.ts";

/** A history that a test moves on, breaks and mends. */
class FakeHistory implements ChangeHistory {
  at = 5;
  kept = 0;
  failure: Error | undefined;
  reads: number[] = [];

  newest() {
    return this.at;
  }
  oldest() {
    if (this.failure) throw this.failure;
    return this.kept;
  }
  read(_prefix: string, after: number): WatchBatch {
    this.reads.push(after);
    return { changes: [], revision: this.at };
  }
}

const put = (key: string, modified: number) => {
  const entry: Entry = { key, value: new Uint8Array(), created: modified, modified };
  return { type: "put", entry } as const;
};

test("a quiet watcher that is stirred has missed nothing, though history before it is gone", async () => {
  const history = new FakeHistory();
  const hub = new WatchHub(history, new ManualClock());
  const stop = new AbortController();
  const events = hub.watch("/quiet/", 5, stop.signal);
  assert.deepEqual((await events.next()).value, { changes: [], revision: 5 });
  const next = events.next();
  history.at = 10;
  hub.publish([put("/busy/a", 10)]);
  history.kept = 8;
  hub.stir();
  const change = put("/quiet/a", 11);
  await Promise.resolve();
  await Promise.resolve();
  history.at = 11;
  hub.publish([change]);
  assert.deepEqual((await next).value, { changes: [change], revision: 11 });
  assert.deepEqual(history.reads, [], "nothing had to be read again");
  stop.abort();
  await events.return(undefined);
});

test("a watcher that is stirred because history broke off is told why", async () => {
  const history = new FakeHistory();
  const hub = new WatchHub(history, new ManualClock());
  const events = hub.watch("/", 5, new AbortController().signal);
  await events.next();
  const next = events.next();
  history.failure = new Unavailable("etcd is gone");
  hub.stir();
  await assert.rejects(next, Unavailable);
});

test("a watcher that reads too slowly for what is kept is told so", async () => {
  const history = new FakeHistory();
  const hub = new WatchHub(history, new ManualClock());
  const events = hub.watch("/", 5, new AbortController().signal);
  await events.next();
  history.at = 20;
  history.kept = 12;
  await assert.rejects(events.next(), Compacted);
});
