// What is there after a restart.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { Compacted } from "../engine.ts";
import { follow } from "../testing.ts";
import { read, type SuiteCheck, show, text } from "./kit.suite.ts";

export function acrossARestart(name: string, check: SuiteCheck): void {
  describe(`${name}: across a restart`, () => {
    check("entries, revisions, history and times to live survive", async (under, t) => {
      if (!under.reopen) return t.skip("nothing is kept");
      let { engine } = under;
      const start = await engine.revision();
      const a1 = await engine.put("/r/a", text("a1"), 0);
      const b1 = await engine.put("/r/b", text("b1"), 0);
      const a2 = await engine.put("/r/a", text("a2"), a1.modified);
      const gone = await engine.delete("/r/b", b1.modified);
      await engine.put("/r/brief", text("1"), 0, { ttlSeconds: 4 });
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
