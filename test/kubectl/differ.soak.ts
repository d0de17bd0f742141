// Every line of the differ; the suite runs a sample.
process.env.KNARR_DIFFER = "all";
await import("./differ.test.ts");
