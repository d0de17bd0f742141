import assert from "node:assert/strict";
import { test } from "node:test";
import { testServer } from "../testing.ts";

const flags = { "secure-port": "6443", "authorization-mode": "[Node,RBAC]" };
const asking = (as: string, type = "application/json", v = "v1beta1") => ({
  accept: `${type};g=config.k8s.io;v=${v};as=${as}`,
});

test("a server tells people in text when it was started, its version and its flags", async () => {
  await using server = await testServer({ flags });
  await server.clock.advance(3_723_000);
  const status = await server.call("GET", "/statusz");
  assert.deepEqual([status.code, status.headers?.["content-type"]], [200, "text/plain; charset=utf-8"]);
  assert.match(
    status.text,
    /^\napiserver statusz\nWarning: .*\n\nStarted: \w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d UTC \d{4}\n/,
  );
  assert.match(status.text, /^Up: 1 hr 02 min 03 sec$/m);
  assert.match(status.text, /^Paths: \/flagz \/healthz \/livez \/metrics \/readyz \/statusz \/version$/m);
  const { text } = await server.call("GET", "/flagz", undefined, { accept: "text/plain" });
  assert.match(text, /only\.\nauthorization-mode=\[Node,RBAC\]\nsecure-port=6443\n$/);
});

test("a server tells programs the same as an object that they ask for by its name, or says what it has", async () => {
  await using server = await testServer({ flags });
  const status = await server.call("GET", "/statusz", undefined, asking("Statusz"));
  assert.equal(status.headers?.["content-type"], "application/json;g=config.k8s.io;v=v1beta1;as=Statusz");
  assert.deepEqual(
    [status.json.apiVersion, status.json.metadata, status.json.uptimeSeconds],
    ["config.k8s.io/v1beta1", { name: "apiserver" }, 0],
  );
  const old = await server.call("GET", "/flagz", undefined, asking("Flagz", "application/json", "v1alpha1"));
  assert.deepEqual([old.json.flags, typeof old.headers?.warning], [flags, "string"]);
  const yaml = await server.call("GET", "/flagz", undefined, asking("Flagz", "application/yaml"));
  assert.match(yaml.text, /^kind: Flagz$/m);
  for (const accept of ["application/json", asking("Flagz").accept, "application/xml"]) {
    const { code, json } = await server.call("GET", "/statusz", undefined, { accept });
    const message = "only the following media types are accepted: application/json, application/yaml, text/plain";
    assert.deepEqual([code, json.message], [406, message]);
  }
  assert.equal((await server.call("GET", "/statusz", undefined, { accept: "application/json, */*" })).code, 200);
});

test("a server that has no flags has no page of them", async () => {
  await using server = await testServer();
  assert.equal((await server.call("GET", "/flagz")).code, 404);
  assert.equal((await server.call("GET", "/statusz")).code, 200);
});
