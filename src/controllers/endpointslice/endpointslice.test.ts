import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { Service } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { type ClientWorld, world } from "#client/testing.ts";
import { endpointSliceController } from "./endpointslice.ts";

const now = "2026-01-01T00:00:00Z";
const container = { name: "c", image: "i", ports: [{ name: "web", containerPort: 8080, protocol: "TCP" as const }] };

interface PodShape {
  readonly ips?: readonly string[];
  readonly ready?: boolean;
  readonly node?: string;
  readonly since?: string;
  readonly metadata?: object;
  readonly spec?: object;
  readonly status?: object;
}

function havePod(w: ClientWorld, name: string, shape: PodShape = {}) {
  const { ips = ["10.0.0.1"], ready = true, node = "n1", since = now, metadata, spec, status } = shape;
  return w.have(Pod, {
    metadata: { name, labels: { app: "web" }, ...metadata },
    spec: { nodeName: node, containers: [container], ...spec },
    status: {
      podIPs: ips.map((ip) => ({ ip })),
      conditions: [{ type: "Ready", status: ready ? "True" : "False", lastTransitionTime: since }],
      ...status,
    },
  });
}

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

function start(zone = "a") {
  const w = world({ now });
  w.have(Node, { metadata: { name: "n1", labels: { "topology.kubernetes.io/zone": zone } } });
  return w;
}

test("a ready pod becomes an endpoint with all that is known of it", async () => {
  const w = start();
  const service = haveService(w, { publishNotReadyAddresses: false }, { labels: { tier: "front" } });
  havePod(w, "web-0", { spec: { hostname: "zero", subdomain: "web" } });
  await w.reconcile(endpointSliceController(), service);
  assert.deepEqual(w.writes(), ["create EndpointSlice web-"]);
  const [slice] = w.list(EndpointSlice);
  assert.equal(slice?.addressType, "IPv4");
  assert.deepEqual(slice?.ports, [{ name: "", port: 8080, protocol: "TCP" }]);
  assert.deepEqual(slice?.endpoints, [
    {
      addresses: ["10.0.0.1"],
      conditions: { ready: true, serving: true, terminating: false },
      targetRef: { kind: "Pod", namespace: "default", name: "web-0", uid: w.list(Pod)[0]?.metadata.uid },
      nodeName: "n1",
      zone: "a",
      hostname: "zero",
    },
  ]);
  assert.deepEqual(slice?.metadata.labels, {
    tier: "front",
    "kubernetes.io/service-name": "web",
    "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
  });
  assert.deepEqual(slice?.metadata.annotations, { "endpoints.kubernetes.io/last-change-trigger-time": now });
  const [owner] = slice?.metadata.ownerReferences ?? [];
  assert.deepEqual([owner?.kind, owner?.uid, owner?.controller], ["Service", service.metadata.uid, true]);
  await w.reconcile(endpointSliceController(), service);
  assert.deepEqual(w.writes(), []);
});

const going = { deletionTimestamp: now, finalizers: ["x/y"] };
const states: Record<string, { pod: PodShape; spec?: object; expect: (boolean | undefined)[] | undefined }> = {
  "ready, serving": { pod: {}, expect: [true, true, false] },
  "not ready": { pod: { ready: false }, expect: [false, false, false] },
  "ending, still serving": { pod: { metadata: going }, expect: [false, true, true] },
  "ending, not serving": { pod: { metadata: going, ready: false }, expect: [false, false, true] },
  "not ready, published all the same": {
    pod: { ready: false },
    spec: { publishNotReadyAddresses: true },
    expect: [true, false, false],
  },
  "ending, published all the same": {
    pod: { metadata: going },
    spec: { publishNotReadyAddresses: true },
    expect: [true, true, true],
  },
  "ended well": { pod: { status: { phase: "Succeeded", podIPs: [{ ip: "10.0.0.1" }] } }, expect: undefined },
  failed: { pod: { status: { phase: "Failed", podIPs: [{ ip: "10.0.0.1" }] } }, expect: undefined },
  "without address": { pod: { ips: [] }, expect: undefined },
  "of the other family": { pod: { ips: ["fd00::1"] }, expect: undefined },
};
for (const [name, { pod, spec, expect }] of Object.entries(states))
  test(`a pod that is ${name}: ${expect ? `ready, serving, terminating are ${expect.join(", ")}` : "no endpoint"}`, async () => {
    const w = start();
    const service = haveService(w, spec);
    havePod(w, "web-0", pod);
    await w.reconcile(endpointSliceController(), service);
    const { endpoints = [] } = w.list(EndpointSlice)[0] ?? {};
    const [one] = endpoints.map(({ conditions }) => [conditions.ready, conditions.serving, conditions.terminating]);
    assert.deepEqual(one, expect);
  });

const without: Record<string, object> = {
  "a selector": { selector: undefined },
  "endpoints, being a mere name": { type: "ExternalName", externalName: "example.com", clusterIP: "" },
};
for (const [name, spec] of Object.entries(without))
  test(`a service without ${name} is left alone`, async () => {
    const w = start();
    const service = haveService(w, spec);
    havePod(w, "web-0");
    await w.reconcile(endpointSliceController(), service);
    assert.deepEqual(w.writes(), []);
  });

test("a service of two families has slices of both, and loses those of a family it gives up", async () => {
  const w = start();
  const one = endpointSliceController();
  const service = haveService(w, { ipFamilies: ["IPv4", "IPv6"] });
  havePod(w, "web-0", { ips: ["10.0.0.1", "fd00:0::01"] });
  await w.reconcile(one, service);
  const seen = () => w.list(EndpointSlice).map(({ addressType, endpoints }) => [addressType, endpoints[0]?.addresses]);
  assert.deepEqual(seen(), [
    ["IPv4", ["10.0.0.1"]],
    ["IPv6", ["fd00::1"]],
  ]);
  await w.reconcile(one, haveService(w, { ipFamilies: ["IPv6"] }, service.metadata));
  assert.deepEqual(seen(), [["IPv6", ["fd00::1"]]]);
});

test("a headless service without ports has endpoints without ports, and says what it is", async () => {
  const w = start();
  const service = haveService(w, { clusterIP: "None", ports: undefined });
  havePod(w, "web-0");
  await w.reconcile(endpointSliceController(), service);
  const [slice] = w.list(EndpointSlice);
  assert.deepEqual([slice?.ports, slice?.endpoints.length], [[], 1]);
  assert.equal(slice?.metadata.labels?.["service.kubernetes.io/headless"], "");
});

test("pods that name their ports differently are in different slices", async () => {
  const w = start();
  const service = haveService(w);
  havePod(w, "web-0");
  havePod(w, "web-1", {
    ips: ["10.0.0.2"],
    spec: { containers: [{ ...container, ports: [{ name: "web", containerPort: 9090, protocol: "TCP" }] }] },
  });
  await w.reconcile(endpointSliceController(), service);
  const ports = w.list(EndpointSlice).map(({ ports: [first] }) => first?.port);
  assert.deepEqual(ports, [8080, 9090]);
});

test("a named port of a sidecar is found, one of another init container is not", async () => {
  const w = start();
  const service = haveService(w, {
    ports: [
      { name: "a", port: 80, targetPort: "side" },
      { name: "b", port: 81, targetPort: "setup" },
    ],
  });
  const port = (name: string, containerPort: number) => [{ name, containerPort, protocol: "TCP" }];
  havePod(w, "web-0", {
    spec: {
      initContainers: [
        { name: "setup", image: "i", ports: port("setup", 1) },
        { name: "side", image: "i", restartPolicy: "Always", ports: port("side", 9000) },
      ],
    },
  });
  await w.reconcile(endpointSliceController(), service);
  assert.deepEqual(w.list(EndpointSlice)[0]?.ports, [{ name: "a", port: 9000, protocol: "TCP" }]);
});

test("a pod on a node that is not known is left out and tried again, unless it is published in any state", async () => {
  const w = start();
  const one = endpointSliceController();
  const service = haveService(w);
  havePod(w, "web-0", { node: "missing" });
  havePod(w, "web-1", { ips: ["10.0.0.2"] });
  const message = "skipping Pod web-0 for Service default/web: Node missing Not Found";
  await assert.rejects(w.reconcile(one, service), { message });
  assert.deepEqual(
    w.list(EndpointSlice)[0]?.endpoints.map(({ addresses }) => addresses[0]),
    ["10.0.0.2"],
  );
  assert.deepEqual(w.events(), [
    `Warning FailedToUpdateEndpointSlices Error updating Endpoint Slices for Service default/web: ${message}`,
  ]);
  await w.reconcile(one, haveService(w, { publishNotReadyAddresses: true }, service.metadata));
  assert.equal(w.list(EndpointSlice)[0]?.endpoints.length, 2);
});

test("the annotation has the time of the change, and goes when a change has none", async () => {
  const w = start();
  const one = endpointSliceController();
  const service = haveService(w);
  const time = () =>
    w.list(EndpointSlice)[0]?.metadata.annotations?.["endpoints.kubernetes.io/last-change-trigger-time"];
  havePod(w, "web-0");
  await w.clock.advance(60_000);
  await w.reconcile(one, service);
  assert.equal(time(), now);
  havePod(w, "web-1", { ips: ["10.0.0.2"], since: "2026-01-01T00:01:05Z" });
  havePod(w, "web-2", { ips: ["10.0.0.3"], since: "2026-01-01T00:01:02Z" });
  await w.reconcile(one, service);
  assert.equal(time(), "2026-01-01T00:01:02Z");
  w.lose(Pod, { name: "web-1" });
  await w.reconcile(one, service);
  assert.equal(time(), undefined);
});

test("nothing is created for a service that is being deleted", async () => {
  const w = start();
  const service = haveService(w, {}, going);
  havePod(w, "web-0");
  await w.reconcile(endpointSliceController(), service);
  assert.deepEqual(w.writes(), []);
});

/** Zones of nodes, what the service asks for, and what hints the endpoints of two pods get. */
const distributions: Record<string, { spec: object; expect: unknown[] }> = {
  "no preference": { spec: {}, expect: [undefined, undefined] },
  PreferClose: {
    spec: { trafficDistribution: "PreferClose" },
    expect: [{ forZones: [{ name: "a" }] }, { forZones: [{ name: "b" }] }],
  },
  PreferSameZone: {
    spec: { trafficDistribution: "PreferSameZone" },
    expect: [{ forZones: [{ name: "a" }] }, { forZones: [{ name: "b" }] }],
  },
  PreferSameNode: {
    spec: { trafficDistribution: "PreferSameNode" },
    expect: [
      { forZones: [{ name: "a" }], forNodes: [{ name: "n1" }] },
      { forZones: [{ name: "b" }], forNodes: [{ name: "n2" }] },
    ],
  },
};
for (const [name, { spec, expect }] of Object.entries(distributions))
  test(`hints of a service with ${name}, also on slices that are there already`, async () => {
    const w = start();
    const one = endpointSliceController();
    w.have(Node, { metadata: { name: "n2", labels: { "topology.kubernetes.io/zone": "b" } } });
    const service = haveService(w);
    havePod(w, "web-0");
    havePod(w, "web-1", { node: "n2", ips: ["10.0.0.2"] });
    havePod(w, "web-2", { ips: ["10.0.0.3"], ready: false });
    await w.reconcile(one, service);
    await w.reconcile(one, haveService(w, spec, service.metadata));
    assert.deepEqual(
      w.list(EndpointSlice)[0]?.endpoints.map(({ hints }) => hints),
      [...expect, undefined],
    );
    w.writes();
    await w.reconcile(one, service);
    assert.deepEqual(w.writes(), []);
    await w.reconcile(one, haveService(w, {}, service.metadata));
    assert.ok(w.list(EndpointSlice)[0]?.endpoints.every(({ hints }) => hints === undefined));
  });
