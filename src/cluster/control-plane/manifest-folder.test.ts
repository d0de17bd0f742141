import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import { createLog } from "#base/log.ts";

import { writeManifests } from "./manifest-folder.ts";

function world() {
  const root = mkdtempSync(join(tmpdir(), "knarr-manifests-"));
  const folder = join(root, "manifests");
  const said: string[] = [];
  const log = createLog({ clock: new ManualClock(), write: (line) => said.push(line) });
  const place = { folder, noteFile: join(root, "note.json"), log };
  return {
    said,
    file: (name: string) => join(folder, `${name}.yaml`),
    files: () => readdirSync(folder).toSorted(),
    write: (image: string, flag = "") =>
      writeManifests(place, {
        texts: new Map(["a", "b"].map((name) => [name, `${name} runs ${image}${flag}\n`])),
        images: { own: image },
      }),
    [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }),
  };
}

test("manifests are written, and again when they would say something else", () => {
  using w = world();
  assert.deepEqual(w.write("i:1"), ["a", "b"]);
  assert.deepEqual(w.files(), ["a.yaml", "b.yaml"]);
  w.write("i:2", " --more");
  assert.equal(readFileSync(w.file("a"), "utf8"), "a runs i:2 --more\n");
  assert.deepEqual(w.said, []);
});

test("what a person changed stays, with the image of now", () => {
  using w = world();
  w.write("i:1");
  writeFileSync(w.file("a"), "a runs i:1 --mine\n");
  w.write("i:2");
  assert.equal(readFileSync(w.file("a"), "utf8"), "a runs i:2 --mine\n");
  assert.deepEqual(w.said, []);
  w.write("i:2", " --more");
  assert.equal(readFileSync(w.file("a"), "utf8"), "a runs i:2 --mine\n");
  assert.match(w.said.join(), /changed by hand.*a\.yaml/);
});

test("what a person removed does not come back", () => {
  using w = world();
  w.write("i:1");
  rmSync(w.file("b"));
  assert.deepEqual(w.write("i:2"), ["a"]);
  assert.equal(existsSync(w.file("b")), false);
});
