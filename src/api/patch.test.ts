// Every kind can be brought from any state to any other by each sort of patch, made from the two states.

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { deepFreeze, own, setOwn } from "#base/collections.ts";
import { isObject } from "#base/is-object.ts";
import { same } from "#schema/diff.ts";
import type { AnyKind, AnyStruct, Type } from "#schema/index.ts";
import { applyJsonPatch } from "#schema/patch/json-patch.ts";
import { createJsonPatch } from "#schema/patch/json-patch-diff.ts";
import { applyMergePatch, createMergePatch, createThreeWayMergePatch } from "#schema/patch/merge-patch.ts";
import { createStrategicPatch, createThreeWayStrategicPatch } from "#schema/patch/strategic-diff.ts";
import { applyStrategicPatch } from "#schema/patch/strategic-merge.ts";
import { arbitraryObject } from "#schema/testing/arbitrary.ts";
import { catalog } from "./catalog.ts";

type Values = Readonly<Record<string, unknown>>;

for (const kind of catalog) {
  test(`${kind.apiVersion} ${kind.kind} can be patched from any state to any other`, () => {
    fc.assert(
      fc.property(twoStates(kind), ([before, after]) => {
        deepFreeze([before, after]);
        assert.equal(text(applyMergePatch(before, createMergePatch(before, after))), text(after));
        assert.equal(text(applyJsonPatch(before, createJsonPatch(before, after)) as Values), text(after));
        assert.equal(text(createThreeWayMergePatch(before, after, before)), text(createMergePatch(before, after)));

        const patch = createStrategicPatch(kind.struct, before, after);
        assert.equal(text(applyStrategicPatch(kind.struct, before, patch)), text(after));
        const states = { original: before, modified: after, current: before };
        const three = createThreeWayStrategicPatch(kind.struct, states, true);
        assert.equal(text(applyStrategicPatch(kind.struct, before, three)), text(after));

        assert.ok(same(kind.struct, before, before));
        assert.ok(same(kind.struct, before, after) || Object.keys(patch).length > 0);
      }),
      { numRuns: 8 },
    );
  });
}

/** Two objects that have much in common: the second is put together from the first and from another. */
function twoStates(kind: AnyKind): fc.Arbitrary<[Values, Values]> {
  const one = arbitraryObject(kind, { depth: 6, breadth: 5 }).map(
    (object) => patchable({ is: "struct", struct: () => kind.struct as AnyStruct }, object) as Values,
  );
  return fc
    .tuple(one, one, fc.infiniteStream(fc.boolean()))
    .map(([a, b, choices]) => [a, mixed(a, b, choices) as Values]);
}

function mixed(a: unknown, b: unknown, choices: fc.Stream<boolean>): unknown {
  const pick = () => choices.next().value === true;
  if (!isObject(a) || !isObject(b)) return pick() ? a : b;
  const result: Record<string, unknown> = {};
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const value = mixed(own(a, key), own(b, key), choices);
    if (value !== undefined) setOwn(result, key, value);
  }
  return result;
}

/**
 * What patches can tell apart: items of merged lists have their own keys, and there is no null, which would mean removal.
 * Neither can they reach into values without a schema, as upstream cannot.
 */
function patchable(type: Type, value: unknown): unknown {
  if (type.is === "struct" && isObject(value)) return patchableFields(type.struct(), value);
  if (type.is === "either") return true;
  if (type.is === "list" && Array.isArray(value)) return value.map((item) => patchable(type.item, item));
  if (type.is === "map" && type.value.is === "list") return {};
  if (type.is === "map" && isObject(value))
    return withKeys(value, (_, item) => (type.value.is === "struct" ? undefined : patchable(type.value, item)));
  if (type.is === "json" || type.is === "rawExtension" || type.is === "fieldsV1")
    return isObject(value) ? withKeys(value, (_, item) => (typeof item === "object" ? undefined : item)) : "x";
  return value;
}

function patchableFields(struct: AnyStruct, value: Values): Values {
  return withKeys(value, (name, given) => {
    const spec = struct.fields[name]?.spec;
    if (!spec) return given;
    const clean = patchable(spec.type, given);
    if (!Array.isArray(clean) || !spec.patchStrategy?.startsWith("merge")) return clean;
    if (spec.patchKey === undefined) return [...new Set(clean)];
    const keyed = clean.filter((item) => isObject(item) && own(item, spec.patchKey as string) !== undefined);
    return [...new Map(keyed.map((item) => [item[spec.patchKey as string], item])).values()];
  });
}

function withKeys(value: Values, change: (key: string, item: unknown) => unknown): Values {
  const result: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const item = change(key, value[key]);
    if (item !== undefined && !key.startsWith("$")) setOwn(result, key, item);
  }
  return result;
}

/** JSON with sorted keys: what is sent is compared, `__proto__` as a key included. */
function text(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(text).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const entries = Object.keys(value).map((key) => `${JSON.stringify(key)}:${text(value[key])}`);
  return `{${entries.sort().join(",")}}`;
}
