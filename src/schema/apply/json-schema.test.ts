import assert from "node:assert/strict";
import { test } from "node:test";
import { structuralKind } from "../structural/kind.ts";
import { shapeOf } from "./declared.ts";
import type { ApplyShape } from "./shape.ts";
import { Story } from "./testing.ts";

const custom = (schema: Readonly<Record<string, unknown>>) =>
  structuralKind({
    group: "example.com",
    version: "v1",
    kind: "Custom",
    plural: "customs",
    scope: "Namespaced",
    doc: "Made at run time.",
    schema,
  });

const Custom = custom({
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        size: { type: "integer" },
        when: { type: "string", format: "date-time" },
        port: { "x-kubernetes-int-or-string": true },
        words: { type: "array", items: { type: "string" } },
        set: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" },
        items: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["name", "zone"],
          items: {
            type: "object",
            properties: { name: { type: "string" }, zone: { type: "string", default: "a" }, n: { type: "number" } },
          },
        },
        labels: { type: "object", additionalProperties: { type: "string" } },
        whole: { type: "object", properties: { a: { type: "string" } }, "x-kubernetes-map-type": "atomic" },
        open: {
          type: "object",
          properties: { a: { type: "string" }, inner: { type: "object", properties: { b: { type: "string" } } } },
          "x-kubernetes-preserve-unknown-fields": true,
        },
        anything: { "x-kubernetes-preserve-unknown-fields": true },
        embedded: { type: "object", "x-kubernetes-embedded-resource": true, properties: { data: { type: "string" } } },
      },
    },
  },
});

test("a custom resource is owned as its schema says", () => {
  const story = new Story(Custom).apply("ann", {
    spec: {
      size: 1,
      words: ["a"],
      set: ["x"],
      items: [
        { name: "n", n: 1 },
        { name: "n", zone: "b" },
      ],
      labels: { l: "1" },
      whole: { a: "1" },
      open: { a: "1", extra: { deep: [1] } },
      anything: { x: { y: 1 } },
      embedded: { apiVersion: "v1", kind: "K", metadata: { labels: { a: "1" } }, data: "d" },
    },
  });
  assert.deepEqual(story.owners, [
    "ann Apply 00:00: .spec.size .spec.whole .spec.words .spec.anything.x .spec.anything.x.y .spec.embedded.apiVersion .spec.embedded.data " +
      ".spec.embedded.kind .spec.embedded.metadata.labels.a " +
      '.spec.items[name="n",zone="a"] .spec.items[name="n",zone="b"] .spec.items[name="n",zone="a"].n .spec.items[name="n",zone="a"].name ' +
      '.spec.items[name="n",zone="b"].name .spec.items[name="n",zone="b"].zone ' +
      '.spec.labels.l .spec.open.a .spec.open.extra .spec.open.extra.deep .spec.set[="x"]',
  ]);
  story.apply("bob", {
    spec: { set: ["y"], items: [{ name: "n", zone: "a", n: 1 }], open: { more: 1, inner: { b: "1", c: 2 } } },
  });
  const spec = story.object?.spec as Readonly<Record<string, unknown>>;
  assert.deepEqual(spec.set, ["x", "y"]);
  assert.deepEqual(spec.items, [
    { name: "n", n: 1, zone: "a" },
    { name: "n", zone: "b" },
  ]);
  assert.throws(() => story.apply("bob", { spec: { nope: 1 } }), {
    message:
      "failed to create typed patch object (/it; example.com/v1, Kind=Custom): .spec.nope: field not declared in schema",
  });
});

test("a creation of a custom resource owns all it has", () => {
  const story = new Story(Custom).update("ann", () => ({
    metadata: { labels: { a: "1" } },
    spec: { size: 0, labels: {} },
  }));
  assert.deepEqual(story.owners, [
    "ann Update 00:00: .spec .metadata.labels .metadata.labels.a .spec.labels .spec.size",
  ]);
});

test("a schema that says nothing allows everything but metadata of another form", () => {
  const map = shapeOf(custom({ type: "object", "x-kubernetes-preserve-unknown-fields": true })).map as NonNullable<
    ApplyShape["map"]
  >;
  assert.deepEqual([...map.fields.keys()], ["apiVersion", "kind", "metadata"]);
  assert.ok(map.element);
  const story = new Story(custom({ type: "object", "x-kubernetes-preserve-unknown-fields": true }));
  story.apply("ann", { anything: { a: [1], b: { c: 1 } } });
  assert.deepEqual(story.owners, ["ann Apply 00:00: .anything .anything.a .anything.b .anything.b.c"]);
});

test("when a list or struct becomes atomic, owners of its parts own it as a whole", () => {
  const story = new Story(Custom).apply("ann", { spec: { items: [{ name: "n", n: 1 }], open: { a: "1" }, size: 1 } });
  const changed = structuredClone(Custom.model.publication.schema) as any;
  const { items, open } = changed.properties.spec.properties;
  delete items["x-kubernetes-list-type"];
  open["x-kubernetes-map-type"] = "atomic";
  const after = new Story(custom(changed), story.object).update("bob", (o) => Object.assign(o.spec, { size: 2 }) && o);
  assert.deepEqual(after.owners, ["ann Apply 00:00: .spec.items .spec.open", "bob Update 00:00: .spec.size"]);
});
