import assert from "node:assert/strict";
import { test } from "node:test";
import { UsageError } from "#base/errors.ts";
import { readConfiguration } from "./configuration.ts";
import { schedulerPlugin } from "./framework.ts";
import { defaultPlugins, type PluginEntry } from "./plugins/list.ts";
import type { ExtensionPoint } from "./profile.ts";
import { asking, Scenario } from "./testing/scenario.ts";

const namesAt = (point: "filter" | "score", plugins: object, more: readonly PluginEntry[] = []) => {
  const configuration = { profiles: [{ plugins }] };
  return new Scenario({ configuration, plugins: [...defaultPlugins, ...more] }).profile[point].map(
    ({ plugin, weight }) => (point === "score" ? `${plugin.name} ${weight}` : plugin.name),
  );
};

const filters = [
  "NodeUnschedulable",
  "NodeName",
  "TaintToleration",
  "NodeAffinity",
  "NodePorts",
  "NodeResourcesFit",
  "VolumeRestrictions",
  "NodeVolumeLimits",
  "VolumeBinding",
  "VolumeZone",
  "PodTopologySpread",
  "InterPodAffinity",
  "DynamicResources",
  "NodeDeclaredFeatures",
];
const scores = [
  "TaintToleration 3",
  "NodeAffinity 2",
  "NodeResourcesFit 1",
  "PodTopologySpread 2",
  "InterPodAffinity 2",
  "DynamicResources 2",
  "NodeResourcesBalancedAllocation 1",
  "ImageLocality 1",
];

test("without a configuration the default plugins take part, in upstream's order", () => {
  assert.deepEqual(namesAt("filter", {}), filters);
  assert.deepEqual(namesAt("score", {}), scores);
});

const mine: PluginEntry = {
  name: "Mine",
  optional: true,
  make: () => schedulerPlugin({ name: "Mine", filter: () => undefined, score: () => 0 }),
};

const cases: readonly [string, "filter" | "score", object, readonly string[]][] = [
  [
    "one is disabled for one step",
    "score",
    { score: { disabled: [{ name: "ImageLocality" }] } },
    scores.filter((name) => name !== "ImageLocality 1"),
  ],
  [
    "one is disabled for all",
    "filter",
    { multiPoint: { disabled: [{ name: "NodePorts" }] } },
    filters.filter((name) => name !== "NodePorts"),
  ],
  [
    "all are disabled but one",
    "filter",
    { filter: { disabled: [{ name: "*" }], enabled: [{ name: "NodeName" }] } },
    ["NodeName"],
  ],
  [
    "a weight is set for all steps, and the place is kept",
    "score",
    { multiPoint: { enabled: [{ name: "NodeAffinity", weight: 7 }] } },
    scores.map((name) => (name === "NodeAffinity 2" ? "NodeAffinity 7" : name)),
  ],
  [
    "one that is named for its step comes first",
    "score",
    { score: { enabled: [{ name: "ImageLocality", weight: 5 }] } },
    ["ImageLocality 5", ...scores.filter((name) => name !== "ImageLocality 1")],
  ],
  ["one of one's own comes last", "filter", { multiPoint: { enabled: [{ name: "Mine" }] } }, [...filters, "Mine"]],
  [
    "one of one's own for one step",
    "score",
    { score: { enabled: [{ name: "Mine", weight: 4 }] } },
    [...scores, "Mine 4"],
  ],
];
for (const [name, point, plugins, expected] of cases)
  test(`in a profile ${name}`, () => {
    assert.deepEqual(namesAt(point, plugins, [mine]), expected);
  });

const binding = { urlPrefix: "http://x", bindVerb: "bind" };
const refused: readonly [string, object, RegExp][] = [
  [
    "of another version",
    { apiVersion: "kubescheduler.config.k8s.io/v1beta3" },
    /expected kind KubeSchedulerConfiguration/,
  ],
  ["with an unknown field", { profles: [] }, /unknown field "profles"/],
  ["with a wrong percentage", { percentageOfNodesToScore: 101 }, /not in valid range \[0-100\]/],
  ["that backs off for no time", { podInitialBackoffSeconds: 0 }, /podInitialBackoffSeconds: .*must be greater than 0/],
  [
    "with the longest wait below the first",
    { podInitialBackoffSeconds: 20 },
    /podMaxBackoffSeconds: .*greater than or equal/,
  ],
  ["with a name twice", { profiles: [{}, {}] }, /profiles\[1\]\.schedulerName: Duplicate value: "default-scheduler"/],
  ["two extenders that bind", { extenders: [binding, binding] }, /extenders: .*only one extender can implement bind/],
  [
    "an extender that scores without weight",
    { extenders: [{ urlPrefix: "http://x", prioritizeVerb: "score" }] },
    /extenders\[0\].weight: .*must have a positive weight/,
  ],
  [
    "an extender that manages cores",
    { extenders: [{ urlPrefix: "http://x", managedResources: [{ name: "cpu" }] }] },
    /managedResources\[0\].name: .*is an invalid extended resource name/,
  ],
];
for (const [name, value, message] of refused)
  test(`a configuration ${name} is refused`, () => {
    assert.throws(() => readConfiguration(value), { name: "UsageError", message });
  });

const profile = (one: object) => ({ profiles: [one] });
const args = (name: string, given: object) => profile({ pluginConfig: [{ name, args: given }] });
const wrongProfiles: readonly [string, object, RegExp][] = [
  [
    "an unknown plugin",
    profile({ plugins: { filter: { enabled: [{ name: "Nope" }] } } }),
    /plugins\.filter: plugin "Nope" does not exist/,
  ],
  ["settings of an unknown plugin", args("Nope", {}), /pluginConfig\[0\]: plugin "Nope" does not exist/],
  [
    "a plugin where it does nothing",
    profile({ plugins: { score: { enabled: [{ name: "NodeName" }] } } }),
    /"NodeName" does not take part in score/,
  ],
  [
    "a plugin twice",
    profile({ plugins: { filter: { enabled: [{ name: "NodeName" }, { name: "NodeName" }] } } }),
    /enabled twice/,
  ],
  ["nothing that binds", profile({ plugins: { bind: { disabled: [{ name: "*" }] } } }), /at least one bind plugin/],
  [
    "nothing that sorts",
    profile({ plugins: { queueSort: { disabled: [{ name: "*" }] } } }),
    /one queue sort plugin is required/,
  ],
  [
    "a weight beyond its range",
    args("InterPodAffinity", { hardPodAffinityWeight: 101 }),
    /args: hardPodAffinityWeight: .*\[0, 100\]/,
  ],
  [
    "an unknown strategy",
    args("NodeResourcesFit", { scoringStrategy: { type: "Most" } }),
    /scoringStrategy\.type: Unsupported value: "Most"/,
  ],
  [
    "a ratio without its shape",
    args("NodeResourcesFit", { scoringStrategy: { type: "RequestedToCapacityRatio" } }),
    /requestedToCapacityRatio: Required value/,
  ],
  [
    "constraints beside the system's",
    args("PodTopologySpread", {
      defaultConstraints: [{ maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "ScheduleAnyway" }],
    }),
    /when \.defaultConstraints are not empty/,
  ],
  [
    "no candidates at all",
    args("DefaultPreemption", { minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0 }),
    /cannot be zero at the same time/,
  ],
  ["an unknown setting", args("VolumeBinding", { timeout: 3 }), /pluginConfig\[0\]\.args: unknown field "timeout"/],
];
for (const [name, configuration, message] of wrongProfiles)
  test(`a profile with ${name} is refused`, () => {
    assert.throws(
      () => new Scenario({ configuration }),
      (error) => error instanceof UsageError && message.test(error.message),
    );
  });

test("all extension points of upstream can be named in a profile", () => {
  const points: readonly ExtensionPoint[] = [
    "preEnqueue",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "reserve",
    "permit",
    "preBind",
    "postBind",
  ];
  const plugins = Object.fromEntries(points.map((point) => [point, { disabled: [{ name: "*" }] }]));
  const { profile: made } = new Scenario({ configuration: profile({ plugins }) });
  assert.deepEqual(made.filter, []);
  assert.deepEqual(made.postFilter, []);
});

test("settings reach their plugin", () => {
  const scenario = new Scenario({
    configuration: args("NodeResourcesFit", {
      scoringStrategy: { type: "MostAllocated", resources: [{ name: "cpu" }] },
    }),
  });
  scenario.node("empty");
  scenario.node("full");
  scenario.pod(asking({ cpu: "2" }), "full");
  assert.deepEqual(scenario.scores("NodeResourcesFit", scenario.pod(asking({ cpu: "1" }))), { empty: 25, full: 75 });
});
