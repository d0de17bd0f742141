// Watches: every change, in order, without gaps.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { Compacted, Unavailable } from "../engine.ts";
import { follow } from "../testing.ts";
import { never, read, type SuiteCheck, show, text } from "./kit.suite.ts";

export function watches(name: string, check: SuiteCheck): void {
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
}
