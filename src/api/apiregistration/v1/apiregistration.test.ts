import assert from "node:assert/strict";
import { test } from "node:test";
import { cellsOf, changed, ruleTests } from "../../testing/rules.ts";
import { APIService } from "./api-service.ts";

const service = {
  metadata: { name: "v1.example.com" },
  spec: {
    group: "example.com",
    version: "v1",
    groupPriorityMinimum: 100,
    versionPriority: 10,
    service: { namespace: "a", name: "b" },
  },
};
ruleTests(APIService, service, {
  "another name": [
    { "metadata.name": "v2.example.com" },
    'metadata.name: Invalid value: "v2.example.com": must be `spec.version+"."+spec.group`: "v1.example.com"',
  ],
  "no priority": [
    { "spec.versionPriority": 0 },
    "spec.versionPriority: Invalid value: 0: must be positive and less than 1000",
  ],
  "certificates and blind trust": [
    { "spec.caBundle": btoa("x"), "spec.insecureSkipTLSVerify": true },
    "spec.insecureSkipTLSVerify: Invalid value: true: may not be true if caBundle is present",
  ],
  "certificates of this server itself": [
    { "spec.service": undefined, "spec.caBundle": btoa("abc") },
    'spec.caBundle: Invalid value: "3 bytes": local APIServices may not have a caBundle',
  ],
  "a service without a name": [{ "spec.service.name": "" }, "spec.service.name: Required value"],
});

test("a row says whether the service answers", () => {
  const cells = (status: object) => cellsOf(APIService, changed(service, { status })).slice(0, 3);
  assert.deepEqual(cells({}), ["v1.example.com", "a/b", "Unknown"]);
  assert.deepEqual(cells({ conditions: [{ type: "Available", status: "False", reason: "Down" }] }), [
    "v1.example.com",
    "a/b",
    "False (Down)",
  ]);
});
