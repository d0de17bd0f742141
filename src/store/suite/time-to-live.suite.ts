// Entries that end by themselves.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { follow } from "../testing.ts";
import { keysOf, type SuiteCheck, text } from "./kit.suite.ts";

export function timeToLive(name: string, check: SuiteCheck): void {
  describe(`${name}: time to live`, () => {
    check("a key with a time to live is deleted when it is over, and watchers see it", async (under) => {
      const { engine, pass, exactTime } = under;
      const start = await engine.revision();
      const watcher = follow(engine, "/t/", start);
      const brief = await engine.put("/t/brief", text("1"), 0, { ttlSeconds: 3 });
      await engine.put("/t/long", text("1"), 0, { ttlSeconds: 3600 });
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
      const forever = await engine.put("/t/forever", text("1"), 0, { ttlSeconds: 3 });
      const longer = await engine.put("/t/longer", text("1"), 0, { ttlSeconds: 3 });
      const shorter = await engine.put("/t/shorter", text("1"), 0, { ttlSeconds: 3600 });
      await engine.put("/t/witness", text("1"), 0, { ttlSeconds: 3 });
      await engine.put("/t/forever", text("2"), forever.modified);
      await engine.put("/t/longer", text("2"), longer.modified, { ttlSeconds: 3600 });
      await engine.put("/t/shorter", text("2"), shorter.modified, { ttlSeconds: 3 });
      const again = await engine.put("/t/again", text("1"), 0, { ttlSeconds: 3 });
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
}
