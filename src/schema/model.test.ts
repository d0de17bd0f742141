import assert from "node:assert/strict";
import { test } from "node:test";
import { shapeOf } from "./apply/declared.ts";
import { decodeText, decodeValue } from "./decode.ts";
import { applyDefaults } from "./defaults.ts";
import { int32, list, ref, resource, string, struct } from "./index.ts";
import type { AnyKind } from "./kind.ts";
import { structuralKind } from "./structural/kind.ts";
import { validateObject } from "./validate.ts";

const names = { group: "test", version: "v1", kind: "Thing", plural: "things", scope: "Namespaced", doc: "" } as const;
const Item = struct("test/v1.Item", { name: string(1).required(), size: int32(2).min(0) });
const Spec = struct("test/v1.Spec", { items: list(1, Item).keyedBy("name"), mode: string(2).default("fast") });
const Status = struct("test/v1.Status", { phase: string(1) });
const item = {
  type: "object",
  required: ["name"],
  properties: { name: { type: "string" }, size: { type: "integer", minimum: 0 } },
};
const items = { type: "array", items: item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] };
const schema = {
  type: "object",
  properties: {
    spec: { type: "object", default: {}, properties: { items, mode: { type: "string", default: "fast" } } },
    status: { type: "object", properties: { phase: { type: "string" } } },
  },
};

/** The same kind by either maker. */
const kinds: readonly (readonly [string, AnyKind])[] = [
  ["declared", resource({ ...names, fields: { spec: ref(2, Spec).default({}), status: ref(3, Status) } })],
  ["structural", structuralKind({ ...names, schema })],
];
const metadata = { name: "a", namespace: "n" };

for (const [maker, kind] of kinds) {
  test(`a ${maker} model decodes, and tells of what it does not know`, () => {
    const { object, strictErrors } = decodeText(kind, '{"metadata":{"name":"a"},"spec":{"mode":"x","z":1}}');
    assert.deepEqual(object, { metadata: { name: "a" }, spec: { mode: "x" } });
    assert.deepEqual(strictErrors, ['unknown field "spec.z"']);
    assert.deepEqual(decodeValue(kind, null).object, {});
  });

  test(`a ${maker} model fills in defaults, and metadata`, () =>
    assert.deepEqual(applyDefaults(kind, {}), { metadata: {}, spec: { mode: "fast" } }));

  test(`a ${maker} model finds what is wrong, after what is wrong with metadata`, () => {
    const fields = (object: object) =>
      validateObject(kind, object as Record<string, unknown>).map(({ field }) => field);
    assert.deepEqual(fields({ metadata, spec: { items: [{ name: "a", size: 1 }] } }), []);
    assert.deepEqual(fields({ metadata: { name: "A", namespace: "n" }, spec: { items: [{ name: "a", size: -1 }] } }), [
      "metadata.name",
      "spec.items[0].size",
    ]);
  });

  test(`a ${maker} model knows its fields, and how they are owned`, () => {
    assert.deepEqual(kind.model.fieldNames.toSorted(), ["spec", "status"]);
    assert.deepEqual(kind.model.fieldsOf({ metadata, spec: {}, status: {} }).toSorted(), ["spec", "status"]);
    const spec = shapeOf(kind).map?.fields.get("spec")?.shape;
    assert.deepEqual(
      spec?.map?.fields.get("items")?.shape.list?.keys.map(({ name }) => name),
      ["name"],
    );
    assert.equal(kind.model.shape, kind.model.shape);
  });

  test(`a ${maker} model reads what was written`, () => {
    const text = '{"metadata":{"name":"a"},"spec":{"items":[{"name":"b"}]}}';
    assert.equal(JSON.stringify(kind.model.parse(text)), text);
  });
}
