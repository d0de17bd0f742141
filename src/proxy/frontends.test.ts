import assert from "node:assert/strict";
import { test } from "node:test";
import { Service } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { world } from "#client/testing.ts";
import type { Draft } from "#schema/infer.ts";
import { type Frontend, frontendsOf } from "./frontends.ts";

type EndpointDraft = Draft<EndpointSlice["endpoints"][number]>;

function frontends(
  spec: Draft<Service["spec"]>,
  endpoints: readonly EndpointDraft[],
  status?: Draft<Service["status"]>,
) {
  const w = world();
  const service = w.have(Service, {
    metadata: { name: "web", namespace: "default" },
    spec: { clusterIP: "10.96.0.1", clusterIPs: ["10.96.0.1"], ports: [{ name: "http", port: 80 }], ...spec },
    ...(status && { status }),
  });
  const slice = w.have(EndpointSlice, {
    metadata: { name: "web-1", namespace: "default" },
    addressType: "IPv4",
    endpoints,
    ports: [{ name: "http", port: 8080 }],
  });
  return frontendsOf(service, [slice], { name: "here", zone: "a" }, "IPv4");
}

const at = (i: number, rest: EndpointDraft = {}): EndpointDraft => ({
  nodeName: "there",
  ...rest,
  addresses: [`10.244.0.${i}`],
});
const targets = ({ targets: all }: Frontend) => all.map(({ address }) => Number(address.split(".")[3]));
const brief = (frontend: Frontend) =>
  `${frontend.address ?? "*"}:${frontend.port} → ${targets(frontend).join(",") || frontend.without}${frontend.masquerades ? " masqueraded" : ""}`;

const local = { nodeName: "here" };
const ending = { conditions: { ready: false, serving: true, terminating: true } };
const unready = { conditions: { ready: false } };

const cases: readonly (readonly [string, readonly Frontend[], readonly string[]])[] = [
  ["a plain service", frontends({}, [at(1), at(2)]), ["10.96.0.1:80 → 1,2"]],
  ["no endpoints", frontends({}, []), ["10.96.0.1:80 → reject"]],
  ["endpoints that are not ready", frontends({}, [at(1, unready), at(2)]), ["10.96.0.1:80 → 2"]],
  ["only endpoints that are ending", frontends({}, [at(1, ending), at(2, unready)]), ["10.96.0.1:80 → 1"]],
  ["a headless service", frontends({ clusterIP: "None", clusterIPs: ["None"] }, [at(1)]), []],
  ["an external name", frontends({ type: "ExternalName", externalName: "example.com" }, [at(1)]), []],
  [
    "a node port",
    frontends({ type: "NodePort", ports: [{ name: "http", port: 80, nodePort: 30_000 }] }, [at(1)]),
    ["10.96.0.1:80 → 1", "*:30000 → 1 masqueraded"],
  ],
  [
    "a load balancer",
    frontends({ type: "LoadBalancer", externalIPs: ["1.2.3.4"] }, [at(1)], {
      loadBalancer: { ingress: [{ ip: "5.6.7.8" }, { ip: "9.9.9.9", ipMode: "Proxy" }, { hostname: "lb.example" }] },
    }),
    ["10.96.0.1:80 → 1", "1.2.3.4:80 → 1 masqueraded", "5.6.7.8:80 → 1 masqueraded"],
  ],
  [
    "outsiders kept on the node",
    frontends(
      { type: "NodePort", externalTrafficPolicy: "Local", ports: [{ name: "http", port: 80, nodePort: 30_000 }] },
      [at(1), at(2, local)],
    ),
    ["10.96.0.1:80 → 1,2", "*:30000 → 2"],
  ],
  [
    "outsiders kept on a node without endpoints",
    frontends(
      { type: "NodePort", externalTrafficPolicy: "Local", ports: [{ name: "http", port: 80, nodePort: 30_000 }] },
      [at(1)],
    ),
    ["10.96.0.1:80 → 1", "*:30000 → drop"],
  ],
  [
    "insiders kept on the node",
    frontends({ internalTrafficPolicy: "Local" }, [at(1), at(2, local)]),
    ["10.96.0.1:80 → 2"],
  ],
  [
    "insiders kept on a node without endpoints",
    frontends({ internalTrafficPolicy: "Local" }, [at(1)]),
    ["10.96.0.1:80 → drop"],
  ],
  [
    "hints for the zone",
    frontends({}, [at(1, { hints: { forZones: [{ name: "a" }] } }), at(2, { hints: { forZones: [{ name: "b" }] } })]),
    ["10.96.0.1:80 → 1"],
  ],
  [
    "hints for other zones only",
    frontends({}, [at(1, { hints: { forZones: [{ name: "c" }] } }), at(2, { hints: { forZones: [{ name: "b" }] } })]),
    ["10.96.0.1:80 → 1,2"],
  ],
  [
    "hints that some lack",
    frontends({}, [at(1, { hints: { forZones: [{ name: "a" }] } }), at(2)]),
    ["10.96.0.1:80 → 1,2"],
  ],
  [
    "hints for the node",
    frontends({}, [
      at(1, { hints: { forZones: [{ name: "a" }], forNodes: [{ name: "here" }] } }),
      at(2, { hints: { forZones: [{ name: "a" }], forNodes: [{ name: "there" }] } }),
    ]),
    ["10.96.0.1:80 → 1"],
  ],
  [
    "a port that endpoints lack",
    frontends({ ports: [{ name: "other", port: 80 }] }, [at(1)]),
    ["10.96.0.1:80 → reject"],
  ],
];

for (const [name, found, expected] of cases)
  test(`frontends of ${name}`, () => assert.deepEqual(found.map(brief), expected));

test("frontends stay with a client for as long as the service says", () => {
  assert.equal(frontends({ sessionAffinity: "ClientIP" }, [at(1)])[0]?.affinitySeconds, 10_800);
  const sessionAffinityConfig = { clientIP: { timeoutSeconds: 60 } };
  assert.equal(frontends({ sessionAffinity: "ClientIP", sessionAffinityConfig }, [at(1)])[0]?.affinitySeconds, 60);
});
