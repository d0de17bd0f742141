import assert from "node:assert/strict";
import { test } from "node:test";
import { problemText } from "#schema/index.ts";
import { changed, defaulted } from "../../testing/rules.ts";
import { Pod } from "./pod.ts";
import { validateEphemeralContainers, validateResize } from "./pod-subresources.ts";
import { qosClassOf } from "./qos.ts";

type Json = Record<string, unknown>;
const base = {
  metadata: { name: "web", namespace: "default", resourceVersion: "1" },
  spec: {
    containers: [{ name: "web", image: "web:1", resources: { requests: { cpu: "1", memory: "1Gi" } } }],
  },
};
const pod = (change: Json = {}): Pod => defaulted(Pod, changed(base, change)) as unknown as Pod;
const texts = (problems: Iterable<Parameters<typeof problemText>[0]>) => [...problems].map(problemText);

const debug = { name: "debug", image: "busybox" };

test("ephemeral containers may be added, and then neither removed nor changed", () => {
  const debugged = pod({ "spec.ephemeralContainers": [debug] });
  assert.deepEqual(texts(validateEphemeralContainers(debugged, pod())), []);
  assert.deepEqual(texts(validateEphemeralContainers(pod(), debugged)), [
    'spec.ephemeralContainers: Forbidden: existing ephemeral containers "debug" may not be removed\n',
  ]);
  const [problem] = texts(
    validateEphemeralContainers(pod({ "spec.ephemeralContainers": [{ ...debug, tty: true }] }), debugged),
  );
  assert.match(
    problem ?? "",
    /^spec\.ephemeralContainers: Forbidden: existing ephemeral containers "debug" may not be changed\n@@/,
  );
});

test("ephemeral containers have no ports, probes or resources, and a target that exists", () => {
  const odd = {
    ...debug,
    ports: [{ containerPort: 80 }],
    resources: { limits: { cpu: "1" } },
    targetContainerName: "nobody",
  };
  assert.deepEqual(texts(validateEphemeralContainers(pod({ "spec.ephemeralContainers": [odd] }), pod())), [
    'spec.ephemeralContainers[0].targetContainerName: Not found: "nobody"',
    "spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container",
    "spec.ephemeralContainers[0].resources: Forbidden: cannot be set for an Ephemeral Container",
  ]);
});

test("static pods are not changed through the API", () => {
  const mirror = pod({ "metadata.annotations": { "kubernetes.io/config.mirror": "x" }, "spec.nodeName": "n" });
  assert.deepEqual(texts(validateEphemeralContainers(mirror, mirror)), [
    ": Forbidden: static pods do not support ephemeral containers",
  ]);
  assert.deepEqual(texts(validateResize(mirror, mirror)), [": Forbidden: static pods cannot be resized"]);
});

const resized = { "spec.containers.0.resources": { requests: { cpu: "2", memory: "1Gi" } } };
const resizes: [name: string, change: Json, ...problems: string[]][] = [
  ["nothing", {}],
  ["cpu", resized],
  [
    "cpu, away",
    { "spec.containers.0.resources": { requests: { memory: "1Gi" } } },
    "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed",
  ],
  [
    "another resource",
    { "spec.containers.0.resources": { requests: { cpu: "1", memory: "1Gi", "ephemeral-storage": "1Gi" } } },
    "spec: Forbidden: only cpu and memory resources are mutable",
  ],
  [
    "the class of the pod",
    {
      "spec.containers.0.resources": {
        requests: { cpu: "1", memory: "1Gi" },
        limits: { cpu: "1", memory: "1Gi" },
      },
    },
    'spec: Invalid value: "": Pod QOS Class may not change as a result of resizing',
  ],
  ["an image", { "spec.containers.0.image": "web:2" }, "spec: Forbidden: only cpu and memory resources are mutable"],
  [
    "a name",
    { "spec.containers.0.name": "other" },
    "spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize",
  ],
  [
    "the number of containers",
    { "spec.containers.1": { name: "more", image: "more" } },
    "spec.containers: Forbidden: containers may not be added or removed on resize",
  ],
  ["the host name", { "spec.hostname": "h" }, "spec: Forbidden: only cpu and memory resources are mutable"],
];

for (const [name, change, ...problems] of resizes)
  test(`a resize that changes ${name} has ${problems.length} problems`, () =>
    assert.deepEqual(texts(validateResize(pod(change), pod())), problems));

const both = (amounts: Json) => ({ limits: amounts, requests: amounts });
const classes: [resources: Json, expected: string][] = [
  [{}, "BestEffort"],
  [{ requests: { cpu: "0", "example.com/gpu": "1" }, limits: { "example.com/gpu": "1" } }, "BestEffort"],
  [{ requests: { cpu: "1" } }, "Burstable"],
  [both({ cpu: "1" }), "Burstable"],
  [both({ cpu: "1", memory: "1Gi" }), "Guaranteed"],
  [{ limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "500m", memory: "1Gi" } }, "Burstable"],
];
for (const [resources, expected] of classes)
  test(`a pod with ${JSON.stringify(resources)} is ${expected}`, () => {
    assert.equal(qosClassOf(pod({ "spec.containers.0.resources": resources }).spec), expected);
    if (expected === "Guaranteed")
      assert.equal(
        qosClassOf(
          pod({
            "spec.containers.0.resources": resources,
            "spec.initContainers": [{ name: "i", image: "i" }],
          }).spec,
        ),
        "Burstable",
      );
  });
