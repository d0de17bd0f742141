import assert from "node:assert/strict";
import { test } from "node:test";
import { keepTimes } from "./keep-times.ts";
import { parentManagedFields, scaleManagedFields } from "./scale.ts";

const paths = { "apps/v1": "spec.replicas", "apps/v0": "spec.size", "apps/none": undefined };
const entry = (manager: string, fields: readonly string[], more: object = {}) => ({
  manager,
  operation: "Apply",
  apiVersion: "apps/v1",
  fieldsType: "FieldsV1",
  fieldsV1: { "f:spec": Object.fromEntries(fields.map((field) => [`f:${field}`, {}])) },
  ...more,
});
const scaled = { operation: "Update", apiVersion: "autoscaling/v1", subresource: "scale" };

test("a Scale shows the owners of the size, under its own names", () => {
  const time = "2026-01-01T00:00:00Z";
  const entries = [
    entry("a", ["replicas", "selector"], { time }),
    entry("b", ["selector"]),
    entry("c", ["size"], { apiVersion: "apps/v0" }),
    entry("d", ["replicas"], { apiVersion: "apps/none" }),
    entry("e", ["replicas"], { apiVersion: "other/v1" }),
  ];
  assert.deepEqual(scaleManagedFields(entries, paths), [
    entry("c", ["replicas"], { apiVersion: "autoscaling/v1" }),
    entry("a", ["replicas"], { time, apiVersion: "autoscaling/v1" }),
  ]);
});

test("who scales takes the size from its owners, and nothing else", () => {
  const parent = [
    entry("a", ["replicas", "selector"]),
    entry("b", ["replicas"]),
    entry("c", ["x"], { apiVersion: "apps/none" }),
  ];
  assert.deepEqual(parentManagedFields(parent, [entry("s", ["replicas"], scaled)], paths, "apps/v1"), [
    entry("a", ["selector"]),
    entry("c", ["x"], { apiVersion: "apps/none" }),
    entry("s", ["replicas"], { ...scaled, apiVersion: "apps/v1" }),
  ]);
});

test("who still owns the size in the Scale keeps its entry as it was", () => {
  const parent = [entry("a", ["replicas", "selector"]), entry("u", ["replicas"], { apiVersion: "unknown/v1" })];
  const scale = [entry("a", ["replicas"], { apiVersion: "autoscaling/v1" })];
  assert.deepEqual(parentManagedFields(parent, scale, paths, "apps/v1"), [parent[0]]);
});

test("times alone are no change", () => {
  const object = (time: string, size = 1, fields = ["size"]) => ({
    metadata: { name: "x", managedFields: [entry("a", fields, { time })] },
    spec: { size },
  });
  const live = object("2026-01-01T00:00:00Z");
  const later = "2026-01-01T00:01:00Z";
  assert.deepEqual(keepTimes(live, object(later)), live);
  for (const changed of [object(later, 2), object(later, 1, ["size", "more"])])
    assert.equal(keepTimes(live, changed), changed);
});
