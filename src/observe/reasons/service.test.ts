import assert from "node:assert/strict";
import { test } from "node:test";
import { Service } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { eventThat, made, podWith } from "../testing.ts";
import type { PodFacts } from "./pod-facts.ts";
import { selectedPods, serviceReason } from "./service.ts";

const service = (spec: object, status: object = {}) =>
  made(Service, {
    metadata: { name: "web", namespace: "default" },
    spec: { selector: { app: "web" }, ports: [{ port: 80, targetPort: "http" }], ...spec },
    status,
  });
const slice = (...ready: readonly boolean[]) =>
  made(EndpointSlice, {
    metadata: { name: "web-1", namespace: "default" },
    addressType: "IPv4",
    endpoints: ready.map((one, i) => ({ addresses: [`10.0.0.${i + 1}`], conditions: { ready: one } })),
  });

function podNamed(
  name: string,
  options: { port?: string; labels?: Record<string, string>; ready?: boolean } = {},
): PodFacts {
  const { port = "http", labels = { app: "web" }, ready = true } = options;
  const ports = [{ name: port, containerPort: 80 }];
  return podWith({
    metadata: { name, labels },
    spec: { nodeName: "n1", containers: [{ name: "main", image: "nginx", ports }] },
    status: { phase: "Running", conditions: [{ type: "Ready", status: ready ? "True" : "False" }] },
  });
}

function reasonOf(
  one: Service,
  pods: readonly PodFacts[],
  slices: readonly EndpointSlice[] = [],
  events = [] as never[],
) {
  const all = pods.map(({ pod }) => pod);
  const names = new Set(selectedPods(one, all).map(({ metadata }) => metadata.name));
  const chosen = pods.filter(({ pod }) => names.has(pod.metadata.name));
  return serviceReason({ service: one, slices, events, chosen, pods: all });
}

const cases: Readonly<Record<string, readonly [ReturnType<typeof reasonOf>, string, string, RegExp]>> = {
  "all pods ready": [
    reasonOf(service({}), [podNamed("a"), podNamed("b")], [slice(true, true)]),
    "Endpoints",
    "fine",
    /leads to all 2 pods it selects/,
  ],
  "one pod not ready": [
    reasonOf(service({}), [podNamed("a"), podNamed("b", { ready: false })], [slice(true, false)]),
    "SomeEndpoints",
    "underway",
    /leads to 1 of 2 pods it selects/,
  ],
  "no pod ready": [
    reasonOf(service({}), [podNamed("a", { ready: false })], [slice(false)]),
    "NoReadyEndpoints",
    "underway",
    /leads nowhere: the pod it selects is not ready/,
  ],
  "endpoints that are not made yet": [
    reasonOf(service({}), [podNamed("a")]),
    "EndpointsBehind",
    "underway",
    /leads to 0 of 1 pod so far/,
  ],
  "a selector that nobody meets": [
    reasonOf(service({ selector: { app: "wbe" } }), [podNamed("a")]),
    "NoPods",
    "wrong",
    /no pod of its namespace has the labels app=wbe/,
  ],
  "a port of another name": [
    reasonOf(service({}), [podNamed("a", { port: "web" })]),
    "PortName",
    "wrong",
    /have no port of the name it asks for/,
  ],
  "a port of another name, though the pods are ready": [
    reasonOf(service({}), [podNamed("a", { port: "web" })], [slice(true)]),
    "PortName",
    "wrong",
    /leads nowhere: its pods have no port of the name it asks for/,
  ],
  "one port of two": [
    reasonOf(
      service({
        ports: [
          { name: "a", port: 80, targetPort: "http" },
          { name: "b", port: 81, targetPort: "admin" },
        ],
      }),
      [podNamed("a"), podNamed("b")],
      [slice(true, true)],
    ),
    "PortName",
    "wrong",
    /leads to all 2 pods it selects, but not by its port admin/,
  ],
  "a port that only some pods have": [
    reasonOf(service({}), [podNamed("a"), podNamed("b", { port: "web" })], [slice(true, true)]),
    "PortName",
    "wrong",
    /but not by its port http/,
  ],
  "no selector": [reasonOf(service({ selector: {} }), [podNamed("a")]), "NoSelector", "wrong", /has no selector/],
  "endpoints made by hand": [
    reasonOf(service({ selector: {} }), [], [slice(true)]),
    "Endpoints",
    "fine",
    /1 endpoint that/,
  ],
  "another name": [
    reasonOf(service({ type: "ExternalName", externalName: "example.com" }), []),
    "ExternalName",
    "fine",
    /another name for example\.com/,
  ],
  "no address from a load balancer": [
    reasonOf(service({ type: "LoadBalancer" }), [podNamed("a")], [slice(true)]),
    "LoadBalancerPending",
    "wrong",
    /has no address from a load balancer yet/,
  ],
  "an address from a load balancer": [
    reasonOf(
      service({ type: "LoadBalancer" }, { loadBalancer: { ingress: [{ ip: "172.31.0.1" }] } }),
      [podNamed("a")],
      [slice(true)],
    ),
    "Endpoints",
    "fine",
    /leads to its pod/,
  ],
};
for (const [name, [reason, code, state, says]] of Object.entries(cases))
  test(`why knows where a service leads: ${name}`, () => {
    assert.match(reason.says, says);
    assert.deepEqual([reason.code, reason.state], [code, state]);
  });

test("why says which label of a selector nobody has, and what pods have instead", () => {
  const pods = [podNamed("a", { labels: { app: "web", tier: "front" } }), podNamed("b", { labels: { app: "api" } })];
  const { evidence } = reasonOf(service({ selector: { app: "web", tier: "back", zone: "x" } }), pods);
  assert.deepEqual(evidence, [
    { from: "label app=web", says: "is on a" },
    { from: "label tier=back", says: "is on no pod; there are tier=front (a)" },
    { from: "label zone=x", says: "is on no pod, nor is any other value of it" },
  ]);
});

test("why says which ports pods have instead of the one that is asked for", () => {
  const { evidence } = reasonOf(service({}), [podNamed("a", { port: "web" })]);
  assert.deepEqual(evidence, [
    { from: "targetPort http", says: "no container of a has a TCP port of that name; they have web" },
  ]);
});

test("why says what the load balancer says", () => {
  const one = service({ type: "LoadBalancer" });
  const events = [eventThat("SyncLoadBalancerFailed", "no address is left")];
  const reason = serviceReason({ service: one, slices: [slice(true)], events, chosen: [podNamed("a")], pods: [] });
  assert.equal(reason.evidence?.[0]?.says, "no address is left");
  assert.deepEqual(reason.remedies, ["give the load balancer more addresses, or free some"]);
});
