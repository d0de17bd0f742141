// Opens damaged copies of a store one after another and says of each what came of it. A process of its own: if one of them
// makes LMDB crash, the test sees at which.
// Usage: examine.ts FOLDER PRISTINE-FILE, then on standard input one JSON line per copy: { "flip": [offset, mask] } or { "cut": length }
import { copyFileSync, openSync, readFileSync, rmSync, truncateSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { systemClock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import { Damaged } from "#store/engine.ts";
import { openLmdbStore } from "#store/host/lmdb.ts";
import { contentOf } from "./content.ts";

const [folder = "", pristine = ""] = process.argv.slice(2);
const file = join(folder, "store.lmdb");
const original = readFileSync(pristine);
copyFileSync(pristine, file);
const intact = await openLmdbStore({ folder, clock: systemClock });
const wanted = await contentOf(intact);
await intact.close();

for await (const line of createInterface(process.stdin)) {
  const damage = JSON.parse(line) as { readonly flip?: readonly [number, number]; readonly cut?: number };
  writeSync(1, `${line} `);
  rmSync(file, { force: true });
  rmSync(`${file}-lock`, { force: true });
  copyFileSync(pristine, file);
  if (damage.cut !== undefined) truncateSync(file, damage.cut);
  if (damage.flip) {
    const [offset, mask] = damage.flip;
    const fd = openSync(file, "r+");
    writeSync(fd, Uint8Array.of((original[offset] as number) ^ mask), 0, 1, offset);
  }
  writeSync(1, `${await outcome()}\n`);
}

async function outcome(): Promise<string> {
  let store: Awaited<ReturnType<typeof openLmdbStore>>;
  try {
    store = await openLmdbStore({ folder, clock: systemClock });
  } catch (error) {
    const text = explain(error);
    if (!(error instanceof Damaged) || !text.includes(file)) return `unclear: ${text}`;
    return "refused";
  }
  try {
    return (await contentOf(store)) === wanted ? "intact" : "silent loss";
  } catch (error) {
    return error instanceof Damaged && explain(error).includes(file) ? "noticed" : `unclear: ${explain(error)}`;
  } finally {
    try {
      await store.close();
    } catch (error) {
      writeFileSync(join(folder, "close-error"), explain(error));
    }
  }
}
