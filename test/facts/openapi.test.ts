// The OpenAPI documents of the whole catalog: sound in themselves, and with the names and defaults of the table.
import assert from "node:assert/strict";
import { test } from "node:test";
import { catalog } from "#api/catalog.ts";
import { metaStructs } from "#api/openapi.ts";
import { OpenApi } from "#schema/openapi/documents.ts";
import { definitionName } from "#schema/openapi/names.ts";
import { facts, missing } from "./facts.ts";
import { fieldsOf, reachableStructs } from "./structs.ts";

type Json = Readonly<Record<string, unknown>>;
interface TypeFacts {
  readonly oa: string | null;
  readonly fields: Readonly<Record<string, { readonly def?: unknown; readonly godef?: string }>>;
}

const api = new OpenApi({ meta: metaStructs, title: { title: "Kubernetes", version: "v1.36.4" } });
api.serve(catalog);

const documents = async (): Promise<readonly Json[]> =>
  Promise.all(api.names().map(async (name) => JSON.parse((await api.document(name))?.content ?? "")));

test("every reference leads somewhere", async () => {
  for (const document of [...(await documents()), JSON.parse((await api.wholeDocument()).content)]) {
    const wrong = new Set<string>();
    JSON.stringify(document, (key, value) => {
      if (key === "$ref" && typeof value === "string" && find(document, value) === undefined) wrong.add(value);
      return value;
    });
    assert.deepEqual([...wrong], []);
  }
});

test("no two operations have the same id", async () => {
  const ids = (await documents()).flatMap(({ paths }) =>
    Object.values(paths as Json).flatMap((item) =>
      Object.values(item as Json).flatMap((one) => (one as { operationId?: string }).operationId ?? []),
    ),
  );
  assert.ok(ids.length > 800, `${ids.length} operations`);
  assert.deepEqual(
    ids.filter((id, i) => ids.indexOf(id) !== i),
    [],
  );
});

test("equal catalogs have equal documents", async () => {
  const other = new OpenApi({ meta: metaStructs, title: { title: "Kubernetes", version: "v1.36.4" } });
  other.serve([...catalog]);
  assert.equal((await other.index()).etag, (await api.index()).etag);
});

/** Declared by upstream, and a zero that its server leaves out: the field is no pointer. */
const leftOut = ["core/v1.ReplicationControllerSpec minReadySeconds"];

test("definitions have upstream's names and defaults", { skip: missing }, async () => {
  const { types } = facts<{ types: Readonly<Record<string, TypeFacts>> }>("types");
  const schemas: Json = Object.assign(
    {},
    ...(await documents()).map(({ components }) => (components as { schemas?: Json }).schemas ?? {}),
  );
  const wrong = [...reachableStructs().values()].flatMap(({ name }) => {
    const fact = types[name];
    // Structs that only travel in queries, reviews and other answers are in no document.
    const schema = fact?.oa ? (schemas[fact.oa] as { properties?: Json } | undefined) : undefined;
    if (!fact?.oa || !schema) return [];
    if (definitionName(name) !== fact.oa) return [`${name}: ${definitionName(name)}, upstream ${fact.oa}`];
    return Object.entries(fact.fields).flatMap(([key, { def, godef }]) => {
      const ours = (schema.properties?.[key] as Json | undefined)?.default;
      // A default of ours may stand where upstream, which sets it in code, says nothing or zero.
      const said = godef !== undefined || (def !== undefined && ours === undefined);
      return said && !leftOut.includes(`${name} ${key}`) && JSON.stringify(ours) !== JSON.stringify(def)
        ? [`${name} ${key}: ${JSON.stringify(ours)}, upstream ${JSON.stringify(def)}`]
        : [];
    });
  });
  assert.deepEqual(wrong, []);
});

test("every kind and every field says what it is for", () => {
  const silent = [...reachableStructs().values()].flatMap((struct) =>
    fieldsOf(struct).flatMap(([name, { doc }]) => (doc === "" ? [`${struct.name} ${name}`] : [])),
  );
  const kinds = catalog.filter(({ doc }) => doc === "").map(({ struct }) => struct.name);
  assert.deepEqual([...kinds, ...silent], []);
});

const find = (document: Json, ref: string): unknown =>
  ref
    .slice(2)
    .split("/")
    .reduce<unknown>((value, key) => (value as Json | undefined)?.[key], document);
