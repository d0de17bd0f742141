// Integers of 64 bits on their way through the server: of objects whose schema comes at run time, none is rounded.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { responseIn, watchedIn } from "#client/decode-response.ts";
import type { ApiObject } from "#schema/object.ts";
import { applyJsonPatch } from "#schema/patch/json-patch.ts";
import { applyMergePatch } from "#schema/patch/merge-patch.ts";
import { structuralKind } from "#schema/structural/kind.ts";
import type { ApiRequest } from "#wire/api-request.ts";
import { jsonCodec } from "#wire/json.ts";
import { yamlCodec } from "#wire/yaml.ts";
import { requestBody } from "./request-body.ts";
import { StoredForm } from "./stored.ts";

const Thing = structuralKind({
  group: "example.com",
  version: "v1",
  kind: "Thing",
  plural: "things",
  scope: "Cluster",
  doc: "",
  schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
});
const names = '"kind":"Thing","apiVersion":"example.com/v1"';
const text = `{${names},"metadata":{"name":"a"},"n":[9007199254740993,-9223372036854775808,1,0.5]}`;
const n = [9007199254740993n, -9223372036854775808n, 1, 0.5];

const bytes = (content: string): Uint8Array => new TextEncoder().encode(content);
const textOf = (content: Uint8Array): string => new TextDecoder().decode(content);
async function bodyOf(content: string, type: string, method: string) {
  const body = await requestBody(bytes(content), type, method);
  assert.ok(body);
  return body;
}

test("a body in JSON or YAML is decoded exactly", async () => {
  for (const type of ["application/json", "application/yaml"])
    assert.deepEqual((await bodyOf(text, type, "POST")).decode(Thing).object.n, n);
});

test("a patch is read exactly for such a kind, and as before for others", async () => {
  const patch = '{"n":9007199254740993}';
  for (const type of ["application/merge-patch+json", "application/apply-patch+yaml"]) {
    assert.deepEqual((await bodyOf(patch, type, "PATCH")).value(Thing), { n: 9007199254740993n });
    assert.deepEqual((await bodyOf(patch, type, "PATCH")).value(ConfigMap), { n: 9007199254740992 });
  }
  const merged = applyMergePatch({ n: 9007199254740993n, m: 1 }, { m: 2n ** 62n });
  assert.deepEqual(merged, { n: 9007199254740993n, m: 2n ** 62n });
  const test = { op: "test", path: "/n", value: 9007199254740993n };
  assert.deepEqual(applyJsonPatch({ n: 9007199254740993n }, [test]), { n: 9007199254740993n });
  assert.throws(() => applyJsonPatch({ n: 9007199254740995n }, [test]));
});

test("what is stored is written and read exactly", () => {
  const form = new StoredForm(Thing);
  const value = Uint8Array.from(form.encodeBriefly(form.parse(bytes(text))));
  assert.equal(textOf(value), text);
  const stored = new StoredForm(Thing).of({ key: "/a", value, created: 1, modified: 2 });
  assert.deepEqual(stored.object.n, n);
  assert.match(textOf(stored.json), /9007199254740993,-9223372036854775808/);
});

test("answers, lists and events are written and read exactly", async () => {
  const object = Thing.model.decodeValue(Thing.model.parse(text)).object as ApiObject;
  assert.equal(textOf(jsonCodec.encode(Thing, object)), `${text}\n`);
  assert.match(textOf(yamlCodec.encode(Thing, object)), /- 9007199254740993\n- -9223372036854775808\n- 1\n- 0\.5\n/);
  const request = (verb: string) => ({ verb, expects: Thing }) as object as ApiRequest;
  const answer = responseIn(request("get"), 200, text);
  assert.deepEqual(answer.type === "object" && answer.stored.object.n, n);
  const list = responseIn(request("list"), 200, `{"items":[${text}],"metadata":{}}`);
  assert.deepEqual(list.type === "list" && list.page.items[0]?.object.n, n);
  const chunks = (async function* () {
    yield bytes(`{"type":"ADDED","object":${text}}\n`);
  })();
  const watch = watchedIn(request("watch"), chunks, jsonCodec);
  const seen: unknown[] = [];
  if (watch.type === "watch") for await (const batch of watch.events) for (const { object } of batch) seen.push(object);
  assert.deepEqual(seen, [object]);
});
