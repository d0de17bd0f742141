import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ManualClock } from "#base/clock.ts";
import { engineSuite } from "../engine.suite.ts";
import type { StoreEngine } from "../engine.ts";
import { openLmdbStore } from "./lmdb.ts";

engineSuite("embedded", async () => {
  const clock = new ManualClock("2026-01-01T00:00:00Z");
  const folder = mkdtempSync(join(tmpdir(), "knarr-store-"));
  let engine: StoreEngine = await openLmdbStore({ folder, clock });
  return {
    engine,
    pass: (seconds) => clock.advance(seconds * 1000),
    exactTime: true,
    async reopen() {
      await engine.close();
      engine = await openLmdbStore({ folder, clock });
      return engine;
    },
    end: async () => rmSync(folder, { recursive: true, force: true }),
  };
});
