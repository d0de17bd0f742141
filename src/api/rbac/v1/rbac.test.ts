import assert from "node:assert/strict";
import { test } from "node:test";
import { trackUpdate } from "#schema/apply/apply.ts";
import { cellsOf, defaulted, problemsOf, ruleTests, updateTests } from "../../testing/rules.ts";
import { ClusterRole } from "./cluster-role.ts";
import { ClusterRoleBinding } from "./cluster-role-binding.ts";
import { Role } from "./role.ts";
import { RoleBinding } from "./role-binding.ts";

const rule = { verbs: ["get"], apiGroups: [""], resources: ["pods"] };
const group = "rbac.authorization.k8s.io";

ruleTests(
  Role,
  { metadata: { name: "system:reader" }, rules: [rule] },
  {
    "no verbs": [{ "rules.0.verbs": [] }, "rules[0].verbs: Required value: verbs must contain at least one value"],
    "no group": [
      { "rules.0.apiGroups": [] },
      "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
    ],
    "no resource": [
      { "rules.0.resources": [] },
      "rules[0].resources: Required value: resource rules must supply at least one resource",
    ],
    "a path": [
      { "rules.0": { verbs: ["get"], nonResourceURLs: ["/healthz"] } },
      'rules[0].nonResourceURLs: Invalid value: ["/healthz"]: namespaced rules cannot apply to non-resource URLs',
    ],
    "a name with a slash": [{ "metadata.name": "a/b" }, "metadata.name: Invalid value: \"a/b\": may not contain '/'"],
  },
);

ruleTests(
  ClusterRole,
  { rules: [{ verbs: ["*"], nonResourceURLs: ["*"] }] },
  {
    "paths and resources in one rule": [
      { "rules.0": { ...rule, nonResourceURLs: ["/"] } },
      'rules[0].nonResourceURLs: Invalid value: ["/"]: rules cannot apply to both regular resources and non-resource URLs',
    ],
    "an aggregation of nothing": [
      { aggregationRule: {} },
      "aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil",
    ],
  },
);

const binding = { roleRef: { kind: "Role", name: "reader" }, subjects: [{ kind: "User", name: "ann" }] };

test("groups of roles and of users are filled in, those of service accounts are not", () => {
  const subjects = [
    { kind: "User", name: "ann" },
    { kind: "Group", name: "all" },
    { kind: "ServiceAccount", name: "bot" },
  ];
  assert.deepEqual(
    { ...defaulted(RoleBinding, { ...binding, subjects }), metadata: undefined },
    {
      apiVersion: `${group}/v1`,
      kind: "RoleBinding",
      metadata: undefined,
      roleRef: { kind: "Role", name: "reader", apiGroup: group },
      subjects: [
        { kind: "User", name: "ann", apiGroup: group },
        { kind: "Group", name: "all", apiGroup: group },
        { kind: "ServiceAccount", name: "bot" },
      ],
    },
  );
});

ruleTests(RoleBinding, binding, {
  "another kind of role": [
    { "roleRef.kind": "Rule" },
    'roleRef.kind: Unsupported value: "Rule": supported values: "Role", "ClusterRole"',
  ],
  "another group": [
    { "roleRef.apiGroup": "x" },
    `roleRef.apiGroup: Unsupported value: "x": supported values: "${group}"`,
  ],
  "no role, nor a name of a subject": [
    { roleRef: {}, "subjects.0.name": "" },
    'roleRef.kind: Unsupported value: "": supported values: "Role", "ClusterRole"',
    "roleRef.name: Required value",
    "subjects[0].name: Required value",
  ],
  "a role without a name": [{ "roleRef.name": "" }, "roleRef.name: Required value"],
  "an unknown subject": [
    { "subjects.0.kind": "Robot" },
    'subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"',
  ],
  "a service account with a group": [
    { "subjects.0": { kind: "ServiceAccount", name: "bot", apiGroup: "x" } },
    'subjects[0].apiGroup: Unsupported value: "x": supported values: ""',
  ],
});
updateTests(RoleBinding, binding, {
  "another role": [
    { "roleRef.name": "writer" },
    `roleRef: Invalid value: {"APIGroup":"${group}","Kind":"Role","Name":"writer"}: cannot change roleRef`,
  ],
  "other subjects": [{ subjects: [] }],
});

test("a cluster role binding binds cluster roles, and service accounts by namespace", () => {
  assert.deepEqual(
    problemsOf(ClusterRoleBinding, { ...binding, subjects: [{ kind: "ServiceAccount", name: "bot" }] }),
    [
      'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
      "subjects[0].namespace: Required value",
    ],
  );
});

test("a row of a binding, and of a role", () => {
  const subjects = [
    { kind: "User", name: "ann" },
    { kind: "User", name: "bob" },
    { kind: "ServiceAccount", name: "bot", namespace: "ci" },
  ];
  assert.deepEqual(cellsOf(RoleBinding, { ...binding, subjects }), [
    "example",
    "Role/reader",
    "60s",
    "ann, bob",
    "",
    "ci/bot",
  ]);
  assert.deepEqual(cellsOf(Role, { rules: [] }), ["example", "2025-12-31T23:59:00Z"]);
});

test("who creates a role owns its rules, and none where there are none, whatever was created before", () => {
  const ownedOf = (rules: readonly object[]) =>
    trackUpdate({
      kind: ClusterRole,
      live: undefined,
      updated: { metadata: { name: "one" }, rules },
      manager: "m",
      now: 0,
    }).map(({ fieldsV1 }) => fieldsV1);
  const some = [{ verbs: ["get"], resources: ["pods"], apiGroups: [""] }];
  for (let round = 0; round < 2; round++) {
    assert.deepEqual(ownedOf(some), [{ "f:rules": {} }]);
    assert.deepEqual(ownedOf([]), []); // written as null, which is what a role without rules has anyway
  }
});
