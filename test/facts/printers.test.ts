// The columns of every kind against the table of upstream's printers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { catalog } from "#api/catalog.ts";
import { metaStructs } from "#api/openapi.ts";
import { applyDefaults } from "#schema/defaults.ts";
import type { AnyKind, AnyStruct, Column } from "#schema/index.ts";
import { columnDefinition, columnsOf, tableOfObject } from "#schema/table.ts";
import { facts, missing } from "./facts.ts";
import { fieldsOf } from "./structs.ts";

interface ColumnFacts {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly priority: number;
  /** What the cell shows: a path and how it is shown, or words. */
  readonly reads?: string;
}
interface KindFacts {
  readonly group: string;
  readonly kind: string;
  readonly columns: readonly ColumnFacts[];
  /** Upstream has the columns, but its server does not use them. */
  readonly usedByServer?: false;
}

const factsOf = (kind: AnyKind): readonly ColumnFacts[] => {
  const group = groups[kind.apiVersion] ?? kind.group;
  const all = facts<{ kinds: readonly KindFacts[] }>("printers").kinds.filter((one) => one.usedByServer !== false);
  return all.find((one) => one.group === group && one.kind === kind.kind)?.columns ?? [];
};
const shown = [...catalog.filter(({ verbs }) => verbs.includes("list")), metaStructs.Scale];

test("every kind that can be listed has upstream's columns", { skip: missing }, () => {
  const wrong = shown.flatMap((kind) => {
    const expected = text(factsOf(kind));
    const ours = text(columnsOf(kind).map(columnDefinition));
    return ours === expected ? [] : [`${kind.apiVersion} ${kind.kind}: ${ours}; upstream ${expected}`];
  });
  assert.deepEqual(wrong, []);
});

test("cells that show one field show it, and say what upstream says when it is absent", { skip: missing }, () => {
  let checked = 0;
  const wrong = shown.flatMap((kind) =>
    (kind.columns ?? []).flatMap((column, i) => {
      const reads = factsOf(kind)[i]?.reads;
      // Both groups' events share a printer, but not the paths of what it reads.
      const simple = kind.apiVersion === "events.k8s.io/v1" ? undefined : simpleRead(kind, reads ?? "");
      if (!simple) return [];
      checked += 1;
      const cell = (object: Json) => String(columnCell(column, object));
      const found = { present: cell(simple.present), absent: simple.absent && cell(simple.absent) };
      const expected = { present: simple.text, absent: simple.absent && simple.absentText };
      return JSON.stringify(found) === JSON.stringify(expected)
        ? []
        : [`${kind.apiVersion} ${kind.kind} ${column.name} (${reads}): ${JSON.stringify(found)}`];
    }),
  );
  assert.deepEqual(wrong, []);
  assert.ok(checked > 100, `only ${checked} cells could be checked`);
});

test("a pod that has ended is marked as completed", { skip: missing }, () => {
  const { rules } = facts<{ rules: { podRowConditions: readonly (readonly [string, unknown])[] } }>("printers");
  const pod = catalog.find(({ kind }) => kind === "Pod");
  assert.ok(pod);
  for (const [phase, condition] of rules.podRowConditions) {
    const { rows } = tableOfObject(
      pod,
      { metadata: { name: "a" }, spec: { containers: [] }, status: { phase } },
      { now },
    );
    assert.deepEqual(rows[0]?.conditions, [condition]);
  }
});

type Json = Readonly<Record<string, unknown>> & { readonly metadata: Readonly<Record<string, unknown>> };

const now = Date.parse("2026-01-01T00:01:00Z");
const aMinuteAgo = "2026-01-01T00:00:00Z";

/** The cell as a table shows it. */
const columnCell = (column: Column<never>, object: Json): unknown =>
  tableOfObject({ ...catalog[0]!, columns: [column] } as AnyKind, object, { now }).rows[0]?.cells[0];

/** An object with the field that is read, one without it, and what is shown of each; undefined where the table says it in words. */
function simpleRead(kind: AnyKind, reads: string) {
  const [path = "", ...how] = reads.split(";");
  if (!/^[a-zA-Z]+(\.[a-zA-Z]+(\[0?\])?)*$/.test(path)) return undefined;
  if (!how.every((one) => /^(since|(nil|zero|empty|none)=\S+|join=,)$/.test(one))) return undefined;
  const { value, hasDefault } = valueAt(kind, path);
  if (value === undefined) return undefined;
  const absentText = how.map((one) => /^(?:nil|zero|empty|none)=(.*)$/.exec(one)?.[1]).find((one) => one !== undefined);
  const bare = (): Record<string, unknown> => ({
    metadata: {
      ...(path !== "metadata.name" && { name: "a" }),
      ...(path !== "metadata.creationTimestamp" && { creationTimestamp: aMinuteAgo }),
    },
  });
  return {
    present: applyDefaults(kind, put(bare(), path, value)) as Json,
    text: how.includes("since") ? "60s" : String(value),
    absent: absentText === undefined || hasDefault ? undefined : (applyDefaults(kind, bare()) as Json),
    absentText,
  };
}

const names = (path: string) =>
  path.split(".").map((one) => ({ name: one.replace(/\[0?\]$/, ""), isList: one.endsWith("]") }));

function put(object: Record<string, unknown>, path: string, value: unknown): Record<string, unknown> {
  const steps = names(path);
  let at = object;
  for (const [i, { name, isList }] of steps.entries()) {
    const last = i === steps.length - 1;
    const inner = last ? value : {};
    at[name] ??= isList ? [inner] : inner;
    at = (isList ? (at[name] as unknown[])[0] : at[name]) as Record<string, unknown>;
  }
  return object;
}

/** A value of the type that the field has. */
function valueAt(kind: AnyKind, path: string): { readonly value?: unknown; readonly hasDefault?: boolean } {
  let struct: AnyStruct = kind.struct;
  for (const { name, isList } of names(path)) {
    const spec = new Map(fieldsOf(struct)).get(name);
    const type = spec?.type.is === "list" && isList ? spec.type.item : spec?.type;
    if (!spec || !type) return {};
    if (type.is === "struct") struct = type.struct();
    else return { value: spec.enum?.[0] ?? values[type.is], hasDefault: spec.default !== undefined };
  }
  return {};
}
const values: Readonly<Record<string, unknown>> = {
  string: "x",
  int32: 7,
  int64: 7,
  bool: true,
  quantity: "1Gi",
  intOrString: 5,
  time: aMinuteAgo,
  microTime: aMinuteAgo,
};

/** Two groups have events, and one printer prints both. */
const groups: Readonly<Record<string, string>> = { "events.k8s.io/v1": "" };

const text = (columns: readonly ColumnFacts[]): string =>
  columns
    .map(({ name, type, format, priority }) => `${name}:${type}${format && `(${format})`}${priority ? " wide" : ""}`)
    .join(", ");
