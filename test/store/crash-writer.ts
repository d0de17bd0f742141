// The victim of crash.test.ts: writes with many writers until it is killed, and notes in a file every write that was acknowledged.
// Waits for a line on standard input before it begins, so that the next victim can start up while the last one is examined.
import { openSync, writeSync } from "node:fs";
import { systemClock } from "#base/clock.ts";
import { seededRandom } from "#base/random.ts";
import { Conflict } from "#store/engine.ts";
import { openLmdbStore } from "#store/host/lmdb.ts";
import { crashStoreOptions, keyOf, valueFor } from "./crash-values.ts";

const [folder = "", notes = "", seedText = "0"] = process.argv.slice(2);
const seed = Number(seedText);
const random = seededRandom(seed);
process.stdout.write("ready\n");
await new Promise((resolve) => process.stdin.once("data", resolve));

const file = openSync(notes, "a");
const store = await openLmdbStore({ folder, clock: systemClock, ...crashStoreOptions });

await Promise.all(
  Array.from({ length: 64 }, async (_, writer) => {
    for (let turn = 0; ; turn++) {
      // Most keys belong to one writer; some are fought over.
      const key = random.next() < 0.1 ? keyOf("shared", random.below(8)) : keyOf(writer, random.below(12));
      const present = await store.get(key);
      try {
        if (present && random.next() < 0.2) {
          const revision = await store.delete(key, present.modified);
          writeSync(file, `delete ${revision} ${key}\n`);
        } else {
          const value = valueFor(key, `${seed}.${writer}.${turn}`);
          const { modified } = await store.put(key, value, present?.modified ?? 0);
          writeSync(file, `put ${modified} ${key} ${seed}.${writer}.${turn}\n`);
        }
      } catch (error) {
        if (!(error instanceof Conflict)) throw error;
      }
    }
  }),
);
