// What holds for any objects and any managers.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ApiError } from "#base/errors.ts";
import type { AnyField } from "../any.ts";
import type { FieldSpec, Type } from "../field.ts";
import type { AnyStruct } from "../struct.ts";
import { arbitraryObject } from "../testing/arbitrary.ts";
import { applyObject, trackUpdate } from "./apply.ts";
import { compare, fieldsOf, isListShape, partOf, withNamedFields } from "./compare.ts";
import { shapeOf } from "./declared.ts";
import { pathText } from "./element.ts";
import { difference, equalSets, type FieldSet, has, intersection, pathsOf, setOf, union } from "./field-set.ts";
import type { OwnedFieldsEntry } from "./managed.ts";
import { type ApplyShape, itemElement } from "./shape.ts";
import { Thing } from "./testing.ts";
import { isMap, type JsonMap } from "./value.ts";
import { zeroOf } from "./zero.ts";

const shape = shapeOf(Thing);
const now = Date.UTC(2026, 0, 1);

/** Without the items that share their keys: an applied configuration may not have any. */
function distinct(shape: ApplyShape, value: unknown): unknown {
  const part = partOf(shape, value);
  if (part === undefined || part === "scalar") return value;
  if (isListShape(part)) {
    const items = (value as unknown[]).map((item) => distinct(part.item, item));
    if (part.atomic) return items;
    return [...new Map(items.map((item) => [itemElement(part, item), item])).values()];
  }
  const entries = Object.entries(value as object).map(([key, inner]) => [
    key,
    distinct(part.fields.get(key)?.shape ?? part.element ?? {}, inner),
  ]);
  return Object.fromEntries(entries);
}

/** Few names and values, so that managers meet; and no null, which is absent to the decoder. */
const few = (value: unknown): unknown => {
  if (value === null) return "b";
  if (typeof value === "string") return ["a", "b", "1"][value.length % 3];
  if (typeof value === "number") return Math.abs(Math.trunc(value)) % 3;
  if (Array.isArray(value)) return value.map(few);
  return isMap(value) ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, few(inner)])) : value;
};

const object: fc.Arbitrary<JsonMap> = arbitraryObject(Thing, { depth: 5, breadth: 9 }).map((drawn) => {
  const { spec, status } = few(drawn) as JsonMap;
  const metadata = { name: "it", labels: { a: "1" } };
  return distinct(shape, { apiVersion: "test/v1", kind: "Thing", metadata, spec, status }) as JsonMap;
});

const withOwners = (object: JsonMap, managedFields: readonly OwnedFieldsEntry[]): JsonMap => ({
  ...object,
  metadata: { ...(object.metadata as JsonMap), uid: "1", managedFields },
});
const created = (object: JsonMap, manager = "creator"): JsonMap =>
  withOwners(object, trackUpdate({ kind: Thing, live: undefined, updated: object, manager, now }));
const apply = (live: JsonMap, applied: JsonMap, manager: string, force: boolean): JsonMap => {
  const result = applyObject({ kind: Thing, live, applied, manager, now, force });
  return withOwners(result.object, result.managedFields);
};
const ownersOf = (object: JsonMap) => (object.metadata as JsonMap).managedFields as readonly OwnedFieldsEntry[];
const setsOf = (object: JsonMap) => ownersOf(object).map(({ fieldsV1 }) => fieldsV1 as FieldSet);
const conflictsOf = (act: () => unknown): readonly string[] => {
  try {
    act();
  } catch (error) {
    if (error instanceof ApiError)
      return (error.details?.causes ?? []).map((cause) => `${cause.message} ${cause.field}`);
    throw error;
  }
  return [];
};

test("applying the same configuration again changes nothing", () => {
  fc.assert(
    fc.property(object, object, (live, applied) => {
      const once = apply(created(live), applied, "ann", true);
      assert.deepEqual(apply(once, applied, "ann", false), once);
    }),
    { numRuns: 100 },
  );
});

test("what is applied is in the object, and its fields are the applier's", () => {
  fc.assert(
    fc.property(object, object, (live, applied) => {
      const after = apply(created(live), applied, "ann", true);
      const { changed, removed } = compare(shape, after, applied);
      const fields = fieldsOf({ shape, value: applied });
      assert.deepEqual(pathsOf(intersection(fields, union(changed, removed))), []);
      const own = ownersOf(after).find(({ manager }) => manager === "ann")?.fieldsV1 as FieldSet;
      assert.ok(pathsOf(own).every((path) => has(fields, path)));
    }),
    { numRuns: 100 },
  );
});

test("what nobody owns disappears only with something that the applier made and all let go", () => {
  fc.assert(
    fc.property(object, object, object, fc.boolean(), (live, first, second, tracked) => {
      const before = apply(tracked ? created(live) : withOwners(live, []), first, "ann", true);
      // Of the others' entries nothing is left: whatever is not ann's is now nobody's.
      const own = ownersOf(before).filter(({ manager }) => manager === "ann");
      const unowned = withOwners(before, own);
      const after = apply(unowned, second, "ann", true);
      const last = withNamedFields((own[0]?.fieldsV1 ?? {}) as FieldSet, shape);
      const kept = withNamedFields(setsOf(after).reduce(union, {}), shape);
      const lost = difference(fieldsOf({ shape, value: unowned }), fieldsOf({ shape, value: after }));
      for (const path of pathsOf(lost)) {
        const prefixes = path.map((_, i) => path.slice(0, i + 1));
        // An empty list or map that got members, and a whole that was replaced, are still there under another path.
        const isMadeAndLeft = prefixes.some((prefix) => has(last, prefix) && !has(kept, prefix));
        const isReplaced = prefixes.some((prefix) => has(kept, prefix));
        assert.ok(isMadeAndLeft || isReplaced, pathText(path));
      }
    }),
    { numRuns: 150 },
  );
});

test("owners of updates own all that differs from an empty object, and nothing that is not there", () => {
  fc.assert(
    fc.property(object, object, object, (first, second, third) => {
      let live = created(first, "one");
      for (const [manager, next] of [
        ["two", second],
        ["one", third],
      ] as const) {
        const updated = { ...next, metadata: { ...(next.metadata as JsonMap), uid: "1" } };
        live = withOwners(updated, trackUpdate({ kind: Thing, live, updated, manager, now }));
      }
      const owned = setsOf(live).reduce(union, {});
      const { changed } = compare(
        shape,
        { ...zeroOf(Thing.struct), apiVersion: "test/v1", kind: "Thing" },
        withOwners(third, []),
      );
      const server = setOf(...["name", "uid", "managedFields"].map((name) => ["f:metadata", `f:${name}`]), [
        "f:metadata",
      ]);
      assert.deepEqual(pathsOf(difference(difference(changed, server), owned)).map(pathText), []);
      const present = flatten(Thing.struct, live);
      for (const path of pathsOf(owned)) assert.ok(present.has(JSON.stringify(path)), pathText(path));
      const overlap = setsOf(live).flatMap((set) => pathsOf(set).map(pathText));
      assert.equal(new Set(overlap).size, overlap.length, "no field has two updaters");
    }),
    { numRuns: 100 },
  );
});

const shuffled = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shuffled);
  if (!isMap(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, inner]) => [key, shuffled(inner)]),
  );
};

test("the order of keys makes no difference", () => {
  fc.assert(
    fc.property(object, object, (live, applied) => {
      const one = apply(created(live), applied, "ann", true);
      const other = apply(created(shuffled(live) as JsonMap), shuffled(applied) as JsonMap, "ann", true);
      assert.deepEqual(other, one);
      assert.equal(JSON.stringify(ownersOf(other)), JSON.stringify(ownersOf(one)));
    }),
    { numRuns: 60 },
  );
});

/**
 * The obvious way to say what fields an object has: every path in it, with the value where a field is owned as a whole, and what it
 * is where its parts are owned one by one. Knows nothing of shapes and sets.
 */
function flatten(struct: AnyStruct, value: unknown): Map<string, unknown> {
  const found = new Map<string, unknown>();
  const visitStruct = (struct: AnyStruct, value: JsonMap, path: readonly string[]) => {
    for (const [name, inner] of Object.entries(value)) {
      const { spec } = struct.fields[name] as AnyField;
      if (inner !== undefined && inner !== null) visit(spec.type, spec, inner, [...path, `f:${name}`]);
    }
  };
  const visit = (type: Type, spec: Partial<FieldSpec>, value: any, path: readonly string[]) => {
    const at = (leaf: unknown) => found.set(JSON.stringify(path), leaf);
    if (type.is === "struct" && !type.struct().atomic) {
      at({ is: "map" });
      visitStruct(type.struct(), value, path);
    } else if (type.is === "map" && spec.mapType !== "atomic") {
      at({ is: "map" });
      for (const key of Object.keys(value)) visit(type.value, {}, value[key], [...path, `f:${key}`]);
    } else if (type.is === "list" && spec.listType === "set") {
      at({ is: "list" });
      for (const item of value) visit(type.item, {}, item, [...path, `v:${JSON.stringify(item)}`]);
    } else if (type.is === "list" && spec.listType === "map" && type.item.is === "struct") {
      at({ is: "list" });
      for (const item of value) {
        const keys = spec.keys?.toSorted().map((key) => [key, item[key] ?? (key === "protocol" ? "TCP" : item[key])]);
        visit(type.item, {}, item, [...path, `k:${JSON.stringify(Object.fromEntries(keys ?? []))}`]);
      }
    } else if ((type.is === "rawExtension" || type.is === "json") && isMap(value)) {
      at({ is: "map" });
      for (const key of Object.keys(value)) visit({ is: "json" }, {}, value[key], [...path, `f:${key}`]);
    } else at(value);
  };
  visitStruct(struct, value as JsonMap, []);
  return found;
}

/** Paths that are new, or whose value is another. */
function changedPaths(before: Map<string, unknown>, after: Map<string, unknown>): Set<string> {
  const text = (leaf: unknown) => JSON.stringify(sortedKeys(leaf));
  return new Set(
    [...after.keys()].filter((path) => !before.has(path) || text(before.get(path)) !== text(after.get(path))),
  );
}
const sortedKeys = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sortedKeys);
  if (!isMap(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sortedKeys(value[key])]),
  );
};

test("conflicts are the changed fields that others own, and no others", () => {
  fc.assert(
    fc.property(object, object, object, (live, first, second) => {
      const before = apply(created(live), first, "bob", true);
      const after = apply(before, second, "ann", true);
      const changed = changedPaths(flatten(Thing.struct, before), flatten(Thing.struct, after));
      const expected = ownersOf(before).flatMap(({ manager, operation, fieldsV1 }) => {
        const who = operation === "Update" ? `"${manager}" using test/v1` : `"${manager}"`;
        const paths = pathsOf(fieldsV1 as FieldSet).filter((path) => changed.has(JSON.stringify(path)));
        return paths.map((path) => `conflict with ${who} ${pathText(path)}`);
      });
      assert.deepEqual(conflictsOf(() => apply(before, second, "ann", false)).toSorted(), expected.toSorted());
    }),
    { numRuns: 150 },
  );
});

test("a forced apply leaves no field with an owner whose value it is not", () => {
  fc.assert(
    fc.property(object, object, object, (live, first, second) => {
      const before = apply(created(live), first, "bob", true);
      const after = apply(before, second, "ann", true);
      const { changed, removed } = compare(shape, before, after);
      for (const { manager, fieldsV1 } of ownersOf(after))
        if (manager !== "ann")
          assert.ok(equalSets(difference(fieldsV1 as FieldSet, union(changed, removed)), fieldsV1 as FieldSet));
    }),
    { numRuns: 60 },
  );
});

test("what was found for one new object serves only those that own the same", () => {
  const zero = { ...zeroOf(Thing.struct), apiVersion: Thing.apiVersion, kind: Thing.kind };
  const entries = (live: JsonMap | undefined, updated: JsonMap) =>
    JSON.stringify(trackUpdate({ kind: Thing, live, updated, manager: "creator", now }));
  const zeroed = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(zeroed);
    if (isMap(value)) return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, zeroed(inner)]));
    return typeof value === "string" ? "" : typeof value === "number" ? 0 : false;
  };
  fc.assert(
    fc.property(object, (drawn) => {
      for (const updated of [drawn, { ...drawn, spec: zeroed(drawn.spec) }, drawn])
        assert.equal(entries(undefined, updated), entries(zero, updated));
    }),
    { numRuns: 300 },
  );
});
