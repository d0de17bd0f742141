import assert from "node:assert/strict";
import { test } from "node:test";
import { deepFreeze } from "#base/collections.ts";
import { applyDefaults } from "#schema/defaults.ts";
import { changed, defaulted } from "../../testing/rules.ts";
import { imageTag, parseImage } from "./image.ts";
import { Pod } from "./pod.ts";
import { PodTemplate } from "./pod-template.ts";

const pod = { spec: { containers: [{ name: "web", image: "web:1" }] } };
const at = (object: unknown, path: string): unknown =>
  path.split(".").reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], object);

const cases: Record<string, [given: Record<string, unknown>, expected: Record<string, unknown>]> = {
  "a bare pod": [
    {},
    {
      "spec.restartPolicy": "Always",
      "spec.dnsPolicy": "ClusterFirst",
      "spec.schedulerName": "default-scheduler",
      "spec.terminationGracePeriodSeconds": 30,
      "spec.securityContext": {},
      "spec.enableServiceLinks": true,
      "spec.containers.0.resources": {},
      "spec.containers.0.imagePullPolicy": "IfNotPresent",
      "spec.containers.0.terminationMessagePath": "/dev/termination-log",
      "spec.containers.0.terminationMessagePolicy": "File",
    },
  ],
  "an image without a tag": [
    { "spec.containers.0.image": "registry.example/web" },
    { "spec.containers.0.imagePullPolicy": "Always" },
  ],
  "requests from limits": [
    { "spec.containers.0.resources": { limits: { cpu: "2", memory: "1Gi" }, requests: { cpu: "1" } } },
    { "spec.containers.0.resources.requests": { cpu: "1", memory: "1Gi" } },
  ],
  "amounts finer than a thousandth": [
    { "spec.containers.0.resources": { requests: { cpu: "1500u" } } },
    { "spec.containers.0.resources.requests": { cpu: "2m" } },
  ],
  "host ports on the host's network": [
    { "spec.hostNetwork": true, "spec.containers.0.ports": [{ containerPort: 80 }] },
    { "spec.containers.0.ports": [{ containerPort: 80, protocol: "TCP", hostPort: 80 }] },
  ],
  "a volume without a source": [
    { "spec.volumes": [{ name: "tmp" }] },
    { "spec.volumes": [{ name: "tmp", emptyDir: {} }] },
  ],
  "volumes of all kinds of files": [
    {
      "spec.volumes": [
        { name: "a", secret: { secretName: "s" } },
        { name: "b", projected: { sources: [{ serviceAccountToken: { path: "token" } }] } },
        { name: "c", hostPath: { path: "/x" } },
        { name: "d", image: { reference: "x" } },
      ],
    },
    {
      "spec.volumes": [
        { name: "a", secret: { secretName: "s", defaultMode: 420 } },
        {
          name: "b",
          projected: {
            sources: [{ serviceAccountToken: { path: "token", expirationSeconds: 3600 } }],
            defaultMode: 420,
          },
        },
        { name: "c", hostPath: { path: "/x", type: "" } },
        { name: "d", image: { reference: "x", pullPolicy: "Always" } },
      ],
    },
  ],
  "a probe": [
    { "spec.containers.0.livenessProbe": { httpGet: { port: 80 } } },
    {
      "spec.containers.0.livenessProbe": {
        httpGet: { port: 80, path: "/", scheme: "HTTP" },
        timeoutSeconds: 1,
        periodSeconds: 10,
        successThreshold: 1,
        failureThreshold: 3,
      },
    },
  ],
  "both names of the service account": [
    { "spec.serviceAccount": "build" },
    { "spec.serviceAccount": "build", "spec.serviceAccountName": "build" },
  ],
  "the newer name of the service account wins": [
    { "spec.serviceAccount": "build", "spec.serviceAccountName": "deploy" },
    { "spec.serviceAccount": "deploy", "spec.serviceAccountName": "deploy" },
  ],
  "a negative grace period": [
    { "spec.terminationGracePeriodSeconds": -5 },
    { "spec.terminationGracePeriodSeconds": 1 },
  ],
  "pod-level requests from containers, then from limits": [
    {
      "spec.resources": { limits: { cpu: "4", memory: "1Gi" } },
      "spec.containers.0.resources": { requests: { cpu: "1" } },
    },
    { "spec.resources": { limits: { cpu: "4", memory: "1Gi" }, requests: { cpu: "1", memory: "1Gi" } } },
  ],
  "pod-level huge pages from containers": [
    {
      "spec.resources": { requests: { cpu: "1" } },
      "spec.containers.0.resources": { limits: { cpu: "1", "hugepages-2Mi": "4Mi" } },
    },
    {
      "spec.resources": {
        limits: { "hugepages-2Mi": "4Mi" },
        requests: { "hugepages-2Mi": "4Mi", cpu: "1" },
      },
    },
  ],
  "the list of addresses from the one address": [
    { "status.podIP": "10.0.0.1" },
    { "status.podIPs": [{ ip: "10.0.0.1" }], "status.podIP": "10.0.0.1" },
  ],
};

for (const [name, [given, expected]] of Object.entries(cases))
  test(`a pod's defaults: ${name}`, () => {
    const actual = defaulted(Pod, changed(pod, given));
    for (const [path, value] of Object.entries(expected)) assert.deepEqual(at(actual, path), value, path);
    assert.deepEqual(defaulted(Pod, actual), actual);
  });

test("a template keeps open what is decided when the pod is made", () => {
  const limited = changed(pod, {
    "spec.hostNetwork": true,
    "spec.containers.0.ports": [{ containerPort: 80 }],
    "spec.containers.0.resources": { limits: { cpu: "1" } },
  });
  const { template } = defaulted(PodTemplate, { template: limited }) as { template: unknown };
  assert.deepEqual(at(template, "spec.containers.0.resources"), { limits: { cpu: "1" } });
  assert.equal(at(template, "spec.containers.0.ports.0.hostPort"), undefined);
  assert.equal(at(template, "spec.enableServiceLinks"), undefined);
});

const digest = `sha256:${"0".repeat(64)}`;
const tags: Record<string, string> = {
  nginx: "latest",
  "nginx:1.29": "1.29",
  "team/app": "latest",
  "localhost/app:dev": "dev",
  "registry.example:5000/app": "latest",
  "registry.example:5000/app:2": "2",
  [`app@${digest}`]: "",
  [`app:1@${digest}`]: "1",
  "[::1]:5000/app": "latest",
  "App:latest": "",
  "app:": "",
  "": "",
};
for (const [image, tag] of Object.entries(tags))
  test(`the tag of ${JSON.stringify(image)} is ${JSON.stringify(tag)}`, () => assert.equal(imageTag(image), tag));

test("an image's name gets the default registry", () => {
  assert.deepEqual(parseImage("nginx"), { domain: "docker.io", path: "library/nginx" });
  assert.deepEqual(parseImage("index.docker.io/a/b:c"), { domain: "docker.io", path: "a/b", tag: "c" });
});

test("a pod that is complete is not written to: many share it", () => {
  const resources = { limits: { cpu: "1", "hugepages-2Mi": "2Mi" }, requests: { memory: "1Gi" } };
  const pod = {
    metadata: { name: "a", namespace: "default" },
    spec: { serviceAccountName: "default", resources, containers: [{ name: "c", image: "nginx", resources }] },
  };
  const complete = applyDefaults(Pod, structuredClone(pod));
  const before = structuredClone(complete);
  applyDefaults(Pod, deepFreeze(complete));
  assert.deepEqual(complete, before);
});
