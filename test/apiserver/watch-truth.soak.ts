// More writes under the eyes of watchers than the suite has time for.
process.env.KNARR_WRITES = "20000";
await import("./watch-truth.test.ts");
