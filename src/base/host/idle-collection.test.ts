import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { isCollectionDue } from "./idle-collection.ts";

const mebibytes = (count: number) => count * 2 ** 20;
const afterStart = { utilization: 0.01, totalBytes: mebibytes(58), usedBytes: mebibytes(34), leftBytes: 0 };

test("garbage is collected once after the start, and after busy times", () => {
  assert.ok(isCollectionDue(afterStart));
  assert.ok(!isCollectionDue({ ...afterStart, totalBytes: mebibytes(27), leftBytes: mebibytes(24) }));
  assert.ok(isCollectionDue({ ...afterStart, totalBytes: mebibytes(90), leftBytes: mebibytes(24) }));
});

test("a busy process, a large heap, and one that would not shrink by much are left alone", () => {
  assert.ok(!isCollectionDue({ ...afterStart, utilization: 0.2 }));
  assert.ok(!isCollectionDue({ ...afterStart, usedBytes: mebibytes(300) }));
  assert.ok(!isCollectionDue({ ...afterStart, totalBytes: mebibytes(14) }));
});

test("a process that is idle collects its garbage", () => {
  const script = `
    import { constants, PerformanceObserver } from "node:perf_hooks";
    import { collectWhenIdle } from ${JSON.stringify(new URL("./idle-collection.ts", import.meta.url).href)};
    const large = Array.from({ length: 500_000 }, (_, i) => ({ i }));
    const wait = setTimeout(() => console.log("nothing collected"), 120_000);
    new PerformanceObserver((list) => {
      const { NODE_PERFORMANCE_GC_FLAGS_FORCED: forced, NODE_PERFORMANCE_GC_MAJOR: major } = constants;
      if (!list.getEntries().some(({ detail }) => detail.kind === major && detail.flags & forced)) return;
      clearTimeout(wait);
      console.log("collected", large.length, typeof gc);
    }).observe({ entryTypes: ["gc"] });
    collectWhenIdle();
  `;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" });
  assert.equal(stdout, "collected 500000 undefined\n", stderr);
});
