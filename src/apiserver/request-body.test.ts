import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { parseYaml } from "#wire/yaml/read.ts";
import type { YamlReader } from "#wire/yaml/reader.ts";
import { mostValues, requestBody } from "./request-body.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const many = (count: number, make: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => make(i)).join("");
const bodyOf = (text: string, type: string, readYaml?: YamlReader) => requestBody(bytes(text), type, "POST", readYaml);
const tooMany = { code: 413, message: /limit is 75000 fields, keys and list items/ };

/** In this thread, and told how often it was asked. */
function readerHere(): YamlReader & { readonly texts: string[] } {
  const texts: string[] = [];
  const read: YamlReader = async (given, most) => {
    const text = new TextDecoder().decode(given);
    texts.push(text);
    const { value, duplicates } = parseYaml(text, most);
    return { json: JSON.stringify(value), duplicates };
  };
  return Object.assign(read, { texts });
}

test("a body of more values than may be is refused, whatever its format", async () => {
  const definitions = `[${many(mostValues / 3, (i) => `{"type":"a","description":"b${i}"},`)}0]`;
  await assert.rejects(async () => bodyOf(`{"a":${definitions},"b":[1]}`, "application/json"), tooMany);
  assert.ok(await bodyOf(`{"a":[${many(30, () => `[${"1,".repeat(998)}1],`)}0]}`, "application/json"));
  const read = readerHere();
  await assert.rejects(
    async () =>
      bodyOf(
        many(mostValues, () => "- 1\n"),
        "application/yaml",
        read,
      ),
    tooMany,
  );
});

test("an item of a large list counts twice, and a key of a large map three times", async () => {
  const list = (count: number) => bodyOf(`[${"1,".repeat(count)}1]`, "application/json");
  const map = (count: number) => bodyOf(`{${many(count, (i) => `"k${i}":1,`)}"z":1}`, "application/json");
  assert.ok(await list(37_000));
  await assert.rejects(async () => list(39_000), tooMany);
  assert.ok(await map(25_000));
  await assert.rejects(async () => map(26_000), tooMany);
});

test("large YAML is read elsewhere, and refused where there is nobody to read it", async () => {
  const text = `kind: ConfigMap\nkind: ConfigMap\ndata:\n${many(8000, (i) => `  key${i}: v\n`)}`;
  const read = readerHere();
  const decoded = (await bodyOf(text, "application/yaml", read))?.decode(ConfigMap);
  assert.equal(Object.keys(decoded?.object.data).length, 8000);
  assert.deepEqual(decoded?.strictErrors, ['yaml: unmarshal errors:\n  line 2: key "kind" already set in map']);
  assert.deepEqual(read.texts, [text]);
  await assert.rejects(async () => bodyOf(text, "application/yaml"), { code: 413, message: /limit is 65536$/ });
});

test("large JSON under the name of YAML is read as what it is, and a flow of YAML as YAML", async () => {
  const read = readerHere();
  const json = `{"kind":"ConfigMap","data":{${many(8000, (i) => `"key${i}":"v",`)}"z":"v"}}`;
  assert.ok((await bodyOf(json, "application/yaml", read))?.isLarge);
  assert.deepEqual(read.texts, []);
  const flow = json.replaceAll('"', "").replaceAll(":", ": ");
  assert.equal((await bodyOf(flow, "application/yaml", read))?.decode(ConfigMap).object.data.z, "v");
  assert.deepEqual(read.texts, [flow]);
});

test("a small body that may stand for much is worked on in turns", async () => {
  const isLarge = async (text: string, type: string, method = "POST") =>
    (await requestBody(bytes(text), type, method))?.isLarge;
  assert.equal(await isLarge("a: &a [1]\nb: *a", "application/yaml"), true);
  assert.equal(await isLarge("a: [1]", "application/yaml"), false);
  const patch = "application/json-patch+json";
  assert.equal(await isLarge('[{"op":"copy","from":"/a","path":"/b"}]', patch, "PATCH"), true);
  assert.equal(await isLarge('[{"op":"c\\u006fpy","from":"/a","path":"/b"}]', patch, "PATCH"), true);
  assert.equal(await isLarge('[{"op":"add","path":"/b","value":1}]', patch, "PATCH"), false);
});

test("what cannot be read is told when it is decoded, not before", async () => {
  const body = await bodyOf(`a: [${"1,".repeat(40_000)}`, "application/yaml", readerHere());
  assert.throws(() => body?.decode(ConfigMap), /invalid YAML/);
});
