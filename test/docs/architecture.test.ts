// ARCHITECTURE.md names files. What it says about them a reader must judge, but they have to be there.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { test } from "node:test";

const text = readFileSync("ARCHITECTURE.md", "utf8");
const files = globSync("src/**/*.ts").map((path) => `/${path}`);
const tests = globSync("test/**/*.ts").map((path) => `/${path}`);
const hops = [...text.matchAll(/^\| (\d*|←) ?\| `([\w/.-]+\.ts)` \|/gm)].map(([, number = "", path = ""]) => ({
  number,
  path,
}));

test("the files that ARCHITECTURE.md names exist", () => {
  const named = [...text.matchAll(/`([\w/.-]+\.ts)`/g)].map(([, path = ""]) => path);
  assert.ok(named.length > 50, "names are found");
  const missing = named.filter((name) => ![...files, ...tests].some((path) => path.endsWith(`/${name}`)));
  assert.deepEqual(missing, []);
});

test("a create takes at most 20 files between the HTTPS front and the store, each once, and back", () => {
  const between = hops.filter(({ number }) => /\d/.test(number));
  assert.deepEqual(
    between.map(({ number }) => Number(number)),
    between.map((_, i) => i + 1),
  );
  assert.ok(between.length > 0 && between.length <= 20, `${between.length} hops`);
  assert.equal(new Set(hops.map(({ path }) => path)).size, hops.length, "no file comes twice");
  assert.deepEqual(
    hops.filter(({ path }) => !files.includes(`/src/${path}`)),
    [],
  );
});

test("the stages of the path stand in the order of the pipeline", () => {
  const pipeline = readFileSync("src/apiserver/pipeline/pipeline.ts", "utf8");
  const listed = [...pipeline.matchAll(/^ {2}(\w+)Stage[(,]/gm)].map(([, name = ""]) => name);
  const passed = hops.flatMap(({ path }) => /stages\/([\w-]+)\.ts$/.exec(path)?.[1] ?? []);
  const camelCase = (name: string) => name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  // One place of the list may have several files to choose from: then it has a name of its own.
  const places = passed.map((name) => listed.indexOf(camelCase(name))).filter((place) => place >= 0);
  assert.ok(places.length > 5, `${passed.join()} of ${listed.join()}`);
  assert.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
  );
});
