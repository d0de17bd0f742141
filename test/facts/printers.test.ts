// The columns of every kind against the table of upstream's printers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { catalog } from "#api/catalog.ts";
import { columnDefinition, columnsOf } from "#schema/table.ts";
import { complete, facts, missing } from "./facts.ts";

interface ColumnFacts {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly priority: number;
}
interface KindFacts {
  readonly group: string;
  readonly kind: string;
  readonly columns: readonly ColumnFacts[];
  /** Upstream has the columns, but its server does not use them. */
  readonly usedByServer?: false;
}

test("every kind that can be listed has upstream's columns", { skip: missing }, (context) => {
  const all = facts<{ kinds: readonly KindFacts[] }>("printers").kinds.filter((one) => one.usedByServer !== false);
  const wrong = catalog
    .filter(({ verbs }) => verbs.includes("list"))
    .flatMap((kind) => {
      const group = groups[kind.apiVersion] ?? kind.group;
      const expected = text(all.find((one) => one.group === group && one.kind === kind.kind)?.columns ?? []);
      const ours = text(columnsOf(kind).map(columnDefinition));
      if (ours === expected) return [];
      if (!complete && kind.columns === undefined) {
        context.diagnostic(`pending: ${kind.apiVersion} ${kind.kind}`);
        return [];
      }
      return [`${kind.apiVersion} ${kind.kind}: ${ours}; upstream ${expected}`];
    });
  assert.deepEqual(wrong, []);
});

/** Two groups have events, and one printer prints both. */
const groups: Readonly<Record<string, string>> = { "events.k8s.io/v1": "" };

const text = (columns: readonly ColumnFacts[]): string =>
  columns
    .map(({ name, type, format, priority }) => `${name}:${type}${format && `(${format})`}${priority ? " wide" : ""}`)
    .join(", ");
