// For tests of declarations: what an object becomes, and what is wrong with it, in one line each.
import assert from "node:assert/strict";
import { test } from "node:test";
import { applyDefaults } from "#schema/defaults.ts";
import { type AnyKind, problemText } from "#schema/index.ts";
import { tableOfObject } from "#schema/table.ts";
import { validateObject, validateStatus } from "#schema/validate.ts";

type Json = Readonly<Record<string, unknown>>;

/** The object with its defaults; what was given stays as it is. */
export const defaulted = (kind: AnyKind, given: Json): Record<string, unknown> =>
  applyDefaults(kind, structuredClone({ apiVersion: kind.apiVersion, kind: kind.kind, ...given }));

/** The problems of creating the object or, with `old`, of updating it, as `field: message`. */
export const problemsOf = (kind: AnyKind, given: Json, old?: Json): readonly string[] =>
  validateObject(kind, named(kind, given), old && named(kind, old)).map(problemText);

/** The problems of writing a status. */
export const statusProblemsOf = (kind: AnyKind, given: Json, old: Json): readonly string[] =>
  validateStatus(kind, named(kind, given), named(kind, old)).map(problemText);

const named = (kind: AnyKind, given: Json) =>
  defaulted(kind, {
    ...given,
    metadata: {
      name: "example",
      ...(kind.scope === "Namespaced" && { namespace: "default" }),
      resourceVersion: "1",
      ...(given.metadata as Json | undefined),
    },
  });

/** `base` with the values at the given paths (`spec.rules.0.host`) replaced; `undefined` removes one. */
export function changed(base: Json, changes: Json): Record<string, unknown> {
  const copy: Record<string, unknown> = structuredClone(base);
  for (const [path, value] of Object.entries(changes)) {
    const keys = path.split(".");
    const last = keys.pop() as string;
    let at = copy;
    for (const key of keys) {
      at[key] ??= {};
      at = at[key] as Record<string, unknown>;
    }
    if (value === undefined) delete at[last];
    else at[last] = value;
  }
  return copy;
}

/** A template that is valid in every kind that keeps pods running for ever. */
export const podTemplate = {
  metadata: { labels: { app: "web" } },
  spec: { containers: [{ name: "web", image: "web:1" }] },
};

/** One test per line: what is changed of a valid object, and the problems that follow. No change must leave none. */
export function ruleTests(
  kind: AnyKind,
  valid: Json,
  rules: Readonly<Record<string, readonly [changes: Json, ...problems: string[]]>>,
): void {
  test(`a plain ${kind.kind} is valid, and an update that changes nothing too`, () => {
    assert.deepEqual(problemsOf(kind, valid), []);
    assert.deepEqual(problemsOf(kind, valid, valid), []);
  });
  for (const [what, [changes, ...problems]] of Object.entries(rules))
    test(`of ${kind.kind}: ${what}`, () => assert.deepEqual(problemsOf(kind, changed(valid, changes)), problems));
}

/** The same of updates from `valid`. */
export function updateTests(
  kind: AnyKind,
  valid: Json,
  rules: Readonly<Record<string, readonly [changes: Json, ...problems: string[]]>>,
): void {
  for (const [what, [changes, ...problems]] of Object.entries(rules))
    test(`of an update of ${kind.kind}: ${what}`, () =>
      assert.deepEqual(problemsOf(kind, changed(valid, changes), valid), problems));
}

/** The cells of one row, as of 2026. */
export const cellsOf = (kind: AnyKind, given: Json): readonly unknown[] => {
  const object = named(kind, {
    ...given,
    metadata: { creationTimestamp: "2025-12-31T23:59:00Z", ...(given.metadata as Json) },
  });
  return tableOfObject(kind, object as never, { now: Date.parse("2026-01-01T00:00:00Z") }).rows[0]?.cells ?? [];
};
