// JSON of others inside an object: clients compare its bytes, kubectl those of a ControllerRevision with what it makes of a template.
import assert from "node:assert/strict";
import { test } from "node:test";
import { testServer } from "./testing.ts";

/** Keys in no order of ours, and characters that Go escapes. */
const data =
  '{"spec":{"template":{"$patch":"replace","zeta":[1,{"b":null,"a":""}],"alpha":{"x":"a \\u003c b \\u0026 c","w":1}}}}';
const path = "/apis/apps/v1/namespaces/default/controllerrevisions";
const body = `{"kind":"ControllerRevision","apiVersion":"apps/v1","metadata":{"name":"r1"},"revision":1,"data":${data}}`;

test("the data of a ControllerRevision is given back to the byte, however it is asked for", async () => {
  await using server = await testServer();
  const { call } = server;
  const created = await call("POST", path, body);
  assert.equal(created.code, 201, created.text);
  assert.ok(created.text.includes(`"data":${data}`), created.text);
  const patch = { metadata: { labels: { a: "b" } } };
  const answers = {
    get: await call("GET", `${path}/r1`),
    list: await call("GET", path),
    patch: await call("PATCH", `${path}/r1`, patch, { "content-type": "application/merge-patch+json" }),
    "get after patch": await call("GET", `${path}/r1`),
  };
  for (const [name, { text }] of Object.entries(answers))
    assert.ok(text.includes(`"data":${data}`), `${name}: ${text}`);
  const protobuf = { accept: "application/vnd.kubernetes.protobuf" };
  for (const place of [`${path}/r1`, path]) {
    const { text } = await call("GET", place, undefined, protobuf);
    assert.ok(text.includes(data), `protobuf of ${place}`);
  }
});
