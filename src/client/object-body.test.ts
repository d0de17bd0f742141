import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { deepFreeze } from "#base/collections.ts";
import { decodeManaged } from "#schema/apply/managed.ts";
import { objectBody } from "./object-body.ts";

const entry = (manager: string) => ({
  manager,
  operation: "Update",
  apiVersion: "v1",
  fieldsType: "FieldsV1",
  fieldsV1: { "f:data": {} },
});

test("a server is given a copy, in which it finds the managed fields again that it has read before", () => {
  const [known, strange] = [entry("known"), { ...entry("strange"), subresource: undefined }];
  decodeManaged([known]);
  const sent = deepFreeze({ metadata: { name: "a", managedFields: [known, strange] }, data: { a: "1" } });
  const { object } = objectBody(sent).decode(ConfigMap);
  assert.deepEqual(object, { metadata: { name: "a", managedFields: [known, entry("strange")] }, data: { a: "1" } });
  assert.equal(object.metadata.managedFields[0], known);
  assert.notEqual(object.metadata.managedFields[1], strange);
  assert.notEqual(object.metadata, sent.metadata);
  assert.notEqual(object.data, sent.data);
});
