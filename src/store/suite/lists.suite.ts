// Lists: all entries of one moment, page by page.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { Compacted, FutureRevision } from "../engine.ts";
import { keysOf, read, type SuiteCheck, text } from "./kit.suite.ts";

export function lists(name: string, check: SuiteCheck): void {
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
}
