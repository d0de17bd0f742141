// The work for a request grows with its body and not faster: each part of each kind that can be large is made twice as large.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { admissionOf } from "#apiserver/admission/configuration.ts";
import { largeBytes } from "#apiserver/request-body.ts";
import { type TestServer, testServer } from "#apiserver/testing.ts";
import { decodeValue } from "#schema/decode.ts";
import type { AnyKind } from "#schema/kind.ts";
import { named } from "#wire/codec.ts";
import { protobufCodec } from "#wire/protobuf.ts";
import { printYaml } from "#wire/yaml/write.ts";
import { distinctParts, type LargePart } from "./large-objects.ts";
import { superlinear, WorkCounter } from "./work.ts";

/** So many of a part, and then twice as many. Large enough that what is quadratic stands out, small enough for all kinds. */
const COUNT = 300;
/** Work below this is not looked at: it may well come from elsewhere, or be spared where a set of fields is remembered. What is quadratic is far above. */
const LEAST = 40 * COUNT;

let server: TestServer;
let counter: WorkCounter;
before(async () => {
  const admission = admissionOf({ disable: ["ServiceAccount"] });
  server = await testServer({ admission, protect: (object) => object });
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "default" } });
  counter = await new WorkCounter().start();
});
after(async () => {
  await counter[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const collectionOf = ({ group, version, scope, plural }: AnyKind): string =>
  `${group === "" ? "/api" : `/apis/${group}`}/${version}${scope === "Namespaced" ? "/namespaces/default" : ""}/${plural}`;

type Sender = (part: LargePart, count: number) => Promise<unknown>;

/** Fails if the work of sending any of the parts more than doubles with its size. */
const compare = (parts: readonly LargePart[], send: Sender): Promise<void> =>
  compareCounts(parts.map(({ name }) => name).join(", "), async (count) => {
    for (const part of parts) await send(part, count);
  });

async function compareCounts(name: string, send: (count: number) => Promise<unknown>): Promise<void> {
  await send(10); // what is compiled or made once is not counted
  const once = await counter.of(() => send(COUNT));
  const twice = await counter.of(() => send(2 * COUNT));
  assert.deepEqual(superlinear(once, twice, LEAST), [], name);
}

const parts = distinctParts();
const dryRun = "dryRun=All&fieldManager=test";
const create: Sender = (part, count) =>
  server.call("POST", `${collectionOf(part.kind)}?${dryRun}`, JSON.stringify(part.of(count)));

for (const [kind, ofKind] of Map.groupBy(parts, (part) => part.kind))
  test(`creating a ${kind.apiVersion} ${kind.kind} takes work that grows with its parts`, () =>
    compare(ofKind, create));

/** Kinds between them with all that can be patched: keyed lists, sets, atomic lists, maps, quantities, nested schemas, free JSON. */
const patchedKinds = new Set(["Pod", "ConfigMap", "Service", "ResourceQuota", "CustomResourceDefinition", "Role"]);
const patchedParts = parts.filter(({ kind, is }) => patchedKinds.has(kind.kind) && is !== "text");

for (const type of ["json", "yaml", "protobuf"])
  test(`creating objects from ${type} takes work that grows with their parts`, () =>
    compare(patchedParts, (part, count) => {
      const object = part.of(count);
      const body =
        type === "yaml" ? printYaml(object) : type === "json" ? JSON.stringify(object) : protobufOf(part, object);
      const headers = { "content-type": type === "protobuf" ? protobufCodec.mediaType : `application/${type}` };
      return server.call("POST", `${collectionOf(part.kind)}?${dryRun}`, body, headers);
    }));

const protobufOf = ({ kind }: LargePart, object: object): Uint8Array =>
  protobufCodec.encode(named(kind), decodeValue(kind, structuredClone(object)).object);

/** An object that is worked on in turns, as large ones are, whatever else it has: what is done for large ones only is done for all. */
function large(object: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const metadata = object.metadata as { readonly annotations?: object };
  const annotations = { ...metadata.annotations, large: "x".repeat(largeBytes) };
  return { ...object, metadata: { ...metadata, annotations } };
}

/** Each changes an object of which the part is already large into one of which it is a little larger. */
const changes: Readonly<Record<string, { readonly type?: string; body(part: LargePart, count: number): unknown }>> = {
  "a replacement": { body: (part, count) => large(part.of(count)) },
  "a merge patch": { type: "application/merge-patch+json", body: (part, count) => large(part.of(count)) },
  "a strategic merge patch": {
    type: "application/strategic-merge-patch+json",
    body: (part, count) => large(part.of(count)),
  },
  "an apply": { type: "application/apply-patch+yaml", body: (part, count) => large(part.of(count)) },
  "a JSON patch": {
    type: "application/json-patch+json",
    body: (part, count) =>
      Object.entries(large(part.of(count))).map(([key, value]) => ({ op: "add", path: `/${key}`, value })),
  },
};
for (const [name, { type, body }] of Object.entries(changes))
  test(`${name} takes work that grows with the parts of the object`, () =>
    compare(patchedParts, async (part, count) => {
      const collection = collectionOf(part.kind);
      const { code, json } = await server.call("POST", collection, JSON.stringify(large(part.of(count))));
      if (code !== 201) return;
      const path = `${collection}/${json.metadata.name}`;
      const headers = type === undefined ? {} : { "content-type": type };
      const query = `${dryRun}${name === "an apply" ? "&force=true" : ""}`;
      await server.call(type ? "PATCH" : "PUT", `${path}?${query}`, JSON.stringify(body(part, count + 1)), headers);
      await server.call("DELETE", `${path}?gracePeriodSeconds=0`);
    }));

const many = (count: number, make: (i: number) => string, between = ","): string =>
  Array.from({ length: count }, (_, i) => make(i)).join(between);
const review = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const maps = "/api/v1/namespaces/default/configmaps";

/** What is no part of an object: texts that are large in themselves, and questions. */
const texts: Readonly<Record<string, (count: number) => Promise<unknown>>> = {
  "unknown fields": (count) => server.call("POST", review, `{${many(count, (i) => `"u${i}":{"a":[1]}`)}}`),
  "the same field again and again": (count) => server.call("POST", review, `{${many(count, () => `"status":{}`)}}`),
  "escaped keys": (count) => server.call("POST", maps, `{"data":{${many(count, (i) => `"\\u0061${i}":"\\\\"`)}}}`),
  "keys with backslashes": (count) => server.call("POST", maps, `{"data":{${many(count, (i) => `"\\\\${i}":""`)}}}`),
  fractions: (count) => server.call("POST", maps, `{"data":[${many(count, (i) => `${i}.0`)}]}`),
  spaces: (count) => server.call("POST", maps, `${" ".repeat(count * 10)}{}`),
  "what ends too early": (count) => server.call("POST", maps, `{"data":{${many(count, (i) => `"k${i}":"v"`)}`),
  "operations that add": (count) => jsonPatch(count, (i) => ({ op: "add", path: `/data/k${i}`, value: "v" })),
  "operations that test": (count) => jsonPatch(count, () => ({ op: "test", path: "/data/a", value: "b" })),
  "operations that copy": (count) => jsonPatch(count, (i) => ({ op: "copy", from: "/data/a", path: `/data/k${i}` })),
  "operations on finalizers": (count) =>
    jsonPatch(count, (i) => ({ op: "add", path: "/metadata/finalizers/-", value: `example.com/f${i}` })),
  "YAML anchors and aliases": (count) =>
    yaml(`data:\n${many(count, (i) => `  k${i}: &a${i} v\n  l${i}: *a${i}`, "\n")}`),
  "YAML merges": (count) => yaml(`x: &x {a: b}\ndata:\n${many(count, () => "  <<: *x", "\n")}`),
  "YAML documents": (count) => yaml(many(count, () => "a: b", "\n---\n")),
  "YAML keys that stand twice": (count) => yaml(`data:\n${many(count, () => "  a: b", "\n")}`),
  "YAML flows": (count) => yaml(`{data: {${many(count, (i) => `k${i}: [v, {}]`)}}}`),
  "YAML blocks": (count) => yaml(`data:\n  a: |\n${many(count, () => "    text", "\n")}`),
  "managers that update": (count) => managers(count, "Update"),
  "managers that apply": (count) => managers(count, "Apply"),
  "label selectors": (count) =>
    list(
      "labelSelector",
      many(count, (i) => `k${i} in (a,b)`),
    ),
  "values of a label selector": (count) => list("labelSelector", `k in (${many(count, (i) => `v${i}`)})`),
  "field selectors": (count) =>
    list(
      "fieldSelector",
      many(count, () => "metadata.name!=a"),
    ),
  "accepted types": (count) =>
    server.call("GET", maps, undefined, { accept: many(count, (i) => `application/x${i};q=0.1`) }),
  "field managers": (count) => server.call("POST", `${maps}?fieldManager=${"m".repeat(count)}`, "{}"),
};
/** Each owns one of as many keys, which are then all changed. */
async function managers(count: number, operation: string): Promise<void> {
  const names = Array.from({ length: count }, (_, i) => `k${i}`);
  const entry = { operation, apiVersion: "v1", fieldsType: "FieldsV1", time: "2026-01-01T00:00:00Z" };
  const managedFields = names.map((name) => ({
    ...entry,
    manager: name,
    fieldsV1: { "f:data": { [`f:${name}`]: {} } },
  }));
  const data = (value: string) => Object.fromEntries(names.map((name) => [name, value]));
  const metadata = { name: "managed" };
  await server.call("POST", maps, { metadata: { ...metadata, managedFields }, data: data("a") });
  await server.call("PUT", `${maps}/managed`, { metadata, data: data("b") });
  await server.call("DELETE", `${maps}/managed`);
}
const jsonPatch = (count: number, operation: (i: number) => object) =>
  server.call(
    "PATCH",
    `${maps}/patched?${dryRun}`,
    Array.from({ length: count }, (_, i) => operation(i)),
    {
      "content-type": "application/json-patch+json",
    },
  );
const yaml = (text: string) =>
  server.call("POST", `${maps}?${dryRun}`, `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\n${text}`, {
    "content-type": "application/yaml",
  });
const list = (name: string, value: string) => server.call("GET", `${maps}?${new URLSearchParams({ [name]: value })}`);

for (const [name, send] of Object.entries(texts))
  test(`${name} take work that grows with their number`, async () => {
    const object = { metadata: { name: "patched", finalizers: ["example.com/f"] }, data: { a: "b" } };
    await server.call("POST", maps, object);
    await compareCounts(name, send);
  });
