import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/v1/pod.ts";
import { ManualClock } from "#base/clock.ts";
import { seededRandom } from "#base/random.ts";
import { AdmissionWorld, podWith } from "../testing.ts";
import { type InitialResourcesConfiguration, initialResources } from "./initial-resources.ts";
import { splitImage, UsageHistory } from "./usage-history.ts";

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;

/** Measurements that were made so many days ago: as many as there are numbers, in thousandths of a processor and MB. */
interface Past {
  readonly daysAgo: number;
  readonly namespace: string;
  readonly image: string;
  readonly amounts: readonly number[];
}

const times = (count: number, amount: number) => Array.from({ length: count }, () => amount);

async function admitted(
  past: readonly Past[],
  spec: object,
  configuration: InitialResourcesConfiguration = { percentile: 90, isNamespaceOnly: false },
) {
  const world = new AdmissionWorld();
  const history = new UsageHistory();
  const random = seededRandom(3);
  for (const { daysAgo, namespace, image, amounts } of past.toSorted((a, b) => b.daysAgo - a.daysAgo)) {
    const clock = new ManualClock(world.clock.now() - daysAgo * dayMs);
    for (const amount of amounts)
      history.add(namespace, image, { cpu: amount, memory: amount * 1e6 }, { clock, random });
  }
  const pod = podWith(spec, { namespace: "shop" });
  const { object, refusal } = await world.admit(initialResources(configuration, history), Pod, pod);
  assert.equal(refusal, "");
  return object;
}

const image = "registry:5000/web:1";
const ten = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
const thirty = [...ten, ...ten, ...ten];
const here = { daysAgo: 0, namespace: "shop", image };

const estimates: Readonly<Record<string, readonly [readonly Past[], string | undefined, ...boolean[]]>> = {
  "the 90th of a hundred of the last week": [[{ ...here, amounts: thirty }], "9m"],
  "nothing of an image that nobody ran": [[{ ...here, image: "other", amounts: thirty }], undefined],
  "the namespace's own rather than that of others": [
    [
      { ...here, amounts: times(30, 7) },
      { ...here, namespace: "other", amounts: times(300, 70) },
    ],
    "7m",
  ],
  "the last week rather than the last month": [
    [
      { ...here, amounts: times(30, 7) },
      { ...here, daysAgo: 10, amounts: times(300, 70) },
    ],
    "7m",
  ],
  "the last month where the week is too short": [
    [
      { ...here, amounts: times(29, 7) },
      { ...here, daysAgo: 10, amounts: times(300, 70) },
    ],
    "70m",
  ],
  "all namespaces where the own one has too little": [
    [
      { ...here, amounts: times(29, 7) },
      { ...here, namespace: "other", amounts: times(300, 70) },
    ],
    "70m",
  ],
  "all tags where the own one has too little": [
    [{ ...here, image: "registry:5000/web:2", amounts: times(30, 8) }],
    "8m",
  ],
  "a single measurement where there are no others": [[{ ...here, amounts: [5] }], "5m"],
  "nothing that is older than a month": [[{ ...here, daysAgo: 30, amounts: thirty }], undefined],
  "nothing of other namespaces if told so": [[{ ...here, namespace: "other", amounts: thirty }], undefined, true],
  "all tags of the namespace if told so": [[{ ...here, image: "registry:5000/web:2", amounts: [6] }], "6m", true],
};
for (const [what, [past, cpu, isNamespaceOnly = false]] of Object.entries(estimates))
  test(`InitialResources takes ${what}`, async () => {
    const object = await admitted(past, { containers: [{ name: "c", image }] }, { percentile: 90, isNamespaceOnly });
    assert.equal(object.spec.containers[0].resources.requests?.cpu, cpu);
  });

test("InitialResources fills in what is missing alone, and says what in an annotation", async () => {
  const { spec, metadata } = await admitted([{ ...here, amounts: times(30, 20) }], {
    initContainers: [{ name: "first", image }],
    containers: [
      { name: "silent", image },
      { name: "asks", image, resources: { requests: { cpu: "1" } } },
      { name: "limited", image, resources: { limits: { memory: "1Gi" } } },
      { name: "says-all", image, resources: { requests: { cpu: "1", memory: "1Gi" } } },
      { name: "new", image: "never-seen" },
    ],
  });
  const requests = [...spec.initContainers, ...spec.containers].map(({ resources }) => resources.requests);
  assert.deepEqual(requests.slice(0, 3), [
    { cpu: "20m", memory: "20M" },
    { cpu: "20m", memory: "20M" },
    { cpu: "1", memory: "20M" },
  ]);
  assert.equal(requests[3].cpu, "20m");
  assert.notEqual(requests[3].memory, "20M");
  assert.deepEqual(requests.slice(4), [{ cpu: "1", memory: "1Gi" }, undefined]);
  assert.equal(
    metadata.annotations?.["kubernetes.io/initial-resources"],
    "Initial Resources plugin set: cpu, memory request for init container first; cpu, memory request for container silent; memory request for container asks; cpu request for container limited",
  );
});

test("InitialResources keeps a fair part of any number of measurements", () => {
  const history = new UsageHistory();
  const clock = new ManualClock(100 * dayMs);
  const random = seededRandom(5);
  for (let i = 0; i < 100_000; i++) history.add("shop", image, { cpu: i % 1000, memory: 0 }, { clock, random });
  const { amount, samples } = history.percentile(
    "cpu",
    50,
    { ...splitImage(image), namespace: "shop" },
    7,
    clock.now(),
  );
  assert.equal(samples, 100_000);
  assert.ok(amount > 250 && amount < 750, `${amount} is far from the median`);
});

test("an image's name ends at its tag or digest, not at a port", () => {
  const table = {
    web: ["web", ""],
    "web:1": ["web", ":1"],
    "host:5000/web": ["host:5000/web", ""],
    "host:5000/a/web:1": ["host:5000/a/web", ":1"],
    "web:1@sha256:ab": ["web", ":1@sha256:ab"],
  };
  for (const [text, [name, tag]] of Object.entries(table)) assert.deepEqual(splitImage(text), { image: name, tag });
});
