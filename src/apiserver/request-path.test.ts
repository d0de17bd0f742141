import assert from "node:assert/strict";
import { test } from "node:test";
import { testServer } from "./testing.ts";

test("a name that contains a slash is no name of an object, and one that climbs is refused in upstream's words", async () => {
  await using server = await testServer();
  const answers = async (name: string) => {
    const { code, json } = await server.call("GET", `/api/v1/namespaces/d/configmaps/${name}`);
    return [code, json.message];
  };
  assert.deepEqual(await answers("x%2Fy"), [404, "the server could not find the requested resource"]);
  assert.deepEqual(await answers(".."), [400, "Name parameter invalid: \"..\": may not be '..'"]);
  assert.deepEqual(await answers("%2e%2e"), [400, 'the path segment "%2e%2e" is not a name']);
});
