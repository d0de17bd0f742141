// More kills than the suite has time for.
process.env.KNARR_ROUNDS = "200";
await import("./crash.test.ts");
