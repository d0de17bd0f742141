import assert from "node:assert/strict";
import { test } from "node:test";
import { cellsOf, changed, defaulted, problemsOf, ruleTests } from "../../testing/rules.ts";
import { FlowSchema } from "./flow-schema.ts";
import { mandatoryFlowSchemas, mandatoryPriorityLevels } from "./mandatory.ts";
import { PriorityLevelConfiguration } from "./priority-level-configuration.ts";

const flow = {
  spec: {
    priorityLevelConfiguration: { name: "low" },
    rules: [
      {
        subjects: [{ kind: "User", user: { name: "*" } }],
        nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/healthz"] }],
      },
    ],
  },
};
const resources = { verbs: ["*"], apiGroups: ["*"], resources: ["*"] };
ruleTests(FlowSchema, flow, {
  "no level": [
    { "spec.priorityLevelConfiguration.name": "" },
    "spec.priorityLevelConfiguration.name: Required value: must reference a priority level",
  ],
  "the first place": [
    { "spec.matchingPrecedence": 1 },
    "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1",
  ],
  "too late a place": [
    { "spec.matchingPrecedence": 10_001 },
    "spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000",
  ],
  "a rule about nobody": [
    { "spec.rules.0.subjects": [] },
    "spec.rules[0].subjects: Required value: subjects must contain at least one value",
  ],
  "a rule about nothing": [
    { "spec.rules.0.nonResourceRules": [] },
    "spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty",
  ],
  "a user who is a group": [
    { "spec.rules.0.subjects.0": { kind: "User", group: { name: "a" } } },
    "spec.rules[0].subjects[0].user: Required value: user is required when subject kind is 'User'",
    "spec.rules[0].subjects[0].group: Forbidden: group is forbidden when subject kind is not 'Group'",
  ],
  "an unknown subject": [
    { "spec.rules.0.subjects.0.kind": "constructor" },
    'spec.rules[0].subjects[0].kind: Unsupported value: "constructor": supported values: "Group", "ServiceAccount", "User"',
  ],
  "a star in the middle": [
    { "spec.rules.0.nonResourceRules.0.nonResourceURLs": ["/a*b"] },
    'spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "/a*b": wildcard can only do suffix matching',
  ],
  "resources nowhere": [
    { "spec.rules.0.resourceRules": [resources] },
    "spec.rules[0].resourceRules[0].namespaces: Required value: resource rules that are not cluster scoped must supply at least one namespace",
  ],
});

const level = { spec: { type: "Limited", limited: { limitResponse: { type: "Queue", queuing: {} } } } };
test("a level gets a share, and queues", () => {
  assert.deepEqual((defaulted(PriorityLevelConfiguration, level).spec as { limited: unknown }).limited, {
    nominalConcurrencyShares: 30,
    lendablePercent: 0,
    limitResponse: { type: "Queue", queuing: { queues: 64, handSize: 8, queueLengthLimit: 50 } },
  });
});
ruleTests(PriorityLevelConfiguration, level, {
  "an exemption": [
    { spec: { type: "Exempt" } },
    "spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is 'exempt'",
  ],
  "no limits": [{ "spec.limited": undefined }, "spec.limited: Required value: must not be empty when type is Limited"],
  "a hand larger than the deck": [
    { "spec.limited.limitResponse.queuing": { queues: 4, handSize: 5 } },
    "spec.limited.limitResponse.queuing.handSize: Invalid value: 5: should not be greater than queues (4)",
  ],
  "a hand too large to deal": [
    { "spec.limited.limitResponse.queuing": { queues: 1024, handSize: 7 } },
    "spec.limited.limitResponse.queuing.handSize: Invalid value: 7: required entropy bits of deckSize 1024 and handSize 7 should not be greater than 60",
  ],
  "queues for those who are rejected": [
    { "spec.limited.limitResponse.type": "Reject" },
    "spec.limited.limitResponse.queuing: Forbidden: must be nil if limited.limitResponse.type is not Limited",
  ],
  "lending more than all": [
    { "spec.limited.lendablePercent": 101 },
    "spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive",
  ],
});

test("what every server has is valid as it is and not otherwise", () => {
  for (const [name, spec] of mandatoryFlowSchemas)
    assert.deepEqual(problemsOf(FlowSchema, { metadata: { name }, spec }), []);
  for (const [name, spec] of mandatoryPriorityLevels)
    assert.deepEqual(problemsOf(PriorityLevelConfiguration, { metadata: { name }, spec }), []);
  const [problem] = problemsOf(FlowSchema, { metadata: { name: "catch-all" }, ...changed(flow, {}) });
  assert.match(problem ?? "", /spec of 'catch-all' must equal the fixed value$/);
});

test("rows of flow control", () => {
  assert.deepEqual(cellsOf(FlowSchema, flow), ["example", "low", 1000, "<none>", "60s", "?"]);
  assert.deepEqual(cellsOf(PriorityLevelConfiguration, level), ["example", "Limited", 30, 64, 8, 50, "60s"]);
});
