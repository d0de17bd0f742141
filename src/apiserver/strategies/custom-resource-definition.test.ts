import assert from "node:assert/strict";
import { test } from "node:test";
import { turn } from "#base/breathe.ts";
import { testServer } from "../testing.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const version = (name: string, storage: boolean) => ({
  name,
  served: true,
  storage,
  schema: { openAPIV3Schema: { type: "object" } },
});
const definition = (...versions: readonly object[]) => ({
  metadata: { name: "foos.example.com" },
  spec: { group: "example.com", scope: "Namespaced", names: { plural: "foos", kind: "Foo" }, versions },
});

test("a definition notes each version that its objects were stored in", async () => {
  await using server = await testServer();
  const made = await server.call("POST", definitions, definition(version("v1", true)));
  assert.deepEqual(made.json.status.storedVersions, ["v1"]);
  const change = (...versions: readonly object[]) =>
    server.call(
      "PATCH",
      `${definitions}/foos.example.com`,
      { spec: { versions } },
      { "content-type": "application/merge-patch+json" },
    );
  const changed = await change(version("v1", false), version("v2", true));
  assert.deepEqual(changed.json.status.storedVersions, ["v1", "v2"], changed.text);
  const refused = await change(version("v2", true));
  assert.match(refused.text, /status.storedVersions\[0\]: Invalid value: .{1,4}v1.{1,4}: missing from spec.versions/);
  const { json } = await server.call("GET", `${definitions}/foos.example.com`);
  assert.deepEqual(json.status.storedVersions, ["v1", "v2"]);
});

test("the kind and the scope of a definition cannot change", async () => {
  await using server = await testServer();
  await server.call("POST", definitions, definition(version("v1", true)));
  const read = async () => (await server.call("GET", `${definitions}/foos.example.com`)).json;
  let found = await read();
  while (!JSON.stringify(found.status).includes("InitialNamesAccepted")) {
    await turn(); // requests in the process alone would never let timers run
    found = await read();
  }
  const { spec } = found;
  const changed = {
    ...found,
    spec: { ...spec, scope: "Cluster", names: { ...spec.names, kind: "Bar" } },
  };
  const refused = await server.call("PUT", `${definitions}/foos.example.com`, changed);
  assert.deepEqual(
    refused.json.details.causes.map(({ field }: { field: string }) => field),
    ["spec.scope", "spec.names.kind"],
  );
});
