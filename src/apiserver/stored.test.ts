import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { deepFreeze } from "#base/collections.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import { arbitraryObject } from "#schema/testing/arbitrary.ts";
import { asHeld } from "#schema/written.ts";
import type { Entry } from "#store/engine.ts";
import { StoredForm, type StoredObject } from "./stored.ts";

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/** As the embedded store gives it: in bytes of its own. */
const entryOf = (form: StoredForm, object: ApiObject, modified = 7): Entry => ({
  key: "/registry/things/default/a",
  value: Uint8Array.from(form.encodeBriefly(object)),
  created: 3,
  modified,
});

const configMap: ApiObject = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: {
    name: "a",
    namespace: "default",
    labels: { "10": "b", "2": "a", x: "c" },
    managedFields: [{ manager: "me", operation: "Update", apiVersion: "v1", fieldsV1: { "f:data": {} } }],
  },
  data: { "30": "ü", "4": "\ud800", text: 'a "word"\n' },
} as object as ApiObject;

/** What was written by another server, which a server knows from the store alone. */
const foreign = (value: string): StoredObject => {
  const entry = {
    key: "/registry/configmaps/default/a",
    value: new TextEncoder().encode(value),
    created: 3,
    modified: 7,
  };
  return new StoredForm(ConfigMap, deepFreeze).of(entry);
};

const cases: readonly [string, AnyKind, fc.Arbitrary<ApiObject>][] = [
  ["any pod", Pod, arbitraryObject(Pod) as fc.Arbitrary<object> as fc.Arbitrary<ApiObject>],
  ["any config map", ConfigMap, arbitraryObject(ConfigMap) as fc.Arbitrary<object> as fc.Arbitrary<ApiObject>],
  ["keys that look like numbers", ConfigMap, fc.constant(configMap)],
];
for (const [name, kind, objects] of cases)
  test(`the bytes that are made again are those that were there: ${name}`, () => {
    fc.assert(
      fc.property(objects, (drawn) => {
        const object = { ...drawn, metadata: { ...drawn.metadata, name: "a", namespace: "default" } };
        const writer = new StoredForm(kind, deepFreeze);
        const entry = entryOf(writer, object);
        const written = writer.written(object, entry);
        const before = written.json;
        written.settle(true);
        assert.notEqual(written.json, before);
        assert.equal(text(written.json), text(before));

        const read = new StoredForm(kind, deepFreeze).of(entry);
        read.settle(false);
        assert.equal(text(read.json), text(before));
        const bytes = read.json;
        assert.deepEqual(read.object, asHeld(kind, JSON.parse(text(before))));
        read.settle(true);
        assert.notEqual(read.json, bytes);
        assert.equal(text(read.json), text(before));
      }),
      { numRuns: 60 },
    );
  });

test("what another server wrote in its own way keeps its bytes", () => {
  const stored = foreign('{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}, "data":{"b":"1","a":"2"}}');
  assert.deepEqual(stored.object.data, { b: "1", a: "2" });
  const { json } = stored;
  stored.settle(true);
  assert.equal(stored.json, json);
  assert.equal(
    text(json),
    '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"7","name":"a"}, "data":{"b":"1","a":"2"}}\n',
  );
});

test("what settles as bytes keeps no object that nobody was given, and finds one that somebody has", () => {
  const form = new StoredForm(ConfigMap, deepFreeze);
  const unseen = form.written(configMap, entryOf(form, configMap));
  unseen.settle(false);
  assert.equal(unseen.held, undefined);
  const seen = form.written(configMap, entryOf(form, configMap));
  const { object } = seen;
  seen.settle(false);
  assert.equal(seen.object, object);
});

test("what settles as an object stays that object, and as bytes if nobody has read it", () => {
  const form = new StoredForm(ConfigMap, deepFreeze);
  const written = form.written(configMap, entryOf(form, configMap));
  const { object } = written;
  written.settle(true);
  written.settle(true);
  assert.equal(written.object, object);
  const unread = new StoredForm(ConfigMap, deepFreeze).of(entryOf(form, configMap));
  const { json } = unread;
  unread.settle(true);
  assert.equal(unread.held, undefined);
  assert.equal(unread.json, json);
});

test("what is asked for in its other form is warm until it settles again", () => {
  const form = new StoredForm(ConfigMap, deepFreeze);
  const [asObject, asBytes] = [form.written(configMap, entryOf(form, configMap)), form.of(entryOf(form, configMap, 8))];
  assert.ok(asObject.json.length > 0 && asBytes.object);
  assert.equal(form.warm.size, 0);
  asObject.settle(true);
  asBytes.settle(false);
  assert.ok(asObject.object && asBytes.json);
  assert.equal(form.warm.size, 0);
  assert.ok(asObject.json && asBytes.object);
  assert.deepEqual([...form.warm], [asObject, asBytes]);
  assert.deepEqual([asObject.takeAsked(), asObject.takeAsked()], [true, false]);
});

for (const [form, settled] of [
  ["fresh", () => undefined],
  ["an object", (stored: StoredObject) => stored.settle(true)],
  ["bytes", (stored: StoredObject) => stored.settle(false)],
] as const)
  test(`a deletion has the revision of its own, and else what was there last as ${form}`, () => {
    const writer = new StoredForm(ConfigMap, deepFreeze);
    const stored = writer.written(configMap, entryOf(writer, configMap, 9));
    settled(stored);
    const deleted = stored.deleted(10);
    assert.equal(deleted.revision, 10);
    assert.equal(text(deleted.json), text(stored.json).replace('"resourceVersion":"9"', '"resourceVersion":"10"'));
    assert.deepEqual(deleted.object, JSON.parse(text(deleted.json)));
  });

test("what this server wrote comes back as the same stored object, also in other bytes, until the cache has had it", () => {
  const form = new StoredForm(ConfigMap, deepFreeze);
  const entry = entryOf(form, configMap, 9);
  const again = () => form.of({ ...entry, value: Uint8Array.from(entry.value) });
  const stored = form.written(configMap, entry);
  assert.equal(again(), stored);
  assert.notEqual(form.of({ ...entry, key: "/registry/things/default/b" }), stored, "of another key");
  form.passed(8);
  assert.equal(again(), stored);
  form.passed(9);
  assert.notEqual(again(), stored);
  assert.deepEqual(again().object, stored.object);
});

test("what the cache has had before the put was answered is not waited for", () => {
  const form = new StoredForm(ConfigMap, deepFreeze);
  const entry = entryOf(form, configMap, 9);
  form.passed(9);
  assert.notEqual(form.of(entry), form.written(configMap, entry));
});
