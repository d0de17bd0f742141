import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { CustomResourceDefinition } from "#api/apiextensions/v1/custom-resource-definition.ts";
import type { ApiObject } from "#schema/object.ts";
import { type TestAnswer, type TestServer, testServer } from "../testing.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const crates = "/apis/cargo.example/v1/namespaces/x/crates";
const crate = { apiVersion: "cargo.example/v1", kind: "Crate" };
const tableType = "application/json;as=Table;v=v1;g=meta.k8s.io";

interface Names {
  readonly plural?: string;
  readonly kind?: string;
  readonly shortNames?: readonly string[];
}

const definition = (names: Names = {}, version: object = {}, spec: object = {}) => {
  const { plural = "crates", kind = "Crate", shortNames } = names;
  const properties = {
    spec: { type: "object", properties: { size: { type: "integer", minimum: 1, default: 7 } } },
    status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.cargo.example` },
    spec: {
      group: "cargo.example",
      scope: "Namespaced",
      names: { plural, kind, ...(shortNames && { shortNames }) },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", properties } },
          ...version,
        },
      ],
      ...spec,
    },
  };
};

const asDefinition = ({ json }: TestAnswer) => json as object as CustomResourceDefinition;
const conditionsOf = (answer: TestAnswer) =>
  Object.fromEntries(
    (asDefinition(answer).status.conditions ?? []).map(({ type, status, reason }) => [type, `${status} ${reason}`]),
  );

/** The definition once it is as a test wants it; the server works in turns of the event loop. */
async function until(server: TestServer, name: string, wanted: (answer: TestAnswer) => boolean): Promise<TestAnswer> {
  for (let turns = 0; turns < 1000; turns++) {
    const answer = await server.call("GET", `${definitions}/${name}`);
    if (wanted(answer)) return answer;
    await setImmediate();
  }
  throw new Error(
    `${name} did not become what was expected: ${(await server.call("GET", `${definitions}/${name}`)).text}`,
  );
}

const isEstablished = (answer: TestAnswer) => conditionsOf(answer).Established?.startsWith("True") ?? false;

async function install(server: TestServer, object: ReturnType<typeof definition>): Promise<TestAnswer> {
  const made = await server.call("POST", definitions, object);
  assert.equal(made.code, 201, made.text);
  return until(server, object.metadata.name, isEstablished);
}

test("a definition is established, and what it defines is served", async () => {
  await using server = await testServer();
  const found = await install(server, definition({ shortNames: ["cr"] }));
  assert.deepEqual(conditionsOf(found), {
    NamesAccepted: "True NoConflicts",
    Established: "True InitialNamesAccepted",
  });
  const { acceptedNames, storedVersions } = asDefinition(found).status;
  assert.deepEqual(acceptedNames, {
    plural: "crates",
    singular: "crate",
    shortNames: ["cr"],
    kind: "Crate",
    listKind: "CrateList",
  });
  assert.deepEqual(storedVersions, ["v1"]);
  const made = await server.call("POST", crates, { ...crate, metadata: { name: "a" }, spec: {} });
  assert.deepEqual([made.code, made.json.spec, made.json.metadata.generation], [201, { size: 7 }, 1], made.text);
  assert.match((await server.call("GET", "/apis/cargo.example/v1")).text, /"shortNames":\["cr"\]/);
  assert.match((await server.call("GET", "/openapi/v2")).text, /example\.cargo\.v1\.Crate/);
  const update = await server.call("PUT", `${crates}/a`, { ...crate, metadata: { name: "a" }, spec: {} });
  assert.match(update.text, /metadata.resourceVersion: Invalid value: (0x)?0: must be specified for an update/);
});

test("a name that another definition of the group has is refused until it is free", async () => {
  await using server = await testServer();
  await install(server, definition({ shortNames: ["cr"] }));
  const second = definition({ plural: "boxes", kind: "Box", shortNames: ["cr"] });
  await server.call("POST", definitions, second);
  const refused = await until(
    server,
    "boxes.cargo.example",
    (answer) => conditionsOf(answer).NamesAccepted !== undefined,
  );
  assert.deepEqual(conditionsOf(refused), {
    NamesAccepted: "False ShortNamesConflict",
    Established: "False NotAccepted",
  });
  assert.equal((await server.call("GET", "/apis/cargo.example/v1/boxes")).code, 404);
  await server.call("DELETE", `${definitions}/crates.cargo.example`);
  await until(server, "boxes.cargo.example", isEstablished);
  assert.equal((await server.call("GET", "/apis/cargo.example/v1/boxes")).code, 200);
});

test("a definition that is deleted takes its objects along, and waits for those that are held", async () => {
  await using server = await testServer();
  await install(server, definition());
  await server.call("POST", crates, { ...crate, metadata: { name: "free" } });
  await server.call("POST", crates, { ...crate, metadata: { name: "held", finalizers: ["example.com/hold"] } });
  const deleted = await server.call("DELETE", `${definitions}/crates.cargo.example`);
  assert.deepEqual(
    [deleted.code, deleted.json.metadata.finalizers],
    [200, ["customresourcecleanup.apiextensions.k8s.io"]],
  );
  await until(
    server,
    "crates.cargo.example",
    (answer) => conditionsOf(answer).Terminating === "True InstanceDeletionInProgress",
  );
  const refused = await server.call("POST", crates, { ...crate, metadata: { name: "new" } });
  assert.equal(
    refused.json.message,
    'crates.cargo.example "new" is forbidden: create not allowed while custom resource definition is terminating',
  );
  await until(server, "crates.cargo.example", (answer) => answer.code === 200);
  const list = async () => (await server.call("GET", crates)).json.items as readonly ApiObject[];
  while ((await list()).length > 1) await setImmediate();
  await server.call("PATCH", `${crates}/held`, [{ op: "remove", path: "/metadata/finalizers" }], {
    "content-type": "application/json-patch+json",
  });
  await until(server, "crates.cargo.example", ({ code }) => code === 404);
  for (let turns = 0; (await server.call("GET", crates)).code !== 404; turns++) {
    assert.ok(turns < 1000);
    await setImmediate();
  }
});

test("another schema is in force at once, and what was stored before is read by it", async () => {
  await using server = await testServer();
  const found = await install(server, definition());
  await server.call("POST", crates, { ...crate, metadata: { name: "a" }, spec: { size: 3 }, status: { gone: 1 } });
  const properties = {
    spec: { type: "object", properties: { colour: { type: "string", default: "red" } } },
  };
  const { spec } = definition({}, { schema: { openAPIV3Schema: { type: "object", properties } } });
  const changed = await server.call("PUT", `${definitions}/crates.cargo.example`, { ...found.json, spec });
  assert.equal(changed.code, 200, changed.text);
  for (let turns = 0; ; turns++) {
    const read = await server.call("GET", `${crates}/a`);
    if (read.json.spec.colour === "red") {
      assert.deepEqual(read.json.spec, { colour: "red" });
      assert.equal(read.json.status, undefined);
      break;
    }
    assert.ok(turns < 1000, read.text);
    await setImmediate();
  }
});

test("versions differ by name and schema, and the one that is stored need not be served", async () => {
  await using server = await testServer();
  const schema = (properties: object) => ({
    openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties } } },
  });
  const versions = [
    { name: "v1", served: false, storage: true, schema: schema({ a: { type: "string" }, b: { type: "string" } }) },
    { name: "v1beta1", served: true, storage: false, deprecated: true, schema: schema({ a: { type: "string" } }) },
    {
      name: "v1beta2",
      served: true,
      storage: false,
      deprecated: true,
      deprecationWarning: "use something else",
      schema: schema({ b: { type: "string" }, c: { type: "string", default: "x" } }),
    },
  ];
  await install(server, definition({}, {}, { versions }));
  assert.equal((await server.call("GET", crates)).code, 404);
  const beta1 = crates.replace("/v1/", "/v1beta1/");
  const made = await server.call("POST", beta1, {
    ...crate,
    apiVersion: "cargo.example/v1beta1",
    metadata: { name: "a" },
    spec: { a: "1" },
  });
  assert.deepEqual(
    [made.code, made.json.apiVersion, made.json.spec],
    [201, "cargo.example/v1beta1", { a: "1" }],
    made.text,
  );
  assert.deepEqual(made.headers?.warning, ['299 - "cargo.example/v1beta1 Crate is deprecated"']);
  const read = await server.call("GET", `${crates.replace("/v1/", "/v1beta2/")}/a`);
  assert.deepEqual(
    [read.json.apiVersion, read.json.spec],
    ["cargo.example/v1beta2", {}],
    "defaults are those of the version in which it was written",
  );
  assert.deepEqual(read.headers?.warning, ['299 - "use something else"']);
});

test("columns, scale and selectable fields follow the definition", async () => {
  await using server = await testServer();
  const properties = {
    spec: {
      type: "object",
      properties: { replicas: { type: "integer" }, colour: { type: "string" }, due: { type: "string" } },
    },
    status: { type: "object", properties: { replicas: { type: "integer" }, selector: { type: "string" } } },
  };
  const version = {
    schema: { openAPIV3Schema: { type: "object", properties } },
    subresources: {
      status: {},
      scale: {
        specReplicasPath: ".spec.replicas",
        statusReplicasPath: ".status.replicas",
        labelSelectorPath: ".status.selector",
      },
    },
    additionalPrinterColumns: [
      { name: "Wanted", type: "integer", jsonPath: ".spec.replicas" },
      { name: "Colour", type: "string", jsonPath: ".spec.colour", priority: 2 },
      { name: "Due", type: "date", jsonPath: ".spec.due" },
    ],
    selectableFields: [{ jsonPath: ".spec.colour" }],
  };
  await install(server, definition({}, version));
  await server.call("POST", crates, {
    ...crate,
    metadata: { name: "a" },
    spec: { colour: "red", due: "2025-12-31T00:00:00Z" },
  });
  await server.call("POST", crates, {
    ...crate,
    metadata: { name: "b" },
    spec: { replicas: 2, colour: "blue", due: "soon" },
  });
  const table = await server.call("GET", crates, undefined, { accept: tableType });
  assert.deepEqual(
    table.json.rows.map(({ cells }: { readonly cells: unknown }) => cells),
    [
      ["a", null, "red", "24h"],
      ["b", 2, "blue", "<invalid>"],
    ],
  );
  assert.deepEqual(
    table.json.columnDefinitions.map(({ priority }: { readonly priority: number }) => priority),
    [0, 0, 2, 0],
  );
  const blue = await server.call("GET", `${crates}?fieldSelector=spec.colour%3Dblue`);
  assert.deepEqual(
    blue.json.items.map(({ metadata }: ApiObject) => metadata.name),
    ["b"],
  );
  const unset = await server.call("GET", `${crates}/a/scale`);
  assert.match(unset.text, /the spec replicas field \\".spec.replicas\\" does not exist/);
  const scaled = await server.call(
    "PATCH",
    `${crates}/b/scale`,
    { spec: { replicas: 5 } },
    {
      "content-type": "application/merge-patch+json",
    },
  );
  assert.deepEqual([scaled.code, scaled.json.spec], [200, { replicas: 5 }], scaled.text);
  const tooMany = await server.call("POST", crates, { ...crate, metadata: { name: "c" }, spec: { replicas: -1 } });
  assert.match(tooMany.text, /should be a non-negative integer/);
});

test("a burst of definitions changes what is served a few times, not once for each", async () => {
  await using server = await testServer();
  const names = Array.from({ length: 50 }, (_, i) => ({ plural: `things${i}`, kind: `Thing${i}` }));
  const before = server.server.apis.generation;
  await Promise.all(names.map((name) => server.call("POST", definitions, definition(name))));
  for (const { plural } of names) await until(server, `${plural}.cargo.example`, isEstablished);
  assert.ok(server.server.apis.generation - before < 25, `${server.server.apis.generation - before} changes`);
  assert.equal((await server.call("GET", "/apis/cargo.example/v1/things49")).code, 200);
});
