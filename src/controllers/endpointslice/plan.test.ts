import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Service } from "#api/core/v1/service.ts";
import { type Endpoint, type EndpointPort, EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { world } from "#client/testing.ts";
import { endpointKey, type PortGroup, portsKey } from "./endpoints.ts";
import { planSlices, type SlicePlan } from "./plan.ts";

const http: EndpointPort = { name: "", port: 80, protocol: "TCP" };
const other: EndpointPort = { name: "", port: 8080, protocol: "TCP" };

const endpoint = (n: number, ready = true): Endpoint => ({
  addresses: [`10.0.${Math.floor(n / 250)}.${(n % 250) + 1}`],
  conditions: { ready, serving: ready, terminating: false },
  targetRef: { kind: "Pod", namespace: "default", name: `p${n}`, uid: `u${n}` },
});
const numbers = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i);
const group = (ports: readonly EndpointPort[], endpoints: readonly Endpoint[]): [string, PortGroup] => [
  portsKey(ports),
  { ports, endpoints: new Map(endpoints.map((one) => [endpointKey(one), one])) },
];

function scene(labels: Record<string, string> = {}) {
  const w = world();
  const spec = { clusterIP: "10.96.0.1", ipFamilies: ["IPv4" as const], selector: { app: "web" } };
  const service = w.have(Service, { metadata: { name: "web", labels }, spec });
  const slice = (endpoints: readonly Endpoint[], ports = [http], ownedBy: object = service): EndpointSlice =>
    w.have(
      EndpointSlice,
      {
        metadata: {
          generateName: "web-",
          labels: {
            ...labels,
            "kubernetes.io/service-name": "web",
            "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
          },
        },
        addressType: "IPv4",
        ports,
        endpoints,
      },
      { ownedBy },
    );
  const plan = (slices: readonly EndpointSlice[], ...desired: readonly [string, PortGroup][]) =>
    planSlices({ service, family: "IPv4", desired: new Map(desired), slices });
  return { w, service, slice, plan };
}

const sizes = ({ writes, deletes, keeps }: SlicePlan) => ({
  created: writes.filter(({ present }) => !present).map(({ endpoints }) => endpoints.length),
  updated: writes.filter(({ present }) => present).map(({ endpoints }) => endpoints.length),
  kept: keeps.map(({ endpoints }) => endpoints.length),
  deleted: deletes.length,
});

const range = (from: number, count: number, ready = true) => numbers(from, count).map((n) => endpoint(n, ready));

/** Sizes of the slices there are, numbers of the endpoints that are wanted, and what becomes of them. */
const packings: Record<string, { have: readonly [from: number, count: number][]; want: Endpoint[]; expect: object }> = {
  "the first endpoints fill new slices": {
    have: [],
    want: range(0, 250),
    expect: { created: [100, 100, 50], updated: [], kept: [], deleted: 0 },
  },
  "nothing is done when all is right": {
    have: [[0, 80]],
    want: range(0, 80),
    expect: { created: [], updated: [], kept: [80], deleted: 0 },
  },
  "more endpoints go into one slice that has room for all of them": {
    have: [
      [0, 62],
      [62, 61],
    ],
    want: range(0, 133),
    expect: { created: [], updated: [72], kept: [61], deleted: 0 },
  },
  "of several with room the fullest is taken": {
    have: [
      [0, 50],
      [50, 80],
      [130, 95],
    ],
    want: range(0, 235),
    expect: { created: [], updated: [90], kept: [50, 95], deleted: 0 },
  },
  "slices without room are left alone, and one is made": {
    have: [
      [0, 80],
      [80, 80],
    ],
    want: range(0, 190),
    expect: { created: [30], updated: [], kept: [80, 80], deleted: 0 },
  },
  "a slice that changes anyway is filled first": {
    have: [
      [0, 90],
      [90, 40],
    ],
    want: [...range(10, 120), ...range(200, 30)],
    expect: { created: [], updated: [100, 50], kept: [], deleted: 0 },
  },
  "a slice whose endpoints are all gone goes": {
    have: [
      [0, 50],
      [50, 50],
    ],
    want: range(0, 50),
    expect: { created: [], updated: [], kept: [50], deleted: 1 },
  },
  "a slice to go is reused before another is made": {
    have: [[0, 100]],
    want: range(500, 100),
    expect: { created: [], updated: [100], kept: [], deleted: 0 },
  },
  "an endpoint that is no longer ready changes only its own slice": {
    have: [
      [0, 30],
      [30, 30],
    ],
    want: [...range(0, 59), endpoint(59, false)],
    expect: { created: [], updated: [30], kept: [30], deleted: 0 },
  },
  "without endpoints one empty slice stays": {
    have: [
      [0, 100],
      [100, 1],
    ],
    want: [],
    expect: { created: [], updated: [0], kept: [], deleted: 1 },
  },
};

for (const [name, { have, want, expect }] of Object.entries(packings))
  test(name, () => {
    const { slice, plan } = scene();
    const slices = have.map(([from, count]) => slice(range(from, count)));
    const desired = want.length > 0 ? [group([http], want)] : [];
    assert.deepEqual(sizes(plan(slices, ...desired)), expect);
  });

test("a service without pods gets an empty slice, once", () => {
  const { w, slice, plan } = scene({ team: "a" });
  const first = plan([]);
  assert.deepEqual(sizes(first), { created: [0], updated: [], kept: [], deleted: 0 });
  assert.deepEqual(first.writes[0]?.ports, []);
  assert.deepEqual(first.writes[0]?.labels, {
    team: "a",
    "kubernetes.io/service-name": "web",
    "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
  });
  assert.deepEqual(sizes(plan([slice([], [])])), { created: [], updated: [], kept: [0], deleted: 0 });
  assert.equal(w.list(EndpointSlice).length, 1);
});

test("endpoints with other ports are in other slices", () => {
  const { slice, plan } = scene();
  const both = plan([slice(range(0, 3))], group([http], range(0, 2)), group([other], range(5, 1)));
  assert.deepEqual(sizes(both), { created: [1], updated: [2], kept: [], deleted: 0 });
  assert.deepEqual(both.writes.find(({ present }) => !present)?.ports, [other]);
});

test("slices of an earlier service of the same name are deleted, not reused", () => {
  const { w, slice, plan } = scene();
  const earlier = w.have(Service, { metadata: { name: "earlier" } });
  const old = slice(range(0, 2), [http], earlier);
  const { writes, deletes } = plan([old], group([http], range(0, 2)));
  assert.deepEqual(deletes, [old]);
  assert.equal(writes[0]?.present, undefined);
});

test("labels follow those of the service, except the reserved ones", () => {
  const { w, service, slice } = scene();
  const present = slice(range(0, 1));
  const relabeled = w.have(Service, {
    ...service,
    metadata: { ...service.metadata, labels: { tier: "front", "endpointslice.kubernetes.io/managed-by": "me" } },
  });
  const { writes } = planSlices({
    service: relabeled,
    family: "IPv4",
    desired: new Map([group([http], range(0, 1))]),
    slices: [present],
  });
  assert.deepEqual(writes[0]?.labels, {
    tier: "front",
    "kubernetes.io/service-name": "web",
    "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
  });
  assert.equal(writes[0]?.present, present);
});

/** What there is after the plan was carried out. */
const after = ({ writes, keeps }: SlicePlan) => [...writes, ...keeps];

test("however endpoints come and go, slices hold exactly those, no more than 100 each, and few are written", () => {
  const step = fc.record({
    gone: fc.integer({ min: 0, max: 120 }),
    come: fc.integer({ min: 0, max: 150 }),
    unready: fc.integer({ min: 0, max: 5 }),
  });
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 12 }), (steps) => {
      const { w, slice, plan } = scene();
      let slices: readonly EndpointSlice[] = [];
      let present: Endpoint[] = [];
      let next = 0;
      for (const { gone, come, unready } of steps) {
        const touched = new Set(present.slice(0, gone).map(endpointKey));
        present = [...present.slice(gone), ...range(next, come)];
        next += come;
        present = present.map((one, i) => {
          if (i >= unready) return one;
          touched.add(endpointKey(one));
          return { ...one, conditions: { ready: false, serving: false, terminating: false } };
        });
        const planned = plan(slices, ...(present.length > 0 ? [group([http], present)] : []));
        const all = after(planned).flatMap(({ endpoints }) => endpoints);
        assert.deepEqual(all.map(endpointKey).toSorted(), present.map(endpointKey).toSorted());
        assert.ok(after(planned).every(({ endpoints }) => endpoints.length <= 100));
        assert.equal(
          all.filter(({ conditions }) => conditions.ready === false).length,
          present.filter(({ conditions }) => !conditions.ready).length,
        );
        const mustChange = slices.filter(({ endpoints }) => endpoints.some((one) => touched.has(endpointKey(one))));
        const written = planned.writes.length + planned.deletes.length;
        assert.ok(written <= mustChange.length + Math.ceil(come / 100) + 1, `${written} of ${slices.length} written`);
        for (const one of slices) w.lose(EndpointSlice, one.metadata);
        slices = after(planned).map(({ endpoints, ports }) => slice(endpoints, [...ports]));
      }
    }),
    { numRuns: 60, seed: 5 },
  );
});
