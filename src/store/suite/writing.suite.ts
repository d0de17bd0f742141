// Reading and writing: what an engine promises of single entries.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { Conflict } from "../engine.ts";
import { keysOf, never, read, type SuiteCheck, show, text } from "./kit.suite.ts";

export function readingAndWriting(name: string, check: SuiteCheck): void {
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

    check("a write that has begun does not need the bytes it was given any more", async ({ engine }) => {
      if (!engine.begin) return;
      const value = text("1");
      const begun = engine.begin("/a", value, 0);
      value.fill(0);
      if (!begun) return;
      assert.equal(read(begun.entry), "1");
      await begun.durable;
      assert.equal(read(await engine.get("/a")), "1");
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
}
