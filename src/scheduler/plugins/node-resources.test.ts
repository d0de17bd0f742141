import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "#api/core/v1/pod.ts";
import type { Draft } from "#schema/infer.ts";
import { asking, Scenario } from "../testing/scenario.ts";

type Amounts = Readonly<Record<string, string>>;
const container = (requests: Amounts, more: object = {}) => ({
  name: "c",
  image: "c",
  resources: { requests },
  ...more,
});
const init = (name: string, requests: Amounts, more: object = {}) => ({ ...container(requests, more), name });

const requests: readonly [string, Draft<Pod["spec"]>, { cpu: number; memory: number }][] = [
  ["one container", { containers: [container({ cpu: "1", memory: "1Gi" })] }, { cpu: 1000, memory: 2 ** 30 }],
  [
    "containers together",
    { containers: [container({ cpu: "1500m" }), { ...container({ cpu: "1", memory: "1Ki" }), name: "d" }] },
    { cpu: 2500, memory: 1024 },
  ],
  [
    "the hungriest init container, if it is hungrier than all containers",
    {
      containers: [container({ cpu: "1", memory: "3" })],
      initContainers: [init("i", { cpu: "2", memory: "1" }), init("j", { cpu: "1", memory: "2" })],
    },
    { cpu: 2000, memory: 3 },
  ],
  [
    "sidecars beside the containers",
    {
      containers: [container({ cpu: "1" })],
      initContainers: [init("s", { cpu: "1" }, { restartPolicy: "Always" }), init("i", { cpu: "500m" })],
    },
    { cpu: 2000, memory: 0 },
  ],
  [
    "an init container beside the sidecars that started before it",
    {
      containers: [container({ cpu: "1" })],
      initContainers: [
        init("i", { cpu: "3" }),
        init("s", { cpu: "2" }, { restartPolicy: "Always" }),
        init("j", { cpu: "2" }),
      ],
    },
    { cpu: 4000, memory: 0 },
  ],
  [
    "what running the pod costs",
    { containers: [container({ cpu: "1" })], overhead: { cpu: "250m", memory: "8" } },
    { cpu: 1250, memory: 8 },
  ],
  [
    "what the pod says as a whole",
    {
      containers: [container({ cpu: "1", memory: "7" })],
      resources: { requests: { cpu: "3" } },
      overhead: { cpu: "1" },
    },
    { cpu: 4000, memory: 7 },
  ],
];
for (const [name, spec, { cpu, memory }] of requests)
  test(`a pod asks for ${name}`, () => {
    const { request } = new Scenario().pod({ spec });
    assert.deepEqual({ cpu: request.cpu, memory: request.memory }, { cpu, memory });
  });

const gpu = "example.com/gpu";
const fits: readonly [string, Amounts, Amounts, readonly string[]][] = [
  ["all it asks for is left", { cpu: "2", memory: "4Gi" }, { cpu: "2", memory: "4Gi" }, []],
  ["a pod that asks for nothing", { cpu: "4", memory: "8Gi" }, {}, []],
  ["too little cpu", { cpu: "3" }, { cpu: "1100m" }, ["Insufficient cpu"]],
  [
    "too little of everything",
    { cpu: "4", memory: "8Gi" },
    { cpu: "1m", memory: "1", "ephemeral-storage": "1" },
    ["Insufficient cpu", "Insufficient memory", "Insufficient ephemeral-storage"],
  ],
  ["a device that is there", {}, { [gpu]: "2" }, []],
  ["a device that is taken", { [gpu]: "1" }, { [gpu]: "2" }, [`Insufficient ${gpu}`]],
  ["a device the node does not have", {}, { "example.com/tpu": "1" }, ["Insufficient example.com/tpu"]],
  ["huge pages", {}, { "hugepages-2Mi": "2Mi" }, ["Insufficient hugepages-2Mi"]],
];
for (const [name, taken, asked, expected] of fits)
  test(`room on a node: ${name}`, () => {
    const scenario = new Scenario();
    scenario.node("a", { status: { allocatable: { [gpu]: "2" } } });
    if (Object.keys(taken).length > 0) scenario.pod(asking(taken), "a");
    assert.deepEqual(scenario.refusals(scenario.pod(asking(asked))).a ?? [], expected);
  });

test("a node takes no more pods than it may", () => {
  const scenario = new Scenario();
  scenario.node("a", { status: { allocatable: { pods: "1" } } });
  assert.deepEqual(scenario.refusals(scenario.pod()), {});
  const first = scenario.pod({}, "a");
  assert.deepEqual(scenario.refusals(scenario.pod(asking({ cpu: "9" }))), { a: ["Too many pods", "Insufficient cpu"] });
  scenario.snapshot.removePod(first.uid);
  assert.deepEqual(scenario.refusals(scenario.pod()), {});
});

test("devices that others look after do not count", () => {
  const ignoring = (args: object) => {
    const scenario = new Scenario({
      configuration: { profiles: [{ pluginConfig: [{ name: "NodeResourcesFit", args }] }] },
    });
    scenario.node("a");
    return scenario.refusals(scenario.pod(asking({ [gpu]: "1" }))).a ?? [];
  };
  assert.deepEqual(ignoring({}), [`Insufficient ${gpu}`]);
  assert.deepEqual(ignoring({ ignoredResources: [gpu] }), []);
  assert.deepEqual(ignoring({ ignoredResourceGroups: ["example.com"] }), []);
});

/** Two nodes of 4 cpus and 8 GiB: `a` is empty, on `b` half of the cpus and a quarter of the memory are taken. */
function scores(plugin: string, asked: Amounts, args?: object): Readonly<Record<string, number>> {
  const configuration = args ? { profiles: [{ pluginConfig: [{ name: plugin, args }] }] } : {};
  const scenario = new Scenario({ configuration });
  scenario.node("a");
  scenario.node("b");
  scenario.pod(asking({ cpu: "2", memory: "2Gi" }), "b");
  return scenario.scores(plugin, scenario.pod(asking(asked)));
}

const ratio = (shape: object[], resources: object[] = [{ name: "cpu" }]) => ({
  scoringStrategy: { type: "RequestedToCapacityRatio", resources, requestedToCapacityRatio: { shape } },
});
const rising = [
  { utilization: 0, score: 0 },
  { utilization: 100, score: 10 },
];
const strategies: readonly [string, Amounts, object | undefined, Readonly<Record<string, number>>][] = [
  ["the least used", { cpu: "1", memory: "2Gi" }, undefined, { a: 75, b: 37 }],
  ["the least used, for a pod that asks for nothing", {}, undefined, { a: 97, b: 59 }],
  [
    "none if there is not enough",
    { cpu: "5" },
    { scoringStrategy: { type: "LeastAllocated", resources: [{ name: "cpu" }] } },
    { a: 0, b: 0 },
  ],
  ["the most used", { cpu: "1", memory: "2Gi" }, { scoringStrategy: { type: "MostAllocated" } }, { a: 25, b: 62 }],
  [
    "by weights",
    { cpu: "1", memory: "2Gi" },
    {
      scoringStrategy: {
        type: "MostAllocated",
        resources: [
          { name: "cpu", weight: 3 },
          { name: "memory", weight: 1 },
        ],
      },
    },
    { a: 25, b: 68 },
  ],
  ["on a rising line", { cpu: "1" }, ratio(rising), { a: 25, b: 75 }],
  [
    "on a falling line",
    { cpu: "1" },
    ratio([
      { utilization: 0, score: 10 },
      { utilization: 100, score: 0 },
    ]),
    { a: 75, b: 25 },
  ],
  [
    "on a line with a bend",
    { cpu: "1" },
    ratio([
      { utilization: 0, score: 0 },
      { utilization: 50, score: 10 },
      { utilization: 100, score: 0 },
    ]),
    { a: 50, b: 50 },
  ],
];
for (const [name, asked, args, expected] of strategies)
  test(`nodes are preferred ${name}`, () => {
    assert.deepEqual(scores("NodeResourcesFit", asked, args), expected);
  });

test("nodes are preferred where a pod evens out what is used", () => {
  assert.deepEqual(scores("NodeResourcesBalancedAllocation", { cpu: "1", memory: "2Gi" }), { a: 75, b: 75 });
  assert.deepEqual(scores("NodeResourcesBalancedAllocation", { memory: "2Gi" }), { a: 68, b: 81 });
  assert.deepEqual(scores("NodeResourcesBalancedAllocation", {}), {}, "a pod that asks for nothing has no preference");
});

const port = (hostPort: number, more: object = {}): Draft<Pod> => ({
  spec: { containers: [{ name: "c", image: "c", ports: [{ containerPort: 80, hostPort, ...more }] }] },
});
const ports: readonly [string, Draft<Pod>, Draft<Pod>, boolean][] = [
  ["another port", port(8080), port(8081), true],
  ["the same port", port(8080), port(8080), false],
  ["the same port of another protocol", port(8080), port(8080, { protocol: "UDP" }), true],
  ["the same port of another address", port(8080, { hostIP: "10.0.0.1" }), port(8080, { hostIP: "10.0.0.2" }), true],
  ["the same port of all addresses", port(8080, { hostIP: "10.0.0.1" }), port(8080), false],
  ["no port of the node", port(8080), port(0), true],
];
for (const [name, there, wanted, isFree] of ports)
  test(`a pod wants ${name} on a node`, () => {
    const scenario = new Scenario();
    scenario.node("a");
    scenario.pod(there, "a");
    const expected = isFree ? {} : { a: ["node(s) didn't have free ports for the requested pod ports"] };
    assert.deepEqual(scenario.refusals(scenario.pod(wanted)), expected);
  });
