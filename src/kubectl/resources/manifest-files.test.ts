import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import { seededRandom } from "#base/random.ts";
import { kubectl } from "../main.ts";

const folder = mkdtempSync(join(tmpdir(), "knarr-manifests-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** What a command that asks no server makes of a manifest. */
async function labelled(
  content: string | Uint8Array,
): Promise<{ readonly out: string; readonly err: string; readonly code: number }> {
  writeFileSync(join(folder, "m.yaml"), content);
  let out = "";
  let err = "";
  const code = await kubectl(["label", "-f", "m.yaml", "--local", "x=y", "-o", "name"], {
    stdin: (async function* () {
      yield new Uint8Array();
    })(),
    stdout: { write: (data) => (out += String(data)) },
    stderr: { write: (data) => (err += String(data)) },
    env: { HOME: folder },
    cwd: folder,
    clock: new ManualClock(0),
    random: seededRandom(1),
    signal: new AbortController().signal,
  });
  return { out, err, code };
}

const head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\n";

test("a manifest of ten megabytes is read", async () => {
  const lines = Array.from({ length: 90_000 }, (_, i) => `  k${i}: "${"x".repeat(100)}"\n`);
  const { out, code } = await labelled(`${head}data:\n${lines.join("")}`);
  assert.deepEqual({ out, code }, { out: "configmap/m\n", code: 0 });
});

test("ten thousand documents are read, each in its turn", async () => {
  const documents = Array.from({ length: 10_000 }, (_, i) => head.replace("name: m", `name: m${i}`));
  const { out, code } = await labelled(documents.join("---\n"));
  assert.equal(code, 0);
  assert.equal(out.split("\n").length, 10_001);
  assert.ok(out.startsWith("configmap/m0\nconfigmap/m1\n"));
});

test("a bomb of aliases is refused, in words that say why", async () => {
  const bomb = "bcdefgh"
    .split("")
    .reduce(
      (text, letter, i) => `${text}${letter}: &${letter} [${Array(9).fill(`*${"abcdefgh"[i]}`).join(",")}]\n`,
      `${head}a: &a [${Array(9).fill('"lol"').join(",")}]\n`,
    );
  const { err, code } = await labelled(bomb);
  assert.deepEqual(
    { err, code },
    { err: "error: error parsing m.yaml: invalid YAML: document contains excessive aliasing\n", code: 1 },
  );
});

test("what is nested without end is refused, as YAML and as JSON", async () => {
  const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
  const yaml = await labelled(`${head}x: ${deep}`);
  assert.match(yaml.err, /^error: error parsing m\.yaml: invalid YAML: line 4: nesting exceeded/);
  const json = await labelled(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"},"x":${deep}}`);
  assert.match(json.err, /^error: error parsing m\.yaml: /);
  assert.deepEqual([yaml.code, json.code], [1, 1]);
});

test("bytes that are no text are refused, and the file is named", async () => {
  const { err, code } = await labelled(Uint8Array.of(0x61, 0x3a, 0x20, 0xff, 0xfe));
  assert.deepEqual({ err, code }, { err: "error: error parsing m.yaml: it is not valid UTF-8\n", code: 1 });
});
