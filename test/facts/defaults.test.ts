// Every default of the table, found by filling in an object that lacks the field.
import assert from "node:assert/strict";
import { test } from "node:test";
import { applyDefaults } from "#schema/defaults.ts";
import { cases, elsewhere } from "./conditional-defaults.ts";
import { facts, missing } from "./facts.ts";
import { reachableStructs } from "./structs.ts";

interface DefaultFacts {
  readonly type: string;
  readonly path: string;
  readonly value: unknown;
  readonly when: string;
  readonly gateDefault?: boolean;
}

const structs = reachableStructs();

test("every default of upstream is filled in", { skip: missing }, () => {
  const { defaults, markerDefaults } =
    facts<Record<"defaults" | "markerDefaults", readonly DefaultFacts[]>>("defaults");
  const wrong = [...defaults, ...markerDefaults]
    // Neither gates that are off, nor versions that are not served, nor types that are no structs.
    .filter(({ type, gateDefault }) => gateDefault !== false && structs.has(type))
    .flatMap((fact) => {
      const where = `${fact.type} ${fact.path}`;
      if (where in elsewhere) return [];
      const one = cases.find(
        ({ of, path, when }) => of === fact.type && path === fact.path && (when ?? fact.when) === fact.when,
      );
      if (!one && !/^(unset|empty string|zero)$/.test(fact.when)) return [`${where} (${fact.when}): no case for it`];
      const object = one?.object ?? minimal(fact.path);
      const found = at(applyDefaults(structs.get(fact.type)!, structuredClone(object)), fact.path);
      const expected = one ? one.expected : (fact.value ?? undefined);
      try {
        assert.deepEqual(found, expected);
        return [];
      } catch {
        return [`${where} (${fact.when}): ${JSON.stringify(found)}, upstream ${JSON.stringify(expected)}`];
      }
    });
  assert.deepEqual(wrong, []);
});

test("defaults that are filled in are stable: a second time changes nothing", { skip: missing }, () => {
  for (const { of, path, object } of cases) {
    const once = applyDefaults(structs.get(of)!, structuredClone(object));
    const twice = applyDefaults(structs.get(of)!, structuredClone(once));
    assert.deepEqual(twice, once, `${of} ${path}`);
  }
});

/** `spec.ports[].protocol` lies in `{ spec: { ports: [{}] } }`. */
function minimal(path: string): Record<string, unknown> {
  return steps(path)
    .slice(0, -1)
    .reduceRight<Record<string, unknown>>((inner, { name, isList }) => ({ [name]: isList ? [inner] : inner }), {});
}

function at(object: unknown, path: string): unknown {
  return steps(path).reduce((value, { name, isList }) => {
    const found = (value as Record<string, unknown> | undefined)?.[name];
    return isList ? (found as readonly unknown[] | undefined)?.[0] : found;
  }, object);
}

/** Names with `[]` are lists, of which the first item counts; `[k]` is an entry of a map, and of resources any will do. */
const steps = (path: string): readonly { readonly name: string; readonly isList: boolean }[] =>
  [...path.matchAll(/([^.[\]]+)(\[\])?|\[([^\]]+)\]/g)].map(([, name, list, key]) => ({
    name: key?.replace("hugepages-*", "hugepages-2Mi").replace(/^k$/, "cpu") ?? name ?? "",
    isList: list !== undefined,
  }));
