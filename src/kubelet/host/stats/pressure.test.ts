import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { groupPressures, parsePressure } from "./pressure.ts";

const text = `some avg10=1.50 avg60=0.25 avg300=0.00 total=2500
full avg10=0.50 avg60=0.00 avg300=0.00 total=1000
`;
const none = { total: 0, avg10: 0, avg60: 0, avg300: 0 };

test("pressure is read with its averages, and its time in nanoseconds", () => {
  assert.deepEqual(parsePressure(text), {
    some: { total: 2_500_000, avg10: 1.5, avg60: 0.25, avg300: 0 },
    full: { total: 1_000_000, avg10: 0.5, avg60: 0, avg300: 0 },
  });
  assert.deepEqual(parsePressure(text.split("\n")[0] ?? "")?.full, none);
  assert.equal(parsePressure("nonsense\n"), undefined);
});

test("a control group tells of what its kernel knows, and of nothing else", async () => {
  const folder = mkdtempSync(join(tmpdir(), "pressure-"));
  try {
    assert.deepEqual(await groupPressures(folder), {});
    writeFileSync(join(folder, "memory.pressure"), text);
    const { cpu, memory } = await groupPressures(folder);
    assert.deepEqual([cpu, memory?.some.total], [undefined, 2_500_000]);
    assert.deepEqual(await groupPressures(join(folder, "gone")), {});
  } finally {
    rmSync(folder, { recursive: true });
  }
});
