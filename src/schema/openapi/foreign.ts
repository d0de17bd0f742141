// Documents of other servers, beside our own: version 3 documents stay theirs and are only listed here, version 2 is one document for all, so
// theirs is taken into ours. A definition that both have and that differs is taken under another name.
// Follows k8s.io/kube-openapi/pkg/aggregator upstream.
import { equal } from "#base/collections.ts";
import { isObject } from "#base/is-object.ts";
import type { JsonValue } from "./definitions.ts";

export interface ForeignDocument {
  /** `/apis/example.com/v1`: only what lies below it is the other server's to say. */
  readonly prefix: string;
  /** Where its version 3 document is, by its name: `apis/example.com/v1`. */
  readonly v3: { readonly name: string; readonly url: string } | undefined;
  /** Its version 2 document. */
  readonly v2: Json | undefined;
}

type Json = Readonly<Record<string, unknown>>;

const reference = "#/definitions/";

/** Our document with the paths of others, and the definitions that these need. */
export function withForeign(document: JsonValue, foreign: readonly ForeignDocument[]): JsonValue {
  if (!isObject(document) || foreign.length === 0) return document;
  const paths: Record<string, unknown> = { ...objectIn(document, "paths") };
  const definitions: Record<string, unknown> = { ...objectIn(document, "definitions") };
  for (const { prefix, v2 } of foreign) {
    if (!v2) continue;
    const theirs = objectIn(v2, "definitions");
    const itsPaths = Object.entries(objectIn(v2, "paths")).filter(
      ([path]) => path === `${prefix}/` || path.startsWith(`${prefix}/`),
    );
    const needed = reachable(
      itsPaths.map(([, path]) => path),
      theirs,
    );
    const names = new Map([...needed].map((name) => [name, freeName(name, theirs[name], definitions)]));
    for (const [name, taken] of names) definitions[taken] ??= renamed(theirs[name], names);
    for (const [path, item] of itsPaths) paths[path] = renamed(item, names);
  }
  return { ...document, paths, definitions } as JsonValue;
}

const objectIn = (value: Json, name: string): Json => {
  const inner = Object.hasOwn(value, name) ? value[name] : undefined;
  return isObject(inner) ? inner : {};
};

/** The names of all definitions that the values lead to. */
function reachable(values: readonly unknown[], definitions: Json): ReadonlySet<string> {
  const names = new Set<string>();
  const left = [...values];
  while (left.length > 0) {
    const value = left.pop();
    if (Array.isArray(value)) left.push(...value);
    else if (isObject(value)) {
      const name = referenceIn(value);
      if (name !== undefined && !names.has(name) && Object.hasOwn(definitions, name)) {
        names.add(name);
        left.push(definitions[name]);
      }
      left.push(...Object.values(value));
    }
  }
  return names;
}

const referenceIn = ({ $ref }: Json): string | undefined =>
  typeof $ref === "string" && $ref.startsWith(reference) ? $ref.slice(reference.length) : undefined;

/** The first of name, name_v2, name_v3 … that is free, or has the very same definition. */
function freeName(name: string, definition: unknown, taken: Json): string {
  for (let i = 1; ; i++) {
    const candidate = i === 1 ? name : `${name}_v${i}`;
    if (!Object.hasOwn(taken, candidate) || equal(taken[candidate], definition)) return candidate;
  }
}

function renamed(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((one) => renamed(one, names));
  if (!isObject(value)) return value;
  const name = referenceIn(value);
  const entries = Object.entries(value).map(([key, inner]): [string, unknown] => [
    key,
    key === "$ref" && name !== undefined ? reference + (names.get(name) ?? name) : renamed(inner, names),
  ]);
  return Object.fromEntries(entries);
}
