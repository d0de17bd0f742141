import assert from "node:assert/strict";
import { test } from "node:test";
import { Endpoints } from "#api/core/v1/endpoints.ts";
import { Service } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { type ClientWorld, world } from "#client/testing.ts";
import { endpointSliceMirroringController as mirroring } from "./mirroring.ts";

const ports = [{ port: 80 }];
const addresses = (count: number, from = 1) =>
  Array.from({ length: count }, (_, i) => ({ ip: `10.0.${Math.floor((from + i) / 250)}.${((from + i) % 250) + 1}` }));

function have(w: ClientWorld, subsets: object[], metadata: object = {}) {
  return w.have(Endpoints, { metadata: { name: "web", ...metadata }, subsets });
}
const service = (w: ClientWorld, spec: object = {}) =>
  w.have(Service, { metadata: { name: "web" }, spec: { clusterIP: "10.96.0.1", ...spec } });
const shown = (w: ClientWorld) =>
  w.list(EndpointSlice).map(({ addressType, endpoints, ports: [port] }) => {
    const texts = endpoints.map(({ addresses: [ip], conditions }) => `${ip}${conditions.ready ? "" : "!"}`);
    return `${addressType} ${port?.port ?? "-"} ${texts.toSorted().join()}`;
  });

const subsets: Record<string, [subsets: object[], slices: string[]]> = {
  "one subset": [[{ addresses: [{ ip: "10.0.0.1" }], ports }], ["IPv4 80 10.0.0.1"]],
  "addresses that are not ready": [
    [{ addresses: [{ ip: "10.0.0.1" }], notReadyAddresses: [{ ip: "10.0.0.2" }], ports }],
    ["IPv4 80 10.0.0.1,10.0.0.2!"],
  ],
  "two families in one subset": [
    [{ addresses: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }], ports }],
    ["IPv4 80 10.0.0.1", "IPv6 80 fd00::1"],
  ],
  "subsets with other ports": [
    [
      { addresses: [{ ip: "10.0.0.1" }], ports },
      { addresses: [{ ip: "10.0.0.2" }], ports: [{ port: 81 }] },
    ],
    ["IPv4 80 10.0.0.1", "IPv4 81 10.0.0.2"],
  ],
  "subsets that can be joined": [
    [
      { addresses: [{ ip: "10.0.0.1" }], ports },
      { addresses: [{ ip: "10.0.0.2" }], ports },
    ],
    ["IPv4 80 10.0.0.1,10.0.0.2"],
  ],
  "no ports": [[{ addresses: [{ ip: "10.0.0.1" }] }], ["IPv4 - 10.0.0.1"]],
  nothing: [[], []],
};
for (const [name, [given, expect]] of Object.entries(subsets))
  test(`endpoints are mirrored: ${name}`, async () => {
    const w = world();
    service(w);
    const endpoints = have(w, given);
    await w.reconcile(mirroring, endpoints);
    assert.deepEqual(shown(w), expect);
    w.writes();
    await w.reconcile(mirroring, endpoints);
    assert.deepEqual(w.writes(), []);
  });

test("labels and annotations go along, but not those of the machinery", async () => {
  const w = world();
  service(w);
  const endpoints = have(w, [{ addresses: addresses(1), ports }], {
    labels: { tier: "db" },
    annotations: {
      note: "by hand",
      "endpoints.kubernetes.io/last-change-trigger-time": "2026-01-01T00:00:00Z",
      "kubectl.kubernetes.io/last-applied-configuration": "{}",
    },
  });
  await w.reconcile(mirroring, endpoints);
  const [slice] = w.list(EndpointSlice);
  assert.deepEqual(slice?.metadata.labels, {
    tier: "db",
    "kubernetes.io/service-name": "web",
    "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io",
  });
  assert.deepEqual(slice?.metadata.annotations, { note: "by hand" });
  assert.deepEqual(slice?.metadata.ownerReferences?.[0]?.kind, "Endpoints");
});

test("addresses come and go in the slice there is, and slices are reused", async () => {
  const w = world();
  service(w);
  await w.reconcile(mirroring, have(w, [{ addresses: addresses(2), ports }]));
  await w.reconcile(mirroring, have(w, [{ addresses: addresses(3), ports }]));
  await w.reconcile(mirroring, have(w, [{ addresses: addresses(3), ports: [{ port: 90 }] }]));
  assert.deepEqual(
    w.writes().map((line) => line.split(" ")[0]),
    ["create", "update", "update"],
  );
  assert.deepEqual(shown(w), ["IPv4 90 10.0.0.2,10.0.0.3,10.0.0.4"]);
});

test("a thousand addresses of a subset are mirrored, and it is said how many were not", async () => {
  const w = world();
  service(w);
  await w.reconcile(mirroring, have(w, [{ addresses: addresses(1003), ports }]));
  assert.equal(w.list(EndpointSlice)[0]?.endpoints.length, 1000);
  assert.deepEqual(w.events(), [
    "Warning TooManyAddressesToMirror A max of 1000 addresses can be mirrored to EndpointSlices per Endpoints subset. 3 addresses were skipped",
  ]);
});

const unmirrored: Record<string, (w: ClientWorld) => object> = {
  "the service has a selector": (w) => {
    service(w, { selector: { app: "web" } });
    return {};
  },
  "there is no service": () => ({}),
  "they say not to": (w) => {
    service(w);
    return { labels: { "endpointslice.kubernetes.io/skip-mirror": "true" } };
  },
  "they elect a leader": (w) => {
    service(w);
    return { annotations: { "control-plane.alpha.kubernetes.io/leader": "{}" } };
  },
};
for (const [name, prepare] of Object.entries(unmirrored))
  test(`endpoints are no longer mirrored when ${name}`, async () => {
    const w = world();
    service(w);
    await w.reconcile(mirroring, have(w, [{ addresses: addresses(1), ports }]));
    assert.equal(w.list(EndpointSlice).length, 1);
    w.lose(Service, { name: "web" });
    await w.reconcile(mirroring, have(w, [{ addresses: addresses(1), ports }], prepare(w)));
    assert.deepEqual(w.list(EndpointSlice), []);
  });

test("mirrors go with their endpoints, others' slices do not", async () => {
  const w = world();
  service(w);
  const endpoints = have(w, [{ addresses: addresses(1), ports }]);
  await w.reconcile(mirroring, endpoints);
  w.have(EndpointSlice, {
    metadata: { name: "mine", labels: { "kubernetes.io/service-name": "web" } },
    addressType: "IPv4",
  });
  w.lose(Endpoints, { name: "web" });
  await w.reconcile(mirroring, endpoints);
  assert.deepEqual(
    w.list(EndpointSlice).map(({ metadata }) => metadata.name),
    ["mine"],
  );
});
