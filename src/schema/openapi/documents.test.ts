import assert from "node:assert/strict";
import { test } from "node:test";
import { bool, int32, int64, intOrString, list, map, quantity, ref, string, time, typeMeta } from "../field.ts";
import { type AnyKind, resource } from "../kind.ts";
import { struct } from "../struct.ts";
import { structuralKind } from "../structural/kind.ts";
import type { JsonValue } from "./definitions.ts";
import { OpenApi } from "./documents.ts";
import type { MetaStructs } from "./operations.ts";

const empty = (name: string) => struct(`meta/v1.${name}`, { ...typeMeta });
const meta: MetaStructs = {
  Status: empty("Status"),
  WatchEvent: empty("WatchEvent"),
  APIVersions: empty("APIVersions"),
  APIGroupList: empty("APIGroupList"),
  APIGroup: empty("APIGroup"),
  APIResourceList: empty("APIResourceList"),
  VersionInfo: struct("version.Info", {}),
  CreateOptions: struct("meta/v1.CreateOptions", { dryRun: list(1, "string", "All or nothing.") }),
  UpdateOptions: struct("meta/v1.UpdateOptions", { dryRun: list(1, "string") }),
  PatchOptions: struct("meta/v1.PatchOptions", { force: bool(2).pointer() }),
  DeleteOptions: struct("meta/v1.DeleteOptions", { ...typeMeta, gracePeriodSeconds: int64(1).pointer() }),
  ListOptions: struct("meta/v1.ListOptions", { limit: int64(7), watch: bool(3), sinceTime: time(9) }),
  Scale: resource({
    group: "autoscaling",
    version: "v1",
    kind: "Scale",
    plural: "scales",
    scope: "Namespaced",
    doc: "",
    fields: {},
  }),
};

const Mast = struct(
  "sea/v1.Mast",
  {
    name: string(1, "Which mast.").required(),
    height: quantity(2).pointer(),
    sail: string(3).oneOf("Square", "Lateen").default("Square"),
    reefs: int32(4).required().omitEmpty(),
    ratio: intOrString(5),
    built: time(6).required(),
  },
  { union: { discriminator: "sail", fields: { height: "Height" } }, atomic: true },
);
const Ship = resource({
  group: "sea.k8s.io",
  version: "v1",
  kind: "Ship",
  plural: "ships",
  scope: "Namespaced",
  returnsDeleted: true,
  doc: "Carries cargo.",
  fields: {
    masts: list(2, Mast, "From bow to stern.").keyedBy("name"),
    flags: map(3, "string"),
    keel: ref(4, Mast),
    rig: ref(5, Mast).default({}),
    crew: list(6, Mast).keyedBy("name").patch("replace"),
  },
  subresources: {
    status: true,
    scale: { replicas: "spec.replicas", current: "status.replicas" },
    log: { options: () => struct("sea/v1.LogOptions", { follow: bool(1) }), verbs: ["get"] },
    proxy: { kindName: "ShipProxyOptions", path: true, verbs: ["get"] },
  },
});

const served = (...kinds: readonly AnyKind[]) => {
  const api = new OpenApi({ meta, title: { title: "Test", version: "v1" } });
  api.serve(kinds);
  return api;
};
const at = (json: unknown, ...path: readonly string[]): unknown =>
  path.reduce((value, key) => (value as JsonValue)[key], json);
const v3 = async (name: string, ...kinds: readonly AnyKind[]) =>
  JSON.parse((await served(...kinds).document(name))?.content ?? "");

test("a struct becomes a schema with all that clients need to merge and to check", async () => {
  const schemas = at(await v3("apis/sea.k8s.io/v1", Ship), "components", "schemas") as JsonValue;
  const meta = "#/components/schemas/io.k8s.apimachinery.pkg";
  assert.deepEqual(schemas["io.k8s.api.sea.v1.Mast"], {
    properties: {
      name: { description: "Which mast.", default: "", type: "string" },
      height: { $ref: `${meta}.api.resource.Quantity` },
      sail: { default: "Square", enum: ["Square", "Lateen"], type: "string" },
      reefs: { format: "int32", type: "integer" },
      ratio: { $ref: `${meta}.util.intstr.IntOrString` },
      built: { $ref: `${meta}.apis.meta.v1.Time` },
    },
    required: ["name", "reefs", "built"],
    type: "object",
    "x-kubernetes-map-type": "atomic",
    "x-kubernetes-unions": [{ discriminator: "sail", "fields-to-discriminateBy": { height: "Height" } }],
  });
  const mast = { $ref: "#/components/schemas/io.k8s.api.sea.v1.Mast" };
  const { properties, ...ship } = schemas["io.k8s.api.sea.v1.Ship"] as JsonValue;
  assert.deepEqual(at(properties, "masts"), {
    description: "From bow to stern.",
    items: { allOf: [mast], default: {} },
    type: "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    "x-kubernetes-patch-strategy": "merge",
    "x-kubernetes-patch-merge-key": "name",
  });
  assert.deepEqual(at(properties, "flags"), { additionalProperties: { default: "", type: "string" }, type: "object" });
  assert.deepEqual(at(properties, "keel"), mast);
  assert.deepEqual(at(properties, "rig"), { allOf: [mast], default: {} });
  assert.equal((at(properties, "crew") as JsonValue)["x-kubernetes-patch-strategy"], undefined);
  assert.deepEqual(ship, {
    description: "Carries cargo.",
    type: "object",
    "x-kubernetes-group-version-kind": [{ group: "sea.k8s.io", kind: "Ship", version: "v1" }],
  });
  assert.deepEqual(at(schemas["io.k8s.api.sea.v1.ShipList"], "required"), ["items"]);
});

test("every verb and subresource is an operation with upstream's name", async () => {
  const { paths } = await v3("apis/sea.k8s.io/v1", Ship);
  const found = Object.entries(paths as JsonValue).flatMap(([path, item]) =>
    Object.entries(item as JsonValue).flatMap(([method, one]) =>
      method === "parameters" ? [] : [`${method} ${path.replace("/apis/sea.k8s.io/v1", "")} ${at(one, "operationId")}`],
    ),
  );
  const item = "/namespaces/{namespace}/ships/{name}";
  const proxied = ["get", "post", "put", "delete", "options", "head", "patch"];
  const title = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
  assert.deepEqual(
    found.toSorted(),
    [
      "get / getSeaV1APIResources",
      `delete ${item} deleteSeaV1NamespacedShip`,
      `get ${item} readSeaV1NamespacedShip`,
      `patch ${item} patchSeaV1NamespacedShip`,
      `put ${item} replaceSeaV1NamespacedShip`,
      `get ${item}/log readSeaV1NamespacedShipLog`,
      ...proxied.map((method) => `${method} ${item}/proxy connectSeaV1${title(method)}NamespacedShipProxy`),
      ...proxied.map(
        (method) => `${method} ${item}/proxy/{path} connectSeaV1${title(method)}NamespacedShipProxyWithPath`,
      ),
      `get ${item}/scale readSeaV1NamespacedShipScale`,
      `patch ${item}/scale patchSeaV1NamespacedShipScale`,
      `put ${item}/scale replaceSeaV1NamespacedShipScale`,
      `get ${item}/status readSeaV1NamespacedShipStatus`,
      `patch ${item}/status patchSeaV1NamespacedShipStatus`,
      `put ${item}/status replaceSeaV1NamespacedShipStatus`,
      "delete /namespaces/{namespace}/ships deleteSeaV1CollectionNamespacedShip",
      "get /namespaces/{namespace}/ships listSeaV1NamespacedShip",
      "post /namespaces/{namespace}/ships createSeaV1NamespacedShip",
      "get /ships listSeaV1ShipForAllNamespaces",
      "get /watch/namespaces/{namespace}/ships watchSeaV1NamespacedShipList",
      "get /watch/namespaces/{namespace}/ships/{name} watchSeaV1NamespacedShip",
      "get /watch/ships watchSeaV1ShipListForAllNamespaces",
    ].toSorted(),
  );
});

test("parameters that all operations of a path have are said once", async () => {
  const item = at(
    await v3("apis/sea.k8s.io/v1", Ship),
    "paths",
    "/apis/sea.k8s.io/v1/namespaces/{namespace}/ships",
  ) as JsonValue;
  const names = (parameters: unknown) => (parameters as readonly JsonValue[]).map(({ name }) => name);
  assert.deepEqual(names(item.parameters), ["namespace", "pretty"]);
  assert.deepEqual(names(at(item.get, "parameters")), ["limit", "watch"]);
  assert.deepEqual(names(at(item.delete, "parameters")), ["gracePeriodSeconds", "limit"]);
  assert.deepEqual(at(item.post, "parameters"), [
    { name: "dryRun", in: "query", description: "All or nothing.", schema: { type: "string", uniqueItems: true } },
  ]);
});

test("a deletion may answer with the object, a log with text", async () => {
  const { paths } = await v3("apis/sea.k8s.io/v1", Ship);
  const item = "/apis/sea.k8s.io/v1/namespaces/{namespace}/ships/{name}";
  const answer = (path: string, method: string) => at(paths, path, method, "responses", "200", "content") as JsonValue;
  assert.deepEqual(answer(item, "delete")["application/json"], {
    schema: { $ref: "#/components/schemas/io.k8s.api.sea.v1.Ship" },
  });
  assert.deepEqual(answer(`${item}/log`, "get")["text/plain"], { schema: { type: "string" } });
});

test("version 2 has no defaults, and lets references have siblings", async () => {
  const document = JSON.parse((await served(Ship).wholeDocument()).content);
  const properties = at(document, "definitions", "io.k8s.api.sea.v1.Ship", "properties");
  assert.deepEqual(at(properties, "rig"), { $ref: "#/definitions/io.k8s.api.sea.v1.Mast" });
  assert.equal(JSON.stringify(document.definitions).includes('"default"'), false);
  assert.deepEqual(at(document, "definitions", "io.k8s.apimachinery.pkg.api.resource.Quantity", "type"), "string");
  const item = at(document, "paths", "/apis/sea.k8s.io/v1/namespaces/{namespace}/ships") as JsonValue;
  const [namespace] = item.parameters as readonly { $ref: string }[];
  assert.match(namespace?.$ref ?? "", /^#\/parameters\/namespace-[\w-]{8}$/);
  assert.deepEqual(
    (at(item.post, "parameters") as readonly JsonValue[]).map(({ name }) => name),
    ["body", "dryRun"],
  );
});

test("options are known in the group of a document, and in all groups in the whole", async () => {
  const options = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
  const Buoy = resource({
    group: "",
    version: "v1",
    kind: "Buoy",
    plural: "buoys",
    scope: "Cluster",
    doc: "",
    fields: {},
  });
  const api = served(Ship, Buoy);
  const groups = (schema: unknown) =>
    ((schema as JsonValue)["x-kubernetes-group-version-kind"] as readonly JsonValue[]).map(({ group }) => group);
  const one = JSON.parse((await api.document("api/v1"))?.content ?? "");
  assert.deepEqual(groups(at(one, "components", "schemas", options)), [""]);
  assert.deepEqual(groups(at(JSON.parse((await api.wholeDocument()).content), "definitions", options)), [
    "",
    "sea.k8s.io",
  ]);
});

test("the index names every document with its hash, and a new kind changes only its own", async () => {
  const api = served(Ship);
  const before = JSON.parse((await api.index()).content).paths as Record<string, { serverRelativeURL: string }>;
  assert.deepEqual(Object.keys(before), [
    ".well-known/openid-configuration",
    "api",
    "apis",
    "apis/sea.k8s.io",
    "apis/sea.k8s.io/v1",
    "openid/v1/jwks",
    "version",
  ]);
  const ship = await api.document("apis/sea.k8s.io/v1");
  assert.equal(before["apis/sea.k8s.io/v1"]?.serverRelativeURL, `/openapi/v3/apis/sea.k8s.io/v1?hash=${ship?.etag}`);
  const whole = (await api.wholeDocument()).etag;
  api.serve([Ship, CronTab]);
  assert.equal(await api.document("apis/sea.k8s.io/v1"), ship);
  assert.ok(await api.document("apis/stable.example.com/v1"));
  assert.notEqual((await api.wholeDocument()).etag, whole);
  api.serve([Ship]);
  assert.equal(await api.document("apis/stable.example.com/v1"), undefined);
  assert.equal(await api.document("apis/stable.example.com"), undefined);
  assert.equal((await api.wholeDocument()).etag, whole);
  assert.equal((await served(Ship).index()).etag, (await api.index()).etag);
  assert.equal((await api.wholeDocumentProtobuf()).etag, (await served(Ship).wholeDocumentProtobuf()).etag);
});

const CronTab = structuralKind({
  group: "stable.example.com",
  version: "v1",
  kind: "CronTab",
  plural: "crontabs",
  scope: "Namespaced",
  doc: "",
  selectableFields: { "spec.when": () => "" },
  schema: {
    type: "object",
    required: ["spec"],
    properties: {
      metadata: { type: "object" },
      spec: {
        type: "object",
        required: ["when", "maybe"],
        properties: {
          when: { type: "string", pattern: "^x", default: "x" },
          maybe: { type: "object", nullable: true, properties: { a: { type: "string" } } },
          any: { type: "object", "x-kubernetes-preserve-unknown-fields": true, properties: { b: { type: "string" } } },
          choice: { anyOf: [{ type: "integer" }, { type: "string" }], "x-kubernetes-int-or-string": true },
          inner: { type: "object", "x-kubernetes-embedded-resource": true },
        },
      },
    },
  },
});

test("a kind made at run time shows its author's schema under the name of its group", async () => {
  const document = await v3("apis/stable.example.com/v1", CronTab);
  const schema = at(document, "components", "schemas", "com.example.stable.v1.CronTab");
  assert.deepEqual(Object.keys(at(schema, "properties") as JsonValue).sort(), [
    "apiVersion",
    "kind",
    "metadata",
    "spec",
  ]);
  assert.equal(JSON.stringify(at(schema, "properties", "metadata")).includes("ObjectMeta"), true);
  const spec = at(schema, "properties", "spec", "properties");
  assert.deepEqual(at(spec, "when"), { type: "string", pattern: "^x", default: "x" });
  assert.deepEqual(at(spec, "maybe", "nullable"), true);
  assert.deepEqual(Object.keys(at(spec, "inner", "properties") as JsonValue), ["kind", "apiVersion", "metadata"]);
  assert.deepEqual(at(spec, "inner", "required"), ["kind", "apiVersion"]);
  assert.equal(
    Object.keys(document.paths).some((path) => path.includes("/watch/")),
    false,
  );
  const list = at(document, "components", "schemas", "com.example.stable.v1.CronTabList");
  for (const one of [schema, list])
    assert.deepEqual((one as JsonValue)["x-kubernetes-selectable-fields"], [{ fieldPath: "spec.when" }]);
  assert.deepEqual(at(list, "properties", "items", "items"), {
    $ref: "#/components/schemas/com.example.stable.v1.CronTab",
  });
});

test("a kind made at run time does not stand in for a built-in one of a like group", async () => {
  const { fields: _, struct: __, ...rules } = CronTab;
  const impostor = resource({ ...rules, group: "sea.example.com", kind: "Ship", fields: {} });
  const api = served(Ship, impostor);
  const document = JSON.parse((await api.document("apis/sea.k8s.io/v1"))?.content ?? "");
  const ship = at(document, "components", "schemas", "io.k8s.api.sea.v1.Ship") as JsonValue;
  assert.deepEqual(ship["x-kubernetes-group-version-kind"], [{ group: "sea.k8s.io", kind: "Ship", version: "v1" }]);
});

test("of a kind made at run time, version 2 shows what its readers can cope with", async () => {
  const document = JSON.parse((await served(CronTab).wholeDocument()).content);
  const spec = at(document, "definitions", "com.example.stable.v1.CronTab", "properties", "spec");
  assert.deepEqual(at(spec, "required"), ["when"]);
  assert.deepEqual(at(spec, "properties", "when"), { type: "string", pattern: "^x" });
  assert.deepEqual(at(spec, "properties", "maybe"), {});
  assert.deepEqual(at(spec, "properties", "any"), { "x-kubernetes-preserve-unknown-fields": true });
  assert.deepEqual(at(spec, "properties", "choice"), { "x-kubernetes-int-or-string": true });
});

test("a document that could not be made is made when it is asked for again", async () => {
  let isBroken = true;
  const whole: AnyKind = Ship;
  const broken: AnyKind = {
    ...whole,
    get struct() {
      if (isBroken) throw new Error("not now");
      return whole.struct;
    },
  };
  const api = new OpenApi({ meta, title: { title: "Test", version: "v1" } });
  isBroken = false;
  api.serve([broken]);
  const name = api.names().find((one) => one.endsWith(`/${Ship.version}`)) ?? "";
  const asks = [() => api.document(name), () => api.wholeDocument(), () => api.wholeDocumentProtobuf()];
  for (const ask of asks) {
    isBroken = true;
    await assert.rejects(ask, /not now/);
    isBroken = false;
    assert.ok(await ask());
  }
});
