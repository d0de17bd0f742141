import assert from "node:assert/strict";
import { test } from "node:test";
import { cellsOf, changed, defaulted, problemsOf, ruleTests, updateTests } from "../../testing/rules.ts";
import { CustomResourceDefinition } from "./custom-resource-definition.ts";

const schema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        size: { type: "integer" },
        color: { type: "string" },
        parts: { type: "array", items: { type: "string" } },
      },
    },
    status: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  },
};
const crd = {
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "widgets", kind: "Widget" },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
  },
};
const root = "spec.validation.openAPIV3Schema";
const at = "spec.versions.0.schema.openAPIV3Schema";

test("a definition gets names, a conversion and its stored version", () => {
  const { spec, status } = defaulted(CustomResourceDefinition, crd) as unknown as CustomResourceDefinition;
  assert.deepEqual(spec.names, { plural: "widgets", kind: "Widget", singular: "widget", listKind: "WidgetList" });
  assert.deepEqual(spec.conversion, { strategy: "None" });
  assert.deepEqual(status.storedVersions, ["v1"]);
});

ruleTests(CustomResourceDefinition, crd, {
  "nothing at all": [
    { "metadata.name": "foos.example.com", spec: {} },
    'metadata.name: Invalid value: "foos.example.com": must be spec.names.plural+"."+spec.group',
    "spec.group: Required value",
    "spec.scope: Required value",
    "spec.versions: Invalid value: null: must have exactly one version marked as storage version",
    "spec.names.plural: Required value",
    "spec.names.singular: Required value",
    "spec.names.kind: Required value",
    "spec.names.listKind: Required value",
    "status.storedVersions: Invalid value: null: must have at least one stored version",
  ],
  "another name": [
    { "metadata.name": "gadgets.example.com" },
    'metadata.name: Invalid value: "gadgets.example.com": must be spec.names.plural+"."+spec.group',
  ],
  "a group without a dot": [
    { "metadata.name": "widgets.example", "spec.group": "example" },
    'spec.group: Invalid value: "example": should be a domain with at least one dot',
  ],
  "an unknown scope": [
    { "spec.scope": "World" },
    'spec.scope: Unsupported value: "World": supported values: "Cluster", "Namespaced"',
  ],
  "no kind": [
    { "spec.names.kind": "" },
    "spec.names.singular: Required value",
    "spec.names.kind: Required value",
    "spec.names.listKind: Required value",
  ],
  "lists called like their items": [
    { "spec.names.listKind": "Widget" },
    'spec.names.listKind: Invalid value: "Widget": kind and listKind may not be the same',
  ],
  "no schema": [{ "spec.versions.0.schema": undefined }, "spec.versions[0].schema.openAPIV3Schema: Required value"],
  "a warning about what is not deprecated": [
    { "spec.versions.0.deprecationWarning": "old" },
    'spec.versions[0].deprecationWarning: Invalid value: "old": can only be set for deprecated versions',
  ],
  "all unknown fields kept": [
    { "spec.preserveUnknownFields": true },
    "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
  ],
  "a group of the project itself": [
    { "metadata.name": "widgets.example.k8s.io", "spec.group": "example.k8s.io" },
    'metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
  ],
  "a webhook without an address": [
    { "spec.conversion": { strategy: "Webhook", webhook: { conversionReviewVersions: ["v1"] } } },
    "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
  ],
  "a webhook that is not used": [
    { "spec.conversion": { strategy: "None", webhook: { conversionReviewVersions: ["v1"] } } },
    "spec.conversion.conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook",
  ],
  "a scale that is nowhere": [
    { "spec.versions.0.subresources": { scale: { specReplicasPath: ".size", statusReplicasPath: "" } } },
    'spec.subresources.scale.specReplicasPath: Invalid value: ".size": should be a json path under .spec',
    "spec.subresources.scale.statusReplicasPath: Required value",
  ],
  "a column of an unknown type": [
    { "spec.versions.0.additionalPrinterColumns": [{ name: "A", type: "money", jsonPath: ".spec.size" }] },
    'spec.additionalPrinterColumns[0].type: Invalid value: "money": must be one of boolean,date,integer,number,string',
  ],
  "a selectable field that is a list": [
    { "spec.versions.0.selectableFields": [{ jsonPath: ".spec.parts" }, { jsonPath: ".spec.none" }] },
    'spec.selectableFields[0].jsonPath: Invalid value: ".spec.parts": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
    'spec.selectableFields[1].jsonPath: Invalid value: ".spec.none": is an invalid path: does not refer to a valid field',
  ],
});

ruleTests(CustomResourceDefinition, crd, {
  "a field without a type": [
    { [`${at}.properties.spec.properties.size`]: {} },
    `${root}.properties[spec].properties[size].type: Required value: must not be empty for specified object fields`,
  ],
  "a root that is no object": [
    { [`${at}`]: { type: "string" } },
    `${root}.type: Invalid value: "string": must be object at the root`,
  ],
  "an array without items": [
    { [`${at}.properties.spec.properties.parts.items`]: undefined },
    `${root}.properties[spec].properties[parts].items: Required value: must be specified`,
  ],
  "a type within a condition": [
    { [`${at}.properties.spec.anyOf`]: [{ type: "object" }] },
    `${root}.properties[spec].anyOf[0].type: Forbidden: must be empty to be structural`,
  ],
  "a condition on what is not declared": [
    { [`${at}.anyOf`]: [{ properties: { other: { minLength: 1 } } }] },
    `${root}.properties[other]: Required value: because it is defined in ${root}.anyOf[0].properties[other]`,
  ],
  "what is an integer or text": [
    {
      [`${at}.properties.spec.properties.size`]: {
        "x-kubernetes-int-or-string": true,
        anyOf: [{ type: "integer" }, { type: "string" }],
      },
    },
  ],
  "metadata that is described": [
    { [`${at}.properties.metadata`]: { type: "object", properties: { labels: { type: "object" } } } },
    `${root}.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified`,
  ],
  "a kind that is no text": [
    { [`${at}.properties.kind`]: { type: "integer" } },
    `${root}.properties[kind].type: Invalid value: "integer": must be string`,
  ],
  "fields beside values of a map": [
    { [`${at}.properties.spec.additionalProperties`]: { type: "string" } },
    `${root}.properties[spec].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive`,
  ],
  "unique items": [
    { [`${at}.properties.spec.properties.parts.uniqueItems`]: true },
    `${root}.properties[spec].properties[parts].uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic`,
  ],
  "a reference": [
    { [`${at}.properties.spec.properties.size.$ref`]: "#/x" },
    `${root}.properties[spec].properties[size].$ref: Forbidden: $ref is not supported`,
  ],
  "a list of keys without keys": [
    { [`${at}.properties.spec.properties.parts.x-kubernetes-list-type`]: "map" },
    `${root}.properties[spec].properties[parts].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map`,
    `${root}.properties[spec].properties[parts].items.type: Invalid value: "string": must be object if parent array's x-kubernetes-list-type is map`,
  ],
  "a key that may be absent": [
    {
      [`${at}.properties.spec.properties.parts`]: {
        type: "array",
        items: { type: "object", properties: { id: { type: "string" } } },
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["id"],
      },
    },
    `${root}.properties[spec].properties[parts].items.properties[id].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property`,
  ],
  "a bad pattern": [
    { [`${at}.properties.spec.properties.color.pattern`]: "(" },
    `${root}.properties[spec].properties[color].pattern: Invalid value: "(": must be a valid regular expression, but isn't: error parsing regexp: missing closing ): \`(\``,
  ],
  "a rule without words": [
    { [`${at}.properties.spec.x-kubernetes-validations`]: [{ rule: " " }] },
    `${root}.properties[spec].x-kubernetes-validations[0].rule: Required value: rule is not specified`,
  ],
  "a default at the top": [
    { [`${at}.properties.kind`]: { type: "string", default: "Widget" } },
    `${root}.properties[kind].default: Forbidden: must not be set in top-level kind`,
  ],
  "conditions at the root beside a status": [
    {
      "spec.versions.0.subresources": { status: {} },
      [`${at}.properties.status`]: undefined,
      [`${at}.properties.spec`]: undefined,
      [`${at}.properties`]: undefined,
      [`${at}.maxProperties`]: 1,
    },
    `${root}: Invalid value: {"type":"object","maxProperties":1}: only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations] fields are allowed at the root of the schema if the status subresource is enabled`,
  ],
});

test("versions with schemas of their own are named in the answer", () => {
  const versions = [
    crd.spec.versions[0],
    {
      name: "v2",
      served: true,
      storage: false,
      schema: { openAPIV3Schema: { type: "object", properties: { a: {} } } },
    },
  ];
  assert.deepEqual(problemsOf(CustomResourceDefinition, changed(crd, { "spec.versions": versions })), [
    "spec.versions[1].schema.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields",
  ]);
  const two = [versions[0], { ...versions[0], name: "v2" }];
  const [problem, ...more] = problemsOf(CustomResourceDefinition, changed(crd, { "spec.versions": two }));
  assert.match(
    problem ?? "",
    /^spec\.versions: Invalid value: .*: must have exactly one version marked as storage version$/,
  );
  assert.deepEqual(more, ['status.storedVersions: Invalid value: ["v1"]: must have the storage version v2']);
});

const established = changed(crd, {
  "status.conditions": [{ type: "Established", status: "True" }],
  "status.storedVersions": ["v1"],
});
updateTests(CustomResourceDefinition, established, {
  "another scope once it is served": [
    { "spec.scope": "Cluster" },
    'spec.scope: Invalid value: "Cluster": field is immutable',
  ],
  "a version gone that objects are stored in": [
    { "spec.versions.0.name": "v2", "status.storedVersions": ["v1", "v2"] },
    'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 and removes v1 from status.storedVersions',
  ],
});

test("a row of a definition", () => {
  assert.deepEqual(cellsOf(CustomResourceDefinition, crd), ["widgets.example.com", "2025-12-31T23:59:00Z"]);
});

test("two storage versions of one name are three problems, as upstream counts them", () => {
  const version = { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } };
  const problems = problemsOf(CustomResourceDefinition, changed(crd, { "spec.versions": [version, version] }));
  assert.deepEqual(
    problems.map((line) => line.slice(line.lastIndexOf(": ") + 2)),
    [
      "must contain unique version names",
      "must have exactly one version marked as storage version",
      "must have the storage version v1",
    ],
  );
});
