// The type of all objects of a kind, as expressions see it that are checked against the kind's schema. Follows
// apiserver/pkg/cel/openapi/resolver and admission/plugin/policy/validating/typechecking.go upstream.
import { isObject } from "#base/is-object.ts";
import type { AnyKind } from "../kind.ts";
import { Definitions } from "../openapi/definitions.ts";
import { readSchema } from "../structural/schema.ts";
import { type DeclaredType, declareSchema } from "./schema-types.ts";

type Json = Readonly<Record<string, unknown>>;

/** Undefined if the kind's schema gives no type. The name is that of the type in errors. */
export async function declareKind(kind: AnyKind): Promise<DeclaredType | undefined> {
  const definitions = new Definitions(3, () => undefined);
  const root = definitions.refTo({ kind });
  const all = await definitions.all();
  return declareSchema(readSchema(inlined(root, all, [])), kind.kind, false);
}

const prefix = "#/components/schemas/";

/** The schema with what it refers to in place. What refers to itself has no type. */
function inlined(schema: Json, all: Json, inside: readonly string[]): Json {
  const [ref] = [schema, ...(Array.isArray(schema.allOf) ? schema.allOf : [])].flatMap(({ $ref }) => $ref ?? []);
  if (typeof ref === "string") {
    const name = ref.slice(prefix.length);
    const target = all[name];
    return isObject(target) && !inside.includes(name) ? inlined(target, all, [...inside, name]) : {};
  }
  if (schema.format === "int-or-string") return { "x-kubernetes-int-or-string": true };
  const { properties, items, additionalProperties, ...rest } = schema;
  const within = (one: unknown): Json => (isObject(one) ? inlined(one, all, inside) : {});
  return {
    ...rest,
    ...(isObject(properties) && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, within(one)])),
    }),
    ...(isObject(items) && { items: within(items) }),
    ...(isObject(additionalProperties) && { additionalProperties: within(additionalProperties) }),
  };
}
