import assert from "node:assert/strict";
import { test } from "node:test";
import { rightsFor } from "./rights.ts";

const table: readonly (readonly [string, readonly string[]])[] = [
  ["/pods", ["pods", "proxy"]],
  ["/pods/", ["pods", "proxy"]],
  ["/runningpods/", ["pods", "proxy"]],
  ["/healthz", ["healthz", "proxy"]],
  ["/healthz/ping", ["healthz", "proxy"]],
  ["/configz", ["configz", "proxy"]],
  ["/stats/summary", ["stats"]],
  ["/metrics", ["metrics"]],
  ["/metrics/resource", ["metrics"]],
  ["/logs/x", ["log"]],
  ["/checkpoint/ns/pod/c", ["checkpoint"]],
  ["/statusz", ["statusz"]],
  ["/flagz", ["configz"]],
  ["/containerLogs/ns/pod/c", ["proxy"]],
  ["/metricsx", ["proxy"]],
  ["//metrics", ["proxy"]],
  ["/", ["proxy"]],
  ["/%zz", ["proxy"]],
];

for (const [path, subresources] of table)
  test(`${path} takes one of ${subresources.join(", ")}`, () =>
    assert.deepEqual(rightsFor("GET", path), { verb: "get", subresources }));

test("the verb is the method's, and none for what is no method of the API", () => {
  const verbs = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "constructor"].map(
    (method) => rightsFor(method, "/pods").verb,
  );
  assert.deepEqual(verbs, ["get", "create", "update", "patch", "delete", "", ""]);
});

test("what runs commands takes the right to create, however it is asked for", () => {
  for (const path of ["/exec/ns/pod/c", "/attach/ns/pod/c", "/run/ns/pod/c", "/portForward/ns/pod", "/%65xec/ns/pod/c"])
    for (const method of ["GET", "POST", "PUT"])
      assert.deepEqual(rightsFor(method, path), { verb: "create", subresources: ["proxy"] }, `${method} ${path}`);
  assert.equal(rightsFor("constructor", "/exec/ns/pod/c").verb, "");
});
