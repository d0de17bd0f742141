// Managers that write in different versions of a kind.
import assert from "node:assert/strict";
import { test } from "node:test";
import { int32, list, ref, string } from "../field.ts";
import { type AnyKind, resource } from "../kind.ts";
import { struct } from "../struct.ts";
import { applyObject, trackUpdate } from "./apply.ts";
import { pathText } from "./element.ts";
import { pathsOf } from "./field-set.ts";
import type { OwnedFieldsEntry } from "./managed.ts";
import type { JsonMap } from "./value.ts";

const named = { group: "test", kind: "Box", plural: "boxes", scope: "Namespaced", doc: "A box." } as const;
const label = struct("test/v1.Label", { name: string(1).required(), text: string(2) });
/** The stored version. */
const BoxV2: AnyKind = resource({
  ...named,
  version: "v2",
  fields: {
    spec: ref(
      2,
      struct("test/v2.BoxSpec", { width: int32(1), height: int32(2), labels: list(3, label).keyedBy("name") }),
    ).default({}),
  },
});
/** Once a box was a square, and its width was called `size`. */
const BoxV1: AnyKind = resource({
  ...named,
  version: "v1",
  fields: {
    spec: ref(
      2,
      struct("test/v1.BoxSpec", { size: int32(1), height: int32(2), labels: list(3, label).keyedBy("name") }),
    ).default({}),
  },
  convert: {
    to: () => BoxV2,
    toStored: ({ spec: { size, ...spec }, ...box }: any) => ({
      ...box,
      spec: size === undefined ? spec : { ...spec, width: size },
    }),
    fromStored: ({ spec: { width, ...spec }, ...box }) => ({
      ...box,
      spec: width === undefined ? spec : { ...spec, size: width },
    }),
  },
});
const versions = [BoxV1, BoxV2];
const now = Date.UTC(2026, 0, 1);

const config = (kind: AnyKind, spec: object): JsonMap => ({
  apiVersion: kind.apiVersion,
  kind: "Box",
  metadata: { name: "b" },
  spec,
});
const stored = (object: JsonMap, managedFields: readonly OwnedFieldsEntry[]): JsonMap => ({
  ...object,
  metadata: { ...(object.metadata as JsonMap), uid: "1", managedFields },
});
/** The object as a request in that version sees it. */
const as = (kind: AnyKind, object: any): JsonMap => {
  if (object.apiVersion === kind.apiVersion) return object;
  const converted = kind === BoxV1 ? BoxV1.convert?.fromStored(object) : BoxV1.convert?.toStored(object);
  return { ...converted, apiVersion: kind.apiVersion };
};
const apply = (kind: AnyKind, live: JsonMap | undefined, manager: string, spec: object, force = false): JsonMap => {
  const write = { kind, versions, live: live && as(kind, live), applied: config(kind, spec), manager, now, force };
  const { object, managedFields } = applyObject(write);
  return stored(object, managedFields);
};
const owners = (object: any): string[] =>
  object.metadata.managedFields.map(
    ({ manager, apiVersion, fieldsV1 }: any) =>
      `${manager} ${apiVersion}: ${pathsOf(fieldsV1).map(pathText).join(" ")}`,
  );

test("a conflict is found under the name that the owner's version has for the field", () => {
  const live = apply(BoxV1, undefined, "old", { size: 1 });
  assert.throws(() => apply(BoxV2, live, "new", { width: 2 }), {
    message: 'Apply failed with 1 conflict: conflict with "old": .spec.size',
  });
  const forced = apply(BoxV2, live, "new", { width: 2 }, true);
  assert.deepEqual(owners(forced), ["new test/v2: .spec.width"]);
});

test("an applier that changes its version removes what it no longer applies", () => {
  const live = apply(BoxV1, undefined, "me", { size: 1, height: 2, labels: [{ name: "a" }, { name: "b" }] });
  const after = apply(BoxV2, live, "me", { height: 2, labels: [{ name: "b" }] });
  assert.deepEqual(after.spec, { height: 2, labels: [{ name: "b" }] });
  assert.deepEqual(owners(after), ['me test/v2: .spec.height .spec.labels[name="b"] .spec.labels[name="b"].name']);
});

test("what another manager owns in another version stays", () => {
  const one = apply(BoxV1, undefined, "old", { size: 1 });
  const two = apply(BoxV2, one, "new", { width: 1, height: 2 });
  const after = apply(BoxV2, two, "new", { height: 2 });
  assert.deepEqual(after.spec, { width: 1, height: 2 });
  assert.deepEqual(owners(after), ["new test/v2: .spec.height", "old test/v1: .spec.size"]);
});

test("an update in one version takes fields from owners in another", () => {
  const live = as(BoxV2, apply(BoxV1, undefined, "old", { size: 1, height: 1 }));
  const updated = { ...live, spec: { width: 5, height: 1 } };
  const managedFields = trackUpdate({ kind: BoxV2, versions, live, updated, manager: "new", now });
  assert.deepEqual(owners(stored(updated, managedFields)), ["old test/v1: .spec.height", "new test/v2: .spec.width"]);
});

test("the entries of an updater are one for each version it writes in", () => {
  let live: JsonMap = config(BoxV1, { size: 1 });
  live = stored(live, trackUpdate({ kind: BoxV1, versions, live: undefined, updated: live, manager: "u", now }));
  live = as(BoxV2, live);
  const updated = { ...live, spec: { width: 1, height: 3 } };
  const managedFields = trackUpdate({ kind: BoxV2, versions, live, updated, manager: "u", now });
  assert.deepEqual(owners(stored(updated, managedFields)), ["u test/v1: .spec.size", "u test/v2: .spec.height"]);
});

test("entries in a version that is no longer served are dropped", () => {
  const live = as(BoxV2, apply(BoxV1, undefined, "old", { size: 1 }));
  const updated = { ...live, spec: { width: 1, height: 3 } };
  const managedFields = trackUpdate({ kind: BoxV2, live, updated, manager: "new", now });
  assert.deepEqual(owners(stored(updated, managedFields)), ["new test/v2: .spec.height"]);
});
