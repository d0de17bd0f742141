// More falls of leaders than the suite has time for.
process.env.KNARR_ROUNDS = "25";
await import("./failover.test.ts");
