import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { Service } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { world } from "#client/testing.ts";
import { endpointSliceController } from "./endpointslice.ts";
import { allocate, isOverloaded, zoneRatios } from "./topology.ts";

const zone = "topology.kubernetes.io/zone";
const node = (name: string, labels: Record<string, string>, cpu = "1000m", ready = "True") => ({
  metadata: { name, labels },
  status: { allocatable: { cpu }, conditions: [{ type: "Ready", status: ready }] },
});
const nodesOf = (...drafts: ReturnType<typeof node>[]) => {
  const w = world();
  return drafts.map((draft) => w.have(Node, draft));
};

const ratios: Record<string, [ReturnType<typeof node>[], Record<string, number> | undefined]> = {
  "two zones": [[node("a", { [zone]: "a" }, "3"), node("b", { [zone]: "b" })], { a: 0.75, b: 0.25 }],
  "one zone": [[node("a", { [zone]: "a" })], undefined],
  "a node without zone": [[node("a", { [zone]: "a" }), node("b", { [zone]: "b" }), node("c", {})], undefined],
  "a node without CPUs": [[node("a", { [zone]: "a" }), node("b", { [zone]: "b" }, "0")], undefined],
  "nodes that are not ready or of the control plane do not count": [
    [
      node("a", { [zone]: "a" }),
      node("b", { [zone]: "b" }),
      node("c", {}, "1", "False"),
      node("d", { [zone]: "b", "node-role.kubernetes.io/control-plane": "" }),
    ],
    { a: 0.5, b: 0.5 },
  ],
};
for (const [name, [nodes, expect]] of Object.entries(ratios))
  test(`zones' parts of the CPUs: ${name}`, () => {
    const found = zoneRatios(nodesOf(...nodes));
    assert.deepEqual(found && Object.fromEntries(found), expect);
  });

test("each zone is allocated at least what keeps its endpoints from being overloaded", () => {
  const parts = new Map([
    ["a", 0.5],
    ["b", 0.3],
    ["c", 0.2],
  ]);
  const allocated = allocate(parts, 10);
  assert.ok("of" in allocated);
  assert.deepEqual(
    [...allocated.of].map(([name, { minimum, maximum, desired }]) => [name, minimum, maximum, desired]),
    [
      ["a", 5, 5, 5],
      ["b", 3, 3, 3],
      ["c", 2, 2, 2],
    ],
  );
  assert.deepEqual(allocate(parts, 2), { refusal: "Insufficient number of endpoints (2 endpoints, 3 zones)" });
  assert.deepEqual(allocate(parts, 3), {
    refusal:
      "Unable to allocate minimum required endpoints to each zone without exceeding overload threshold (3 endpoints, 3 zones)",
  });
});

test("a service is overloaded in a zone with much fewer endpoints than its part", () => {
  const halves = new Map([
    ["a", 0.5],
    ["b", 0.5],
  ]);
  assert.equal(isOverloaded(new Map([["a", 5]]), halves), true);
  assert.equal(isOverloaded(new Map([["a", 6], ["b", 5]]), halves), false); // biome-ignore format: a table
  assert.equal(isOverloaded(new Map([["a", 8], ["b", 2]]), halves), true); // biome-ignore format: a table
  assert.equal(isOverloaded(new Map(), undefined), false);
  assert.equal(isOverloaded(new Map([["a", 1]]), undefined), true);
});

function scene(podsIn: Record<string, number>, annotations = { "service.kubernetes.io/topology-mode": "Auto" }) {
  const w = world();
  for (const name of ["a", "b"]) w.have(Node, node(name, { [zone]: name }));
  const have = (more: object) =>
    w.have(Service, {
      metadata: { name: "web", ...more },
      spec: { selector: { app: "web" }, clusterIP: "10.96.0.1", ipFamilies: ["IPv4"], ports: [{ port: 80 }] },
    });
  let n = 0;
  for (const [name, count] of Object.entries(podsIn))
    for (let i = 0; i < count; i++)
      w.have(Pod, {
        metadata: { name: `web-${++n}`, labels: { app: "web" } },
        spec: { nodeName: name, containers: [{ name: "c", image: "i" }] },
        status: { podIPs: [{ ip: `10.0.0.${n}` }], conditions: [{ type: "Ready", status: "True" }] },
      });
  const hints = () => {
    const all = w.list(EndpointSlice).flatMap(({ endpoints }) => endpoints);
    return all.map((one) => one.hints?.forZones?.[0]?.name ?? "-").toSorted().join(""); // biome-ignore format: one line
  };
  return { w, service: have({ annotations }), have, hints, one: endpointSliceController() };
}

test("zones share endpoints by their CPUs", async () => {
  const { w, service, have, hints, one } = scene({ a: 6, b: 2 });
  await w.reconcile(one, service);
  assert.equal(hints(), "aaaabbbb");
  const enabled = "Normal TopologyAwareHintsEnabled Topology Aware Hints has been enabled, addressType: IPv4";
  assert.deepEqual(w.events(), [enabled]);
  await w.reconcile(one, service);
  assert.deepEqual(w.writes(), ["create EndpointSlice web-"]);
  assert.deepEqual(w.events(), []);

  await w.reconcile(one, have({ ...service.metadata, annotations: {} }));
  assert.equal(hints(), "--------");
  assert.deepEqual(w.events(), [
    "Warning TopologyAwareHintsDisabled Topology Aware Hints has been disabled, addressType: IPv4",
  ]);
});

test("where endpoints are too few there are no hints, and it is said why", async () => {
  const { w, service, hints, one } = scene({ a: 1 });
  await w.reconcile(one, service);
  assert.equal(hints(), "-");
  assert.deepEqual(w.events(), [
    "Warning TopologyAwareHintsDisabled Insufficient number of endpoints (1 endpoints, 2 zones), addressType: IPv4",
  ]);
});

test("slices with good hints stay as they are when endpoints come", async () => {
  const { w, service, hints, one } = scene({ a: 60, b: 60 });
  await w.reconcile(one, service);
  w.writes();
  w.have(Pod, {
    metadata: { name: "new", labels: { app: "web" } },
    spec: { nodeName: "a", containers: [{ name: "c", image: "i" }] },
    status: { podIPs: [{ ip: "10.0.1.1" }], conditions: [{ type: "Ready", status: "True" }] },
  });
  await w.reconcile(one, service);
  assert.equal(w.writes().length, 1);
  assert.equal(hints().length, 121);
});
