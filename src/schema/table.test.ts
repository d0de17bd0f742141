import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "#base/errors.ts";
import { ageColumn, nameColumn } from "./columns.ts";
import { bool, int32, ref } from "./field.ts";
import { resource } from "./kind.ts";
import { struct } from "./struct.ts";
import {
  parseIncludeObject,
  partialObjectMetadata,
  partialObjectMetadataList,
  tableOfList,
  tableOfObject,
} from "./table.ts";

const Ship = resource({
  group: "sea.example",
  version: "v1",
  kind: "Ship",
  plural: "ships",
  scope: "Namespaced",
  doc: "Carries cargo.",
  fields: { status: ref(2, struct("sea/v1.ShipStatus", { masts: int32(1), sunk: bool(2) })).default({}) },
  columns: [
    nameColumn,
    { name: "Masts", type: "integer", doc: "How many.", cell: (ship) => ship.status.masts },
    { name: "Sunk", type: "boolean", cell: (ship) => ship.status.sunk, wide: true },
    ageColumn,
  ],
  rowConditions: (ship) => (ship.status.sunk ? [{ type: "Completed", status: "True", reason: "Sunk" }] : []),
});

const now = Date.parse("2026-01-01T01:00:00Z");
const metadata = { name: "knarr", namespace: "north", resourceVersion: "7", creationTimestamp: "2026-01-01T00:00:00Z" };
const ship = { apiVersion: "sea.example/v1", kind: "Ship", metadata, status: { masts: 1 } };

test("a table has a definition and a cell for each column", () => {
  assert.deepEqual(tableOfObject(Ship, ship, { now }), {
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata: { resourceVersion: "7" },
    columnDefinitions: [
      { name: "Name", type: "string", format: "name", description: nameColumn.doc, priority: 0 },
      { name: "Masts", type: "integer", format: "", description: "How many.", priority: 0 },
      { name: "Sunk", type: "boolean", format: "", description: "", priority: 1 },
      { name: "Age", type: "string", format: "", description: ageColumn.doc, priority: 0 },
    ],
    rows: [
      {
        cells: ["knarr", 1, false, "60m"],
        object: { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata },
      },
    ],
  });
});

test("a list's table keeps the way to the next page, and rows have their conditions", () => {
  const list = {
    metadata: { resourceVersion: "9", continue: "more", remainingItemCount: 3, selfLink: "" },
    items: [{ ...ship, status: { sunk: true } }],
  };
  const table = tableOfList(Ship, list, {
    now,
    includeObject: "None",
    headers: false,
    apiVersion: "meta.k8s.io/v1beta1",
  });
  assert.deepEqual(table.metadata, { resourceVersion: "9", continue: "more", remainingItemCount: 3 });
  assert.deepEqual(table.columnDefinitions, []);
  assert.equal(table.apiVersion, "meta.k8s.io/v1beta1");
  assert.deepEqual(table.rows, [
    {
      cells: ["knarr", 0, true, "60m"],
      conditions: [{ type: "Completed", status: "True", reason: "Sunk" }],
      object: null,
    },
  ]);
});

test("a table with objects names the kind of each", () => {
  const { kind: _, apiVersion: __, ...bare } = ship;
  assert.deepEqual(tableOfObject(Ship, bare, { now, includeObject: "Object" }).rows[0]?.object, ship);
});

test("a kind without columns shows name and creation time", () => {
  const bare = resource({
    group: "",
    version: "v1",
    kind: "Buoy",
    plural: "buoys",
    scope: "Cluster",
    doc: "",
    fields: {},
  });
  const table = tableOfList(bare, { metadata: {}, items: [ship, { metadata: { name: "x" } }] }, { now });
  assert.deepEqual(
    table.columnDefinitions.map(({ name, type }) => [name, type]),
    [
      ["Name", "string"],
      ["Created At", "date"],
    ],
  );
  assert.deepEqual(
    table.rows.map(({ cells }) => cells),
    [
      ["knarr", "2026-01-01T00:00:00Z"],
      ["x", "0001-01-01T00:00:00Z"],
    ],
  );
});

test("a bookmark is a row without cells, and the one that ends the initial events keeps its annotation", () => {
  const bookmark = { metadata: { resourceVersion: "8", annotations: { "k8s.io/initial-events-end": "true" } } };
  const { rows } = tableOfObject(Ship, bookmark, { now, includeObject: "None", bookmark: true });
  assert.deepEqual(rows, [{ cells: [null, null, null, null], object: partialObjectMetadata(bookmark) }]);
});

test("what to include with a row is one of three things", () => {
  assert.equal(parseIncludeObject(undefined), "Metadata");
  assert.equal(parseIncludeObject(""), "Metadata");
  assert.equal(parseIncludeObject("None"), "None");
  assert.throws(
    () => parseIncludeObject("All"),
    new ApiError({
      code: 400,
      reason: "BadRequest",
      message:
        "Unable to convert to Table as requested: includeObject: Invalid value: \"All\": must be 'Metadata', 'Object', 'None', or empty",
    }),
  );
});

test("metadata alone keeps nothing else of the objects", () => {
  assert.deepEqual(partialObjectMetadataList({ metadata: { resourceVersion: "9" }, items: [ship] }), {
    kind: "PartialObjectMetadataList",
    apiVersion: "meta.k8s.io/v1",
    metadata: { resourceVersion: "9" },
    items: [{ kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata }],
  });
});
