import assert from "node:assert/strict";
import { test } from "node:test";
import { applyDefaults } from "#schema/defaults.ts";
import { type AnyKind, problemText } from "#schema/index.ts";
import { validateObject } from "#schema/validate.ts";
import { TokenRequest } from "../../authentication/v1/token-request.ts";
import { LocalSubjectAccessReview } from "./local-subject-access-review.ts";
import { SelfSubjectAccessReview } from "./self-subject-access-review.ts";
import { SubjectAccessReview } from "./subject-access-review.ts";

const problems = (kind: AnyKind, spec: Record<string, unknown>, metadata: Record<string, unknown> = {}) =>
  validateObject(kind, applyDefaults(kind, { apiVersion: kind.apiVersion, kind: kind.kind, metadata, spec })).map(
    problemText,
  );

const resourceAttributes = { verb: "get", resource: "pods" };
const nonResourceAttributes = { verb: "get", path: "/" };

test("a question is about a resource or a path", () => {
  assert.deepEqual(problems(SelfSubjectAccessReview, { resourceAttributes }), []);
  assert.deepEqual(problems(SelfSubjectAccessReview, {}), [
    "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified",
  ]);
  assert.deepEqual(problems(SelfSubjectAccessReview, { resourceAttributes, nonResourceAttributes }), [
    'spec.nonResourceAttributes: Invalid value: {"verb":"get","path":"/"}: cannot be specified in combination with resourceAttributes',
  ]);
});

test("a question about others names them, and has no name itself", () => {
  assert.deepEqual(problems(SubjectAccessReview, { resourceAttributes }, { name: "x" }), [
    'spec.user: Invalid value: "": at least one of user or group must be specified',
    'metadata: Invalid value: {"name":"x"}: must be empty',
  ]);
});

test("a question within a namespace stays within it", () => {
  const spec = { user: "ann", resourceAttributes: { ...resourceAttributes, namespace: "b" } };
  assert.deepEqual(problems(LocalSubjectAccessReview, spec, { namespace: "b" }), []);
  assert.deepEqual(problems(LocalSubjectAccessReview, spec, { namespace: "a" }), [
    'spec.resourceAttributes.namespace: Invalid value: "b": must match metadata.namespace',
  ]);
});

test("a selector in a question is given once", () => {
  const labelSelector = { rawSelector: "a=b", requirements: [{ key: "a", operator: "Exists" }] };
  assert.deepEqual(
    problems(SelfSubjectAccessReview, { resourceAttributes: { ...resourceAttributes, labelSelector } }),
    [
      'spec.resourceAttributes.labelSelector.rawSelector: Invalid value: "a=b": may not specified at the same time as requirements',
    ],
  );
});

test("a token is good for ten minutes at least, and for an hour by default", () => {
  assert.deepEqual(problems(TokenRequest, { expirationSeconds: 599 }), [
    "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes",
  ]);
  assert.deepEqual(problems(TokenRequest, {}), []);
});
