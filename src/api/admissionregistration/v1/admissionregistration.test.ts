import assert from "node:assert/strict";
import { test } from "node:test";
import { cellsOf, changed, defaulted, ruleTests } from "../../testing/rules.ts";
import { MutatingAdmissionPolicy } from "./mutating-admission-policy.ts";
import { MutatingWebhookConfiguration } from "./mutating-webhook-configuration.ts";
import { ValidatingAdmissionPolicy } from "./validating-admission-policy.ts";
import { ValidatingAdmissionPolicyBinding } from "./validating-admission-policy-binding.ts";
import { ValidatingWebhookConfiguration } from "./validating-webhook-configuration.ts";

const rule = { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] };
const hook = {
  name: "check.example.com",
  clientConfig: { service: { namespace: "hooks", name: "check", path: "/check" } },
  rules: [rule],
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
};

test("a webhook gets its defaults, one that mutates is asked once", () => {
  const [validating] = defaulted(ValidatingWebhookConfiguration, { webhooks: [hook] }).webhooks as Record<
    string,
    unknown
  >[];
  const { failurePolicy, matchPolicy, namespaceSelector, objectSelector, timeoutSeconds, clientConfig, rules } =
    validating!;
  assert.deepEqual(
    { failurePolicy, matchPolicy, namespaceSelector, objectSelector, timeoutSeconds },
    {
      failurePolicy: "Fail",
      matchPolicy: "Equivalent",
      namespaceSelector: {},
      objectSelector: {},
      timeoutSeconds: 10,
    },
  );
  assert.deepEqual(clientConfig, { service: { ...hook.clientConfig.service, port: 443 } });
  assert.deepEqual(rules, [{ ...rule, scope: "*" }]);
  const [mutating] = defaulted(MutatingWebhookConfiguration, { webhooks: [hook] }).webhooks as Record<
    string,
    unknown
  >[];
  assert.equal(mutating?.reinvocationPolicy, "Never");
});

ruleTests(
  ValidatingWebhookConfiguration,
  { webhooks: [hook] },
  {
    "a name of two parts": [
      { "webhooks.0.name": "example.com" },
      'webhooks[0].name: Invalid value: "example.com": should be a domain with at least three segments separated by dots',
    ],
    "the same name twice": [{ webhooks: [hook, hook] }, 'webhooks[1].name: Duplicate value: "check.example.com"'],
    "side effects": [
      { "webhooks.0.sideEffects": "Some" },
      'webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"',
    ],
    "silence about side effects": [
      { "webhooks.0.sideEffects": undefined },
      "webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun",
    ],
    "too little time": [
      { "webhooks.0.timeoutSeconds": 0 },
      "webhooks[0].timeoutSeconds: Invalid value: 0: the timeout value must be between 1 and 30 seconds",
    ],
    "no version of the question": [
      { "webhooks.0.admissionReviewVersions": [] },
      "webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1",
    ],
    "only unknown versions": [
      { "webhooks.0.admissionReviewVersions": ["v9"] },
      'webhooks[0].admissionReviewVersions: Invalid value: ["v9"]: must include at least one of v1, v1beta1',
    ],
    "nowhere to call": [
      { "webhooks.0.clientConfig": {} },
      "webhooks[0].clientConfig: Required value: exactly one of url or service is required",
    ],
    "a call in the clear": [
      { "webhooks.0.clientConfig": { url: "http://a?b#c" } },
      "webhooks[0].clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
      'webhooks[0].clientConfig.url: Invalid value: "c": fragments are not permitted in the URL',
      'webhooks[0].clientConfig.url: Invalid value: "b": query parameters are not permitted in the URL',
    ],
    "a path with a hole": [
      { "webhooks.0.clientConfig.service.path": "/a//b" },
      'webhooks[0].clientConfig.service.path: Invalid value: "/a//b": segment[1] may not be empty',
    ],
    "all and more operations": [
      { "webhooks.0.rules.0.operations": ["*", "CREATE"] },
      `webhooks[0].rules[0].operations: Invalid value: ["*","CREATE"]: if '*' is present, must not specify other operations`,
    ],
    "an unknown operation": [
      { "webhooks.0.rules.0.operations": ["PATCH"] },
      'webhooks[0].rules[0].operations[0]: Unsupported value: "PATCH": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"',
    ],
    "a resource that another covers": [
      { "webhooks.0.rules.0.resources": ["pods/*", "pods/log"] },
      "webhooks[0].rules[0].resources[1]: Invalid value: \"pods/log\": if 'pods/*' is present, must not specify pods/log",
    ],
    "a condition without words": [
      { "webhooks.0.matchConditions": [{ name: "a", expression: " " }] },
      "webhooks[0].matchConditions[0].expression: Required value",
    ],
  },
);

const policy = {
  metadata: { name: "policy.example.com" },
  spec: { matchConstraints: { resourceRules: [rule] }, validations: [{ expression: "true" }] },
};
ruleTests(ValidatingAdmissionPolicy, policy, {
  "nothing to match": [{ "spec.matchConstraints": undefined }, "spec.matchConstraints: Required value"],
  "no rule to match": [{ "spec.matchConstraints": {} }, "spec.matchConstraints.resourceRules: Required value"],
  "nothing to check": [
    { "spec.validations": [] },
    "spec.validations: Required value: validations or auditAnnotations must contain at least one item",
    "spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item",
  ],
  "no expression": [
    { "spec.validations": [{ expression: "" }] },
    "spec.validations[0].expression: Required value: expression is not specified",
  ],
  "a message of two lines": [
    { "spec.validations.0.message": "a\nb" },
    'spec.validations[0].message: Invalid value: "a\\nb": must not contain line breaks',
  ],
  "an unknown reason": [
    { "spec.validations.0.reason": "Why" },
    'spec.validations[0].reason: Unsupported value: "Why": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"',
  ],
  "a variable with a reserved name": [
    { "spec.variables": [{ name: "in", expression: "1" }] },
    'spec.variables[0].name: Invalid value: "in": must be a valid CEL identifier',
  ],
  "parameters without a kind": [{ "spec.paramKind": { apiVersion: "v1" } }, "spec.paramKind.kind: Required value"],
  "an annotation twice": [
    { "spec.auditAnnotations": [1, 2].map(() => ({ key: "a", valueExpression: "'b'" })) },
    'spec.auditAnnotations[1].key: Duplicate value: "a"',
  ],
});

ruleTests(
  ValidatingAdmissionPolicyBinding,
  { spec: { policyName: "p", validationActions: ["Deny"] } },
  {
    "no policy": [{ "spec.policyName": undefined }, "spec.policyName: Required value"],
    "no action": [
      { "spec.validationActions": [] },
      "spec.validationActions: Required value: at least one validation action is required",
    ],
    "to deny and to warn": [
      { "spec.validationActions": ["Deny", "Warn"] },
      'spec.validationActions: Invalid value: ["Deny","Warn"]: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
    ],
    "parameters of no name": [
      { "spec.paramRef": { parameterNotFoundAction: "Deny" } },
      "spec.paramRef: Required value: one of name or selector must be specified",
    ],
    "no word on missing parameters": [
      { "spec.paramRef": { name: "a" } },
      "spec.paramRef.parameterNotFoundAction: Required value",
    ],
  },
);

const mutation = { patchType: "JSONPatch", jsonPatch: { expression: "[JSONPatch{op: 'remove', path: '/data'}]" } };
ruleTests(
  MutatingAdmissionPolicy,
  { spec: { matchConstraints: { resourceRules: [rule] }, mutations: [mutation], reinvocationPolicy: "Never" } },
  {
    "nothing to change": [
      { "spec.mutations": [] },
      "spec.mutations: Required value: mutations must contain at least one item",
    ],
    "a patch of another type": [
      { "spec.mutations.0.patchType": "ApplyConfiguration" },
      "spec.mutations[0].applyConfiguration: Required value: must be specified when patchType is ApplyConfiguration",
      'spec.mutations[0].jsonPatch: Invalid value: "{jsonPatch}": must not be specified when patchType is ApplyConfiguration',
    ],
    "a change on deletion": [
      { "spec.matchConstraints.resourceRules.0.operations": ["DELETE"] },
      'spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"',
    ],
  },
);

test("rows of admission", () => {
  assert.deepEqual(cellsOf(ValidatingWebhookConfiguration, { webhooks: [hook] }), ["example", 1, "60s"]);
  const typed = changed(policy, { "spec.paramKind": { apiVersion: "v1", kind: "ConfigMap" } });
  assert.deepEqual(cellsOf(ValidatingAdmissionPolicy, typed), ["policy.example.com", 1, "v1/ConfigMap", "60s"]);
  assert.deepEqual(cellsOf(ValidatingAdmissionPolicyBinding, { spec: { policyName: "p", paramRef: { name: "x" } } }), [
    "example",
    "p",
    "*/x",
    "60s",
  ]);
});
