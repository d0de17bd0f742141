import assert from "node:assert/strict";
import { test } from "node:test";
import { testServer } from "../testing.ts";

test("a document of OpenAPI v3 that is asked for by its hash may be kept for a year, any other not", async () => {
  await using s = await testServer();
  const { json: index } = await s.call("GET", "/openapi/v3");
  const url: string = index.paths["api/v1"].serverRelativeURL;
  const named = await s.call("GET", url);
  assert.equal(named.code, 200);
  assert.equal(named.headers?.["cache-control"], "public, immutable");
  const expires = Date.parse(String(named.headers?.expires));
  assert.equal(Math.round((expires - s.clock.now()) / (24 * 3600 * 1000)), 365);
  const unnamed = await s.call("GET", "/openapi/v3/api/v1");
  assert.equal(unnamed.headers?.expires, undefined);
});
