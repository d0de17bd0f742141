// What engine.ts says in words, as tests. Every engine runs all of them, unchanged.
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import {
  type Change,
  Compacted,
  Conflict,
  type Entry,
  FutureRevision,
  type StoreEngine,
  Unavailable,
} from "./engine.ts";
import { follow } from "./testing.ts";

/** A fresh, empty store for one test. */
export interface EngineUnderTest {
  readonly engine: StoreEngine;
  /** Lets time pass for the store: moves its clock, or waits. */
  pass(seconds: number): Promise<void>;
  /** Whether `pass` moves a clock by exactly that time, so that "not yet" can be tested. */
  readonly exactTime: boolean;
  /** Closes the store and opens it again; absent where nothing is kept. */
  reopen?(): Promise<StoreEngine>;
  /** Removes what the test made, after the engine was closed. */
  end?(): Promise<void>;
}

const text = (value: string) => new TextEncoder().encode(value);
const read = (entry: Entry | undefined) => entry && new TextDecoder().decode(entry.value);
const keysOf = (entries: readonly Entry[]) => entries.map(({ key }) => key);
const never = new AbortController().signal;

/** A change in a line: `+ /a@5=x (was 3)`. */
const show = ({ type, entry, previous }: Change) =>
  `${type === "put" ? "+" : "-"} ${entry.key}@${entry.modified}=${read(entry)}${previous ? ` (was ${previous.modified}=${read(previous)})` : ""}`;

export function engineSuite(name: string, open: () => Promise<EngineUnderTest>): void {
  const check = (title: string, body: (under: EngineUnderTest, t: TestContext) => Promise<void>) =>
    test(title, { timeout: 120_000 }, async (t) => {
      const { reopen, ...under } = await open();
      let { engine } = under;
      t.after(async () => {
        await engine.close();
        await under.end?.();
      });
      const reopenAndRemember = async () => (engine = (await reopen?.()) ?? engine);
      await body({ ...under, ...(reopen && { reopen: reopenAndRemember }) }, t);
    });

  describe(`${name}: reading and writing`, () => {
    check("a fresh store is empty, and its revision is not 0", async ({ engine }) => {
      assert.ok((await engine.revision()) >= 1);
      assert.equal(await engine.get("/a"), undefined);
      const page = await engine.list("");
      assert.deepEqual(page, { entries: [], revision: await engine.revision(), remaining: 0 });
    });

    check("put creates what does not exist, and get gives it back", async ({ engine }) => {
      const before = await engine.revision();
      const entry = await engine.put("/a", text("1"), 0);
      assert.ok(entry.modified > before);
      assert.equal(entry.created, entry.modified);
      assert.equal(entry.key, "/a");
      assert.equal(read(entry), "1");
      const found = await engine.get("/a");
      assert.equal(read(found), "1");
      assert.deepEqual([found?.key, found?.created, found?.modified], ["/a", entry.created, entry.modified]);
      assert.equal(await engine.revision(), entry.modified);
    });

    check("an update keeps the revision of creation and gets a greater one of modification", async ({ engine }) => {
      const first = await engine.put("/a", text("1"), 0);
      const second = await engine.put("/a", text("2"), first.modified);
      assert.equal(second.created, first.created);
      assert.ok(second.modified > first.modified);
      assert.equal(read(await engine.get("/a")), "2");
    });

    check("a put that expects absence conflicts with what is there, and says what", async ({ engine }) => {
      const first = await engine.put("/a", text("1"), 0);
      await assert.rejects(engine.put("/a", text("2"), 0), (error) => {
        assert.ok(error instanceof Conflict);
        assert.equal(error.key, "/a");
        assert.equal(read(error.present), "1");
        assert.equal(error.present?.modified, first.modified);
        assert.equal(error.present?.created, first.created);
        return true;
      });
      assert.equal(read(await engine.get("/a")), "1");
    });

    check("a put or delete that expects another revision conflicts, and nothing changes", async ({ engine }) => {
      const first = await engine.put("/a", text("1"), 0);
      const second = await engine.put("/a", text("2"), first.modified);
      for (const attempt of [
        () => engine.put("/a", text("3"), first.modified),
        () => engine.put("/a", text("3"), second.modified + 1),
        () => engine.delete("/a", first.modified),
        () => engine.delete("/a", 0),
      ])
        await assert.rejects(attempt(), (error) => error instanceof Conflict && read(error.present) === "2");
      assert.equal(await engine.revision(), second.modified);
      assert.equal(read(await engine.get("/a")), "2");
    });

    check("a write that has begun has its revision, and can be built on before it is durable", async ({ engine }) => {
      if (!engine.begin) return;
      const before = await engine.revision();
      const first = engine.begin("/a", text("1"), 0);
      if (!first) return; // it may always decline
      assert.ok(first.entry.modified > before);
      assert.equal(first.entry.created, first.entry.modified);
      const second = engine.begin("/a", text("2"), first.entry.modified);
      const third = engine.put("/a", text("3"), (second ?? first).entry.modified);
      if (second) {
        assert.ok(second.entry.modified > first.entry.modified);
        assert.equal(second.entry.created, first.entry.created);
      }
      await Promise.all([first.durable, second?.durable]);
      const last = await third;
      assert.equal(last.created, first.entry.created);
      assert.equal(read(await engine.get("/a")), "3");
      const events: string[] = [];
      for await (const { changes } of engine.watch("/a", before, never)) {
        events.push(...changes.map(show));
        if (events.length >= (second ? 3 : 2)) break;
      }
      assert.equal(events[0], `+ /a@${first.entry.modified}=1`);
      assert.equal(events.at(-1)?.startsWith(`+ /a@${last.modified}=3`), true);
    });

    check("a write that begins on the wrong revision conflicts, and nothing changes", async ({ engine }) => {
      if (!engine.begin) return;
      const there = await engine.put("/a", text("1"), 0);
      const outcome = async (expected: number): Promise<unknown> => {
        const begun = engine.begin?.("/a", text("x"), expected);
        await begun?.durable;
        return begun;
      };
      for (const expected of [0, there.modified + 1, there.modified - 1])
        await outcome(expected).then(
          (begun) => assert.equal(begun, undefined),
          (error) => assert.ok(error instanceof Conflict && read(error.present) === "1", String(error)),
        );
      assert.equal(read(await engine.get("/a")), "1");
      assert.equal(await engine.revision(), there.modified);
    });

    check("a write that has begun is seen by readers as soon as it is durable, and not lost", async (under) => {
      const { engine, reopen } = under;
      if (!engine.begin) return;
      const begun = engine.begin("/a", text("1"), 0);
      if (!begun) return;
      await begun.durable;
      assert.equal(read(await engine.get("/a")), "1");
      assert.equal(await engine.revision(), begun.entry.modified);
      const again = await reopen?.();
      if (again) assert.equal(read(await again.get("/a")), "1");
    });

    check("writes to an absent key conflict, with nothing present", async ({ engine }) => {
      const isAbsent = (error: unknown) => error instanceof Conflict && error.present === undefined;
      const before = await engine.revision();
      await assert.rejects(engine.put("/a", text("1"), before), isAbsent);
      await assert.rejects(engine.delete("/a", before), isAbsent);
      await assert.rejects(engine.delete("/a", 0), isAbsent);
      assert.equal(await engine.revision(), before);
    });

    check("a deleted key is absent, and made anew it has a new revision of creation", async ({ engine }) => {
      const first = await engine.put("/a", text("1"), 0);
      const deleted = await engine.delete("/a", first.modified);
      assert.ok(deleted > first.modified);
      assert.equal(await engine.get("/a"), undefined);
      assert.equal(await engine.revision(), deleted);
      await assert.rejects(engine.delete("/a", first.modified), Conflict);
      const again = await engine.put("/a", text("2"), 0);
      assert.ok(again.modified > deleted);
      assert.equal(again.created, again.modified);
    });

    check("values may be empty, a mebibyte long, and hold any byte", async ({ engine }) => {
      const large = Uint8Array.from({ length: 1 << 20 }, (_, i) => (i * 31 + (i >> 8)) & 0xff);
      const values = { "/empty": new Uint8Array(), "/large": large, "/bytes": Uint8Array.of(0, 255, 0, 10, 13) };
      for (const [key, value] of Object.entries(values)) await engine.put(key, value, 0);
      for (const [key, value] of Object.entries(values)) {
        const found = await engine.get(key);
        assert.ok(found && Buffer.from(found.value).equals(value), key);
      }
      const { entries } = await engine.list("/");
      assert.deepEqual(
        entries.map(({ key, value }) => [key, value.length]),
        [
          ["/bytes", 5],
          ["/empty", 0],
          ["/large", 1 << 20],
        ],
      );
    });

    check("keys may be long and hold more than letters", async ({ engine }) => {
      const keys = ["/registry/x/ä", "/registry/x/system:node", "/registry/x/a b", `/registry/${"n".repeat(800)}`];
      for (const key of keys) await engine.put(key, text(key), 0);
      for (const key of keys) assert.equal(read(await engine.get(key)), key);
      assert.deepEqual(keysOf((await engine.list("/registry/")).entries), keys.toSorted());
    });

    check("of many writers that expect the same revision exactly one succeeds", async ({ engine }) => {
      const { modified } = await engine.put("/a", text("0"), 0);
      const results = await Promise.allSettled(
        Array.from({ length: 20 }, (_, i) => engine.put("/a", text(`${i + 1}`), modified)),
      );
      const won = results.filter((result) => result.status === "fulfilled");
      assert.equal(won.length, 1);
      for (const result of results)
        if (result.status === "rejected") {
          assert.ok(result.reason instanceof Conflict, String(result.reason));
          assert.equal(result.reason.present?.modified, won[0]!.value.modified);
        }
      assert.equal(read(await engine.get("/a")), read(won[0]!.value));
    });

    check("writers that retry on conflict lose no update, and no revision is given twice", async ({ engine }) => {
      await engine.put("/counter", text("0"), 0);
      const revisions: number[] = [];
      const increment = async () => {
        for (let present = await engine.get("/counter"); ; ) {
          try {
            const next = await engine.put("/counter", text(`${Number(read(present)) + 1}`), present!.modified);
            revisions.push(next.modified);
            return;
          } catch (error) {
            if (!(error instanceof Conflict)) throw error;
            present = error.present;
          }
        }
      };
      await Promise.all(
        Array.from({ length: 8 }, async () => {
          for (let i = 0; i < 10; i++) await increment();
        }),
      );
      assert.equal(read(await engine.get("/counter")), "80");
      assert.equal(new Set(revisions).size, 80);
    });

    check("concurrent writes to many keys all get their own revision, which only grows", async ({ engine }) => {
      const entries = await Promise.all(Array.from({ length: 200 }, (_, i) => engine.put(`/k${i}`, text(`${i}`), 0)));
      const revisions = entries.map(({ modified }) => modified);
      assert.equal(new Set(revisions).size, 200);
      assert.equal(await engine.revision(), Math.max(...revisions));
      const { entries: found, remaining } = await engine.list("/k");
      assert.equal(found.length, 200);
      assert.equal(remaining, 0);
      for (const { key, value } of found) assert.equal(`/k${new TextDecoder().decode(value)}`, key);
    });

    check("an aborted call rejects with the reason", async ({ engine }) => {
      const reason = new Error("changed my mind");
      const aborted = AbortSignal.abort(reason);
      const isReason = (error: unknown) => error === reason;
      await assert.rejects(engine.get("/a", aborted), isReason);
      await assert.rejects(engine.list("/", {}, aborted), isReason);
      await assert.rejects(engine.revision(aborted), isReason);
      await assert.rejects(engine.status(aborted), isReason);
    });

    check("status tells the newest and the oldest revision", async ({ engine }) => {
      const { modified } = await engine.put("/a", text("1"), 0);
      const status = await engine.status();
      assert.equal(status.revision, modified);
      assert.ok(status.compacted <= modified);
      assert.equal(status.alarm, undefined);
      if (status.usedBytes !== undefined) assert.ok(status.usedBytes <= status.sizeBytes!);
    });
  });

  describe(`${name}: lists`, () => {
    check("a prefix takes the keys that start with it, in order, and no others", async ({ engine }) => {
      const keys = ["/a", "/a/", "/a/1", "/a/10", "/a/2", "/a0", "/a~", "/b", "/a/\u007f", "/", "a"];
      for (const key of keys) await engine.put(key, text(key), 0);
      for (const prefix of ["", "/", "/a", "/a/", "/a/1", "/a0", "/b", "/c", "a", "/a/\u007f"]) {
        const { entries, remaining } = await engine.list(prefix);
        const wanted = keys.filter((key) => key.startsWith(prefix)).toSorted();
        assert.deepEqual(keysOf(entries), wanted, `prefix "${prefix}"`);
        assert.equal(remaining, 0);
      }
    });

    check("a limit cuts, `after` goes on, and `remaining` counts what is left", async ({ engine }) => {
      for (let i = 0; i < 25; i++) await engine.put(`/p/${String(i).padStart(2, "0")}`, text(`${i}`), 0);
      await engine.put("/q", text("outside"), 0);
      const seen: string[] = [];
      let after: string | undefined;
      let pages = 0;
      for (;;) {
        const page = await engine.list("/p/", { limit: 10, ...(after && { after }) });
        seen.push(...keysOf(page.entries));
        pages++;
        assert.equal(page.remaining, 25 - seen.length);
        if (page.remaining === 0) break;
        after = page.entries.at(-1)!.key;
      }
      assert.equal(pages, 3);
      assert.deepEqual(
        seen,
        Array.from({ length: 25 }, (_, i) => `/p/${String(i).padStart(2, "0")}`),
      );
      const exact = await engine.list("/p/", { limit: 25 });
      assert.deepEqual([exact.entries.length, exact.remaining], [25, 0]);
      const tail = await engine.list("/p/", { after: "/p/23x", limit: 5 });
      assert.deepEqual([keysOf(tail.entries), tail.remaining], [["/p/24"], 0]);
      assert.deepEqual((await engine.list("/p/", { after: "/p/24" })).entries, []);
      assert.equal((await engine.list("/p/", { after: "/a" })).entries.length, 25);
    });

    check("the past can be read as it was", async ({ engine }) => {
      const a1 = await engine.put("/p/a", text("a1"), 0);
      const b1 = await engine.put("/p/b", text("b1"), 0);
      const a2 = await engine.put("/p/a", text("a2"), a1.modified);
      const gone = await engine.delete("/p/b", b1.modified);
      const c1 = await engine.put("/p/c", text("c1"), 0);
      const b2 = await engine.put("/p/b", text("b2"), 0);
      const at = async (revision: number) => {
        const page = await engine.list("/p/", { at: revision });
        assert.equal(page.revision, revision);
        return page.entries.map((entry) => `${entry.key}=${read(entry)}@${entry.created},${entry.modified}`);
      };
      const a1Line = `/p/a=a1@${a1.modified},${a1.modified}`;
      const a2Line = `/p/a=a2@${a1.modified},${a2.modified}`;
      const b1Line = `/p/b=b1@${b1.modified},${b1.modified}`;
      const c1Line = `/p/c=c1@${c1.modified},${c1.modified}`;
      assert.deepEqual(await at(a1.modified), [a1Line]);
      assert.deepEqual(await at(b1.modified), [a1Line, b1Line]);
      assert.deepEqual(await at(a2.modified), [a2Line, b1Line]);
      assert.deepEqual(await at(gone), [a2Line]);
      assert.deepEqual(await at(c1.modified), [a2Line, c1Line]);
      assert.deepEqual(await at(b2.modified), [a2Line, `/p/b=b2@${b2.modified},${b2.modified}`, c1Line]);
    });

    check("pages read at one revision are of that revision, whatever is written meanwhile", async ({ engine }) => {
      const wanted: string[] = [];
      for (let i = 10; i < 40; i++) wanted.push(read(await engine.put(`/p/${i}`, text(`${i}`), 0))!);
      const first = await engine.list("/p/", { limit: 7 });
      const seen = first.entries.map(read);
      let last = first.entries.at(-1)!.key;
      for (let round = 0; ; round++) {
        await engine.put(`/p/${round}new`, text("later"), 0);
        const victim = await engine.get(`/p/${38 - round}`);
        await engine.delete(victim!.key, victim!.modified);
        const changed = await engine.get(`/p/${20 + round}`);
        await engine.put(changed!.key, text("changed"), changed!.modified);
        const page = await engine.list("/p/", { at: first.revision, after: last, limit: 7 });
        assert.equal(page.revision, first.revision);
        seen.push(...page.entries.map(read));
        assert.equal(page.remaining, 30 - seen.length);
        if (page.remaining === 0) break;
        last = page.entries.at(-1)!.key;
      }
      assert.deepEqual(seen, wanted);
    });

    check("a revision that has not come is refused", async ({ engine }) => {
      const { modified } = await engine.put("/a", text("1"), 0);
      await assert.rejects(
        engine.list("/", { at: modified + 1000 }),
        (error) => error instanceof FutureRevision && error.newest >= modified,
      );
      await assert.rejects(engine.compact(modified + 1000), FutureRevision);
    });

    check("compaction forgets the past and keeps what is present at it", async ({ engine }) => {
      const a1 = await engine.put("/a", text("a1"), 0);
      const b1 = await engine.put("/b", text("b1"), 0);
      const a2 = await engine.put("/a", text("a2"), a1.modified);
      await engine.delete("/b", b1.modified);
      const c1 = await engine.put("/c", text("c1"), 0);
      await engine.put("/a", text("a3"), a2.modified);

      await engine.compact(c1.modified);
      const isCompacted = (error: unknown) => error instanceof Compacted && error.oldest === c1.modified;
      for (const gone of [a1.modified, b1.modified, a2.modified])
        await assert.rejects(engine.list("/", { at: gone }), isCompacted);
      const kept = await engine.list("/", { at: c1.modified });
      assert.deepEqual(kept.entries.map(read), ["a2", "c1"]);
      assert.deepEqual((await engine.list("/")).entries.map(read), ["a3", "c1"]);
      assert.equal((await engine.status()).compacted, c1.modified);

      await engine.compact(a1.modified);
      await engine.compact(c1.modified);
      assert.equal((await engine.status()).compacted, c1.modified);
      const newest = await engine.revision();
      await engine.compact(newest);
      assert.deepEqual((await engine.list("/", { at: newest })).entries.map(read), ["a3", "c1"]);
    });
  });

  describe(`${name}: watches`, () => {
    check("a watcher sees every change after its revision, in order, with what was before", async ({ engine }) => {
      const a1 = await engine.put("/w/a", text("1"), 0);
      const watcher = follow(engine, "/w/", a1.modified);
      await watcher.caughtUpTo(a1.modified);
      const a2 = await engine.put("/w/a", text("2"), a1.modified);
      await engine.put("/x/a", text("elsewhere"), 0);
      const b1 = await engine.put("/w/b", text(""), 0);
      const gone = await engine.delete("/w/a", a2.modified);
      const a3 = await engine.put("/w/a", text("3"), 0);
      await watcher.caughtUpTo(a3.modified);
      await watcher.stop();
      assert.deepEqual(watcher.changes.map(show), [
        `+ /w/a@${a2.modified}=2 (was ${a1.modified}=1)`,
        `+ /w/b@${b1.modified}=`,
        `- /w/a@${gone}= (was ${a2.modified}=2)`,
        `+ /w/a@${a3.modified}=3`,
      ]);
      const created = watcher.changes.map(({ entry, previous }) => [entry.created, previous?.created]);
      assert.deepEqual(created.slice(0, 2), [
        [a1.created, a1.created],
        [b1.created, undefined],
      ]);
      assert.equal(watcher.changes[2]!.previous?.created, a1.created);
      assert.equal(watcher.changes[3]!.entry.created, a3.modified);
    });

    check("a watch from a past revision replays what is kept", async ({ engine }) => {
      const start = await engine.revision();
      const wanted: string[] = [];
      let entry = await engine.put("/w/a", text("0"), 0);
      wanted.push(`+ /w/a@${entry.modified}=0`);
      const middle = entry.modified;
      for (let i = 1; i < 30; i++) {
        const next = await engine.put("/w/a", text(`${i}`), entry.modified);
        wanted.push(`+ /w/a@${next.modified}=${i} (was ${entry.modified}=${i - 1})`);
        entry = next;
      }
      for (const [from, skip] of [
        [start, 0],
        [middle, 1],
        [entry.modified, 30],
      ] as const) {
        const watcher = follow(engine, "/w/", from);
        await watcher.caughtUpTo(entry.modified);
        await watcher.stop();
        assert.deepEqual(watcher.changes.map(show), wanted.slice(skip));
      }
    });

    check("watches begun at any moment of concurrent writing miss nothing and repeat nothing", async ({ engine }) => {
      const start = await engine.revision();
      const watchers: ReturnType<typeof follow>[] = [];
      const writer = async (id: number) => {
        let modified = 0;
        for (let i = 0; i < 40; i++) {
          if (i % 7 === 6) {
            await engine.delete(`/w/${id}`, modified);
            modified = 0;
          } else ({ modified } = await engine.put(`/w/${id}`, text(`${i}`), modified));
          if (i % 10 === 3 && id % 2 === 0) watchers.push(follow(engine, "/w/", start));
          if (i % 10 === 8 && id % 2 === 1) watchers.push(follow(engine, "/w/", await engine.revision()));
        }
      };
      await Promise.all(Array.from({ length: 6 }, (_, id) => writer(id)));
      const newest = await engine.revision();
      const whole = follow(engine, "/w/", start);
      watchers.push(whole);
      for (const watcher of watchers) {
        await watcher.caughtUpTo(newest);
        await watcher.stop();
      }
      const all = whole.changes.map(show);
      assert.equal(all.length, 240);
      for (const watcher of watchers)
        assert.deepEqual(
          watcher.changes.map(show),
          whole.changes.filter(({ entry }) => entry.modified > watcher.from).map(show),
        );
      const modified = whole.changes.map(({ entry }) => entry.modified);
      assert.deepEqual(
        modified,
        [...new Set(modified)].toSorted((a, b) => a - b),
      );
    });

    check(
      "a watch resumed from the revision of its last batch goes on without gap or repetition",
      async ({ engine }) => {
        const start = await engine.revision();
        const seen: number[] = [];
        let from = start;
        const total = 60;
        const writing = (async () => {
          for (let i = 0; i < total; i++) await engine.put(`/w/${i}`, text(`${i}`), 0);
        })();
        while (seen.length < total)
          for await (const batch of engine.watch("/w/", from, never)) {
            for (const { entry } of batch.changes) seen.push(Number(read(entry)));
            assert.ok(batch.revision >= from);
            from = batch.revision;
            if (batch.changes.length > 0) break;
          }
        await writing;
        assert.deepEqual(
          seen,
          Array.from({ length: total }, (_, i) => i),
        );
      },
    );

    check("a watcher that has caught up is told so at once, also when others wrote elsewhere", async ({ engine }) => {
      await engine.put("/elsewhere", text("1"), 0);
      const start = await engine.revision();
      for await (const batch of engine.watch("/w/", start, never)) {
        assert.deepEqual(batch.changes, []);
        assert.ok(batch.revision >= start);
        break;
      }
      await engine.put("/elsewhere2", text("2"), 0);
      const newest = await engine.revision();
      const watcher = follow(engine, "/w/", start);
      await watcher.caughtUpTo(newest);
      await watcher.stop();
      assert.deepEqual(watcher.changes, []);
    });

    check("a silent watcher hears every minute how far it has seen", async ({ engine, pass, exactTime }, t) => {
      if (!exactTime) return t.skip("takes minutes of real time");
      const watcher = follow(engine, "/w/", await engine.revision());
      await watcher.caughtUpTo(await engine.revision());
      for (let minute = 0; minute < 3; minute++) {
        const { modified } = await engine.put(`/elsewhere${minute}`, text("1"), 0);
        const before = watcher.batches;
        await pass(60);
        await watcher.caughtUpTo(modified);
        assert.ok(watcher.batches > before);
      }
      await watcher.stop();
      assert.deepEqual(watcher.changes, []);
    });

    check("a watch from a revision that has not come begins when it has", async ({ engine }) => {
      const start = await engine.revision();
      const watcher = follow(engine, "/w/", start + 2);
      for (let i = 1; i <= 4; i++) await engine.put(`/w/${i}`, text(`${i}`), 0);
      await watcher.caughtUpTo(await engine.revision());
      await watcher.stop();
      assert.deepEqual(
        watcher.changes.map(({ entry }) => entry.key),
        ["/w/3", "/w/4"],
      );
    });

    check("a watch from a compacted revision is refused, one from the oldest kept is not", async ({ engine }) => {
      const revisions: number[] = [];
      let modified = 0;
      for (let i = 0; i < 6; i++) {
        ({ modified } = await engine.put("/w/a", text(`${i}`), modified));
        revisions.push(modified);
      }
      await engine.compact(revisions[3]!);
      await assert.rejects(
        follow(engine, "/w/", revisions[0]!).caughtUpTo(modified),
        (error) => error instanceof Compacted && error.oldest === revisions[3],
      );
      const watcher = follow(engine, "/w/", revisions[3]!);
      await watcher.caughtUpTo(modified);
      await watcher.stop();
      assert.deepEqual(watcher.changes.map(show), [
        `+ /w/a@${revisions[4]}=4 (was ${revisions[3]}=3)`,
        `+ /w/a@${revisions[5]}=5 (was ${revisions[4]}=4)`,
      ]);
    });

    check(
      "a delete in kept history has its previous entry, even one from before the compaction",
      async ({ engine }) => {
        const a1 = await engine.put("/w/a", text("1"), 0);
        const { modified: later } = await engine.put("/w/b", text("1"), 0);
        await engine.compact(later);
        await engine.delete("/w/a", a1.modified);
        const watcher = follow(engine, "/w/", later);
        await watcher.caughtUpTo(await engine.revision());
        await watcher.stop();
        assert.equal(read(watcher.changes[0]!.previous), "1");
        assert.equal(watcher.changes[0]!.type, "delete");
        assert.equal(watcher.changes[0]!.entry.value.length, 0);
      },
    );

    check(
      "a watcher that does not read gets all in order later, or is told that it was too slow",
      async ({ engine }) => {
        const start = await engine.revision();
        const iterator = engine.watch("/w/", start, never)[Symbol.asyncIterator]();
        await iterator.next();
        let modified = 0;
        const wanted: string[] = [];
        for (let i = 0; i < 300; i++) {
          ({ modified } = await engine.put("/w/a", text(`${i}`), modified));
          wanted.push(`${i}`);
        }
        await engine.compact(modified - 10);
        const seen: string[] = [];
        try {
          while (seen.length < 300) {
            const { value, done } = await iterator.next();
            assert.ok(!done);
            for (const { entry } of value.changes) seen.push(read(entry)!);
          }
        } catch (error) {
          assert.ok(error instanceof Compacted, String(error));
        }
        await iterator.return?.();
        assert.deepEqual(seen, wanted.slice(0, seen.length));
      },
    );

    check("many watchers on one prefix all see the same", async ({ engine }) => {
      const start = await engine.revision();
      const watchers = Array.from({ length: 200 }, () => follow(engine, "/w/", start));
      for (const watcher of watchers) await watcher.caughtUpTo(start);
      for (let i = 0; i < 20; i++) await engine.put(`/w/${i}`, text(`${i}`), 0);
      const newest = await engine.revision();
      for (const watcher of watchers) {
        await watcher.caughtUpTo(newest);
        await watcher.stop();
        assert.equal(watcher.changes.length, 20);
      }
    });

    check("an aborted watch ends quietly, whether it waits, reads or has not begun", async ({ engine }) => {
      const start = await engine.revision();
      const stop = new AbortController();
      const waiting = follow(engine, "/w/", start, stop.signal);
      await waiting.caughtUpTo(start);
      stop.abort(new Error("enough"));
      await waiting.ended;
      for await (const _ of engine.watch("/w/", start, AbortSignal.abort())) assert.fail("nothing should come");

      await engine.put("/w/a", text("1"), 0);
      const reading = new AbortController();
      let batches = 0;
      for await (const _ of engine.watch("/w/", start, reading.signal)) {
        batches++;
        reading.abort();
      }
      assert.equal(batches, 1);
    });

    check("closing ends every watch quietly, can be repeated, and refuses all that follows", async ({ engine }) => {
      const start = await engine.revision();
      const watchers = Array.from({ length: 5 }, () => follow(engine, "/w/", start));
      for (const watcher of watchers) await watcher.caughtUpTo(start);
      const write = engine.put("/w/a", text("1"), 0);
      await Promise.all([engine.close(), engine.close(), write]);
      for (const watcher of watchers) await watcher.ended;
      await engine.close();
      await assert.rejects(engine.get("/w/a"), Unavailable);
      await assert.rejects(engine.list("/"), Unavailable);
      await assert.rejects(engine.put("/w/b", text("1"), 0), Unavailable);
      await assert.rejects(engine.delete("/w/a", 2), Unavailable);
      await assert.rejects(engine.revision(), Unavailable);
      await assert.rejects(follow(engine, "/w/", start).ended, Unavailable);
    });
  });

  describe(`${name}: time to live`, () => {
    check("a key with a time to live is deleted when it is over, and watchers see it", async (under) => {
      const { engine, pass, exactTime } = under;
      const start = await engine.revision();
      const watcher = follow(engine, "/t/", start);
      const brief = await engine.put("/t/brief", text("1"), 0, 3);
      await engine.put("/t/long", text("1"), 0, 3600);
      await engine.put("/t/lasting", text("1"), 0);
      if (exactTime) {
        await pass(2.9);
        assert.ok(await engine.get("/t/brief"));
        await pass(1.1);
      }
      await watcher.until(() => watcher.changes.length === 4);
      await watcher.stop();
      const expiry = watcher.changes[3]!;
      assert.equal(expiry.type, "delete");
      assert.equal(expiry.entry.key, "/t/brief");
      assert.ok(expiry.entry.modified > brief.modified);
      assert.equal(expiry.previous?.modified, brief.modified);
      assert.deepEqual(keysOf((await engine.list("/t/")).entries), ["/t/lasting", "/t/long"]);
    });

    check("a key written again before its time lives by the new write alone", async (under) => {
      const { engine, pass } = under;
      const forever = await engine.put("/t/forever", text("1"), 0, 3);
      const longer = await engine.put("/t/longer", text("1"), 0, 3);
      const shorter = await engine.put("/t/shorter", text("1"), 0, 3600);
      await engine.put("/t/witness", text("1"), 0, 3);
      await engine.put("/t/forever", text("2"), forever.modified);
      await engine.put("/t/longer", text("2"), longer.modified, 3600);
      await engine.put("/t/shorter", text("2"), shorter.modified, 3);
      const again = await engine.put("/t/again", text("1"), 0, 3);
      await engine.delete("/t/again", again.modified);
      await engine.put("/t/again", text("2"), 0);
      const watcher = follow(engine, "/t/", await engine.revision());
      if (under.exactTime) await pass(4);
      const isGone = (key: string) => watcher.changes.some(({ type, entry }) => type === "delete" && entry.key === key);
      await watcher.until(() => isGone("/t/witness") && isGone("/t/shorter"));
      await watcher.stop();
      await pass(1);
      assert.deepEqual(keysOf((await engine.list("/t/")).entries), ["/t/again", "/t/forever", "/t/longer"]);
    });
  });

  describe(`${name}: across a restart`, () => {
    check("entries, revisions, history and times to live survive", async (under, t) => {
      if (!under.reopen) return t.skip("nothing is kept");
      let { engine } = under;
      const start = await engine.revision();
      const a1 = await engine.put("/r/a", text("a1"), 0);
      const b1 = await engine.put("/r/b", text("b1"), 0);
      const a2 = await engine.put("/r/a", text("a2"), a1.modified);
      const gone = await engine.delete("/r/b", b1.modified);
      await engine.put("/r/brief", text("1"), 0, 4);
      const newest = await engine.revision();
      engine = await under.reopen();

      assert.equal(await engine.revision(), newest);
      const found = await engine.get("/r/a");
      assert.deepEqual([read(found), found?.created, found?.modified], ["a2", a1.modified, a2.modified]);
      assert.deepEqual((await engine.list("/r/", { at: b1.modified })).entries.map(read), ["a1", "b1"]);
      const watcher = follow(engine, "/r/", start);
      await watcher.caughtUpTo(newest);
      assert.equal(watcher.changes.length, 5);
      assert.equal(show(watcher.changes[3]!), `- /r/b@${gone}= (was ${b1.modified}=b1)`);

      const next = await engine.put("/r/c", text("c1"), 0);
      assert.ok(next.modified > newest);
      if (under.exactTime) await under.pass(5);
      await watcher.until(() =>
        watcher.changes.some(({ type, entry }) => type === "delete" && entry.key === "/r/brief"),
      );
      await watcher.stop();
      assert.equal(await engine.get("/r/brief"), undefined);
    });

    check("what was compacted stays compacted, and a deleted newest revision is not given again", async (under, t) => {
      if (!under.reopen) return t.skip("nothing is kept");
      let { engine } = under;
      const a1 = await engine.put("/r/a", text("a1"), 0);
      const a2 = await engine.put("/r/a", text("a2"), a1.modified);
      const gone = await engine.delete("/r/a", a2.modified);
      await engine.compact(gone);
      engine = await under.reopen();
      assert.equal(await engine.revision(), gone);
      assert.equal((await engine.status()).compacted, gone);
      await assert.rejects(engine.list("/r/", { at: a2.modified }), Compacted);
      const again = await engine.put("/r/a", text("a3"), 0);
      assert.ok(again.modified > gone);
      assert.equal(again.created, again.modified);
    });
  });
}
