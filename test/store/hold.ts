// Holds a store until it is killed.
import { systemClock } from "#base/clock.ts";
import { openLmdbStore } from "#store/host/lmdb.ts";

await openLmdbStore({ folder: process.argv[2] ?? "", clock: systemClock });
process.stdout.write("held\n");
await systemClock.sleep(3_600_000, new AbortController().signal);
