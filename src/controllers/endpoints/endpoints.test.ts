import assert from "node:assert/strict";
import { test } from "node:test";
import { type EndpointSubset, Endpoints } from "#api/core/v1/endpoints.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { Service } from "#api/core/v1/service.ts";
import { ApiError } from "#base/errors.ts";
import { type ClientWorld, world } from "#client/testing.ts";
import { truncateSubsets } from "./capacity.ts";
import { endpointsController } from "./endpoints.ts";

const now = "2026-01-01T00:00:00Z";
const going = { deletionTimestamp: now, finalizers: ["x/y"] };

interface PodShape {
  readonly ips?: readonly string[];
  readonly ready?: boolean;
  readonly metadata?: object;
  readonly spec?: object;
  readonly phase?: "Failed" | "Succeeded";
}
const havePod = (
  w: ClientWorld,
  name: string,
  { ips = ["10.0.0.1"], ready = true, metadata, spec, phase }: PodShape = {},
) =>
  w.have(Pod, {
    metadata: { name, labels: { app: "web" }, ...metadata },
    spec: {
      nodeName: "n1",
      containers: [{ name: "c", image: "i", ports: [{ name: "web", containerPort: 8080, protocol: "TCP" }] }],
      ...spec,
    },
    status: {
      ...(phase && { phase }),
      podIPs: ips.map((ip) => ({ ip })),
      conditions: [{ type: "Ready", status: ready ? "True" : "False", lastTransitionTime: now }],
    },
  });

const haveService = (w: ClientWorld, spec: object = {}, metadata: object = {}) =>
  w.have(Service, {
    metadata: { name: "web", ...metadata },
    spec: {
      selector: { app: "web" },
      clusterIP: "10.96.0.1",
      ipFamilies: ["IPv4"],
      ports: [{ port: 80, targetPort: "web" }],
      ...spec,
    },
  });

/** `10.0.0.1 10.0.0.2!:8080`, the second not being ready. */
const shown = (subsets: readonly EndpointSubset[] | undefined) =>
  (subsets ?? []).map(({ addresses = [], notReadyAddresses = [], ports = [] }) => {
    const all = [...addresses.map(({ ip }) => ip), ...notReadyAddresses.map(({ ip }) => `${ip}!`)];
    return `${all.join(" ")}:${ports.map(({ name = "", port }) => `${name}${name && "="}${port}`).join()}`;
  });

const cases: Record<string, { pods: PodShape[]; spec?: object; expect: string[] }> = {
  "no pods": { pods: [], expect: [] },
  "a ready pod": { pods: [{}], expect: ["10.0.0.1:8080"] },
  "one ready and one not": { pods: [{}, { ips: ["10.0.0.2"], ready: false }], expect: ["10.0.0.1 10.0.0.2!:8080"] },
  "not ready, published all the same": {
    pods: [{ ready: false }],
    spec: { publishNotReadyAddresses: true },
    expect: ["10.0.0.1:8080"],
  },
  "ending pods are left out": { pods: [{ metadata: going }], expect: [] },
  "ending, published all the same": {
    pods: [{ metadata: going }],
    spec: { publishNotReadyAddresses: true },
    expect: ["10.0.0.1:8080"],
  },
  "ended pods are left out": { pods: [{ phase: "Failed" }, { phase: "Succeeded" }], expect: [] },
  "pods without address are left out": { pods: [{ ips: [] }], expect: [] },
  "the service's first family counts": {
    pods: [{ ips: ["10.0.0.1", "fd00::1"] }],
    spec: { ipFamilies: ["IPv6", "IPv4"] },
    expect: ["fd00::1:8080"],
  },
  "pods that have no address of that family are left out": {
    pods: [{}],
    spec: { ipFamilies: ["IPv6"] },
    expect: [],
  },
  "several ports": {
    pods: [{}, { ips: ["10.0.0.2"] }],
    spec: {
      ports: [
        { name: "b", port: 81, targetPort: 81 },
        { name: "a", port: 80, targetPort: "web" },
      ],
    },
    expect: ["10.0.0.1 10.0.0.2:a=8080,b=81"],
  },
  "a port that only some pods name": {
    pods: [{}, { ips: ["10.0.0.2"], spec: { containers: [{ name: "c", image: "i" }] } }],
    spec: {
      ports: [
        { name: "a", port: 80, targetPort: "web" },
        { name: "b", port: 81, targetPort: 81 },
      ],
    },
    expect: ["10.0.0.1:a=8080", "10.0.0.1 10.0.0.2:b=81"],
  },
  "ports of one number and other names": {
    pods: [
      { spec: { containers: [{ name: "c", image: "i", ports: [{ name: "x", containerPort: 80, protocol: "TCP" }] }] } },
      {
        ips: ["10.0.0.2"],
        spec: { containers: [{ name: "c", image: "i", ports: [{ name: "y", containerPort: 80, protocol: "TCP" }] }] },
      },
    ],
    spec: {
      ports: [
        { name: "a", port: 1, targetPort: "x" },
        { name: "b", port: 2, targetPort: "y" },
      ],
    },
    expect: ["10.0.0.1:a=80", "10.0.0.2:b=80"],
  },
  "headless without ports": {
    pods: [{}],
    spec: { clusterIP: "None", ports: undefined },
    expect: ["10.0.0.1:"],
  },
  "an address but no ports": { pods: [{}], spec: { ports: undefined }, expect: [] },
};
for (const [name, { pods, spec, expect }] of Object.entries(cases))
  test(`endpoints of a service: ${name}`, async () => {
    const w = world({ now });
    const service = haveService(w, spec);
    for (const [i, pod] of pods.entries()) havePod(w, `web-${i}`, pod);
    await w.reconcile(endpointsController(), service);
    assert.deepEqual(w.writes(), ["create Endpoints web"]);
    assert.deepEqual(shown(w.get(Endpoints, { name: "web" })?.subsets), expect);
    await w.reconcile(endpointsController(), service);
    assert.deepEqual(w.writes(), []);
  });

test("an address says which pod has it, where, and by what name", async () => {
  const w = world({ now });
  const service = haveService(w, { clusterIP: "None" }, { labels: { tier: "front" } });
  const pod = havePod(w, "web-0", { spec: { hostname: "zero", subdomain: "web" } });
  await w.reconcile(endpointsController(), service);
  const endpoints = w.get(Endpoints, { name: "web" });
  const { uid } = pod.metadata;
  assert.deepEqual(endpoints?.subsets?.[0]?.addresses, [
    {
      ip: "10.0.0.1",
      nodeName: "n1",
      hostname: "zero",
      targetRef: { kind: "Pod", namespace: "default", name: "web-0", uid },
    },
  ]);
  assert.deepEqual(endpoints?.metadata.labels, {
    tier: "front",
    "service.kubernetes.io/headless": "",
    "endpoints.kubernetes.io/managed-by": "endpoint-controller",
  });
  assert.deepEqual(endpoints?.metadata.annotations, { "endpoints.kubernetes.io/last-change-trigger-time": now });
});

for (const spec of [{ selector: undefined }, { type: "ExternalName", externalName: "example.com" }])
  test(`a service with ${JSON.stringify(spec)} is left alone`, async () => {
    const w = world();
    const service = haveService(w, spec);
    w.have(Endpoints, { metadata: { name: "web" }, subsets: [{ addresses: [{ ip: "192.168.0.1" }] }] });
    await w.reconcile(endpointsController(), service);
    assert.deepEqual(w.writes(), []);
  });

test("labels are put right, and annotations of others stay", async () => {
  const w = world({ now });
  const service = haveService(w, {}, { labels: { tier: "back" } });
  havePod(w, "web-0");
  const annotations = { note: "by hand", "endpoints.kubernetes.io/over-capacity": "truncated" };
  w.have(Endpoints, { metadata: { name: "web", labels: { tier: "front" }, annotations } });
  await w.reconcile(endpointsController(), service);
  assert.deepEqual(w.writes(), ["update Endpoints web"]);
  const { metadata } = w.get(Endpoints, { name: "web" }) ?? {};
  assert.deepEqual(metadata?.labels, { tier: "back", "endpoints.kubernetes.io/managed-by": "endpoint-controller" });
  assert.deepEqual(metadata?.annotations, { note: "by hand", "endpoints.kubernetes.io/last-change-trigger-time": now });
});

test("more than a thousand addresses are cut, marked, and not written again", async () => {
  const w = world({ now });
  const service = haveService(w);
  for (let i = 0; i < 1005; i++) havePod(w, `web-${i}`, { ips: [`10.0.${i >> 8}.${i & 255}`], ready: i % 2 === 0 });
  const one = endpointsController();
  await w.reconcile(one, service);
  const { metadata, subsets } = w.get(Endpoints, { name: "web" }) ?? {};
  assert.equal(metadata?.annotations?.["endpoints.kubernetes.io/over-capacity"], "truncated");
  assert.deepEqual([subsets?.[0]?.addresses?.length, subsets?.[0]?.notReadyAddresses?.length], [503, 497]);
  w.writes();
  await w.reconcile(one, service);
  assert.deepEqual(w.writes(), []);
});

/** Ready and not ready addresses of subsets before and after they are cut to 10. */
const truncations: Record<string, [before: [number, number][], after: [number, number][] | undefined]> = {
  "within bounds": [[[4, 6]], undefined],
  "too many that are not ready": [[[4, 8]], [[4, 6]]],
  "too many that are ready": [[[12, 3]], [[10, 0]]],
  "in proportion": [
    [
      [8, 0],
      [16, 5],
    ],
    [
      [4, 0],
      [6, 0],
    ],
  ],
  "not ready in proportion": [
    [
      [3, 6],
      [3, 3],
    ],
    [
      [3, 3],
      [3, 1],
    ],
  ],
};
for (const [name, [before, after]] of Object.entries(truncations))
  test(`addresses are cut: ${name}`, () => {
    const list = (count: number, from: string) =>
      Array.from({ length: count }, (_, i) => ({ ip: `10.${from}.0.${i}` }));
    const subsets = before.map(([ready, not], i) => ({
      addresses: list(ready, `${i}`),
      notReadyAddresses: list(not, `${100 + i}`),
    }));
    const cut = truncateSubsets(subsets, 10);
    assert.equal(cut.isTruncated, after !== undefined);
    assert.deepEqual(
      cut.subsets.map(({ addresses = [], notReadyAddresses = [] }) => [addresses.length, notReadyAddresses.length]),
      after ?? before,
    );
  });

test("endpoints go with their service", async () => {
  const w = world();
  const service = haveService(w);
  const one = endpointsController();
  await w.reconcile(one, service);
  w.lose(Service, service.metadata);
  await w.reconcile(one, service);
  await w.reconcile(one, service);
  assert.deepEqual(w.writes(), ["create Endpoints web", "delete Endpoints web"]);
});

test("a refusal is reported", async () => {
  const w = world();
  const service = haveService(w);
  w.fail((request) =>
    request.verb === "create" ? new ApiError({ code: 403, reason: "Forbidden", message: "no" }) : undefined,
  );
  await assert.rejects(w.reconcile(endpointsController(), service), { message: "no" });
  assert.deepEqual(w.events(), [
    "Warning FailedToCreateEndpoint Failed to create endpoint for service default/web: no",
  ]);
});
