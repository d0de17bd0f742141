import assert from "node:assert/strict";
import { test } from "node:test";
import { systemRandom } from "./random.ts";

test("uuids of the system are random ones of version 4, and no two are the same", () => {
  const drawn = Array.from({ length: 1000 }, () => systemRandom.uuid());
  for (const uuid of drawn) assert.match(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(new Set(drawn).size, drawn.length);
  for (let at = 0; at < 36; at++) {
    const seen = new Set(drawn.map((uuid) => uuid[at]));
    const kinds = [8, 13, 14, 18, 23].includes(at) ? 1 : at === 19 ? 4 : 16;
    assert.equal(seen.size, kinds, `${kinds} characters at ${at}`);
  }
});
