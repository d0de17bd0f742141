import assert from "node:assert/strict";
import { test } from "node:test";
import {
  cellsOf,
  changed,
  defaulted,
  problemsOf,
  ruleTests,
  statusProblemsOf,
  updateTests,
} from "../../testing/rules.ts";
import { Ingress } from "./ingress.ts";
import { IngressClass } from "./ingress-class.ts";
import { IPAddress } from "./ip-address.ts";
import { NetworkPolicy } from "./network-policy.ts";
import { ServiceCIDR } from "./service-cidr.ts";

const backend = { service: { name: "web", port: { number: 80 } } };
const ingress = {
  spec: {
    rules: [{ host: "*.example.com", http: { paths: [{ path: "/", pathType: "Prefix", backend }] } }],
    tls: [{ hosts: ["a.example.com"], secretName: "tls" }],
  },
};
const path = "spec.rules[0].http.paths[0]";
const at = "spec.rules.0.http.paths.0";

ruleTests(Ingress, ingress, {
  "neither rules nor a backend": [
    { spec: {} },
    "spec: Invalid value: null: either `defaultBackend` or `rules` must be specified",
  ],
  "an address for a host": [
    { "spec.rules.0.host": "1.2.3.4" },
    'spec.rules[0].host: Invalid value: "1.2.3.4": must be a DNS name, not an IP address',
  ],
  "a rule without paths": [{ "spec.rules.0.http.paths": [] }, "spec.rules[0].http.paths: Required value"],
  "a path without a type": [
    { [`${at}.pathType`]: undefined },
    `${path}.pathType: Required value: pathType must be specified`,
  ],
  "a path of which nothing is said, and so nothing is asked about its backend": [
    { [at]: {} },
    `${path}.pathType: Required value: pathType must be specified`,
  ],
  "a type of path that says nothing": [
    { [`${at}.pathType`]: "" },
    `${path}.pathType: Unsupported value: "": supported values: "Exact", "ImplementationSpecific", "Prefix"`,
  ],
  "a certificate for a host without a name": [
    { "spec.tls.0.hosts": [""] },
    "spec.tls[0].hosts[0]: Invalid value: \"\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
  ],
  "an unknown type of path": [
    { [`${at}.pathType`]: "Regex" },
    `${path}.pathType: Unsupported value: "Regex": supported values: "Exact", "ImplementationSpecific", "Prefix"`,
  ],
  "a path that is not absolute": [
    { [`${at}.path`]: "a" },
    `${path}.path: Invalid value: "a": must be an absolute path`,
  ],
  "a path that climbs": [
    { [`${at}.path`]: "/a/../b/.." },
    `${path}.path: Invalid value: "/a/../b/..": must not contain '/../'`,
    `${path}.path: Invalid value: "/a/../b/..": cannot end with '/..'`,
  ],
  "no backend": [
    { [`${at}.backend`]: {} },
    `${path}.backend: Invalid value: "": resource or service backend is required`,
  ],
  "two backends": [
    { [`${at}.backend.resource`]: { kind: "Bucket", name: "b" } },
    `${path}.backend: Invalid value: "": cannot set both resource and service backends`,
  ],
  "no port": [
    { [`${at}.backend.service.port`]: {} },
    `${path}.backend: Required value: port name or number is required`,
  ],
  "two ports": [
    { [`${at}.backend.service.port.name`]: "http" },
    `${path}.backend: Invalid value: "": cannot set both port name & port number`,
  ],
  "a port out of range": [
    { [`${at}.backend.service.port.number`]: 65536 },
    `${path}.backend.service.port.number: Invalid value: 65536: must be between 1 and 65535, inclusive`,
  ],
  "an annotation that disagrees with the class": [
    { "spec.ingressClassName": "a", "metadata.annotations": { "kubernetes.io/ingress.class": "b" } },
    'annotations.kubernetes.io/ingress.class: Invalid value: "b": must match `ingressClassName` when both are specified',
  ],
});

test("the status of an ingress names hosts by name", () => {
  const status = { loadBalancer: { ingress: [{ ip: "1.2.3.400" }, { hostname: "1.2.3.4" }] } };
  assert.deepEqual(statusProblemsOf(Ingress, { ...ingress, status }, ingress), [
    'status.loadBalancer.ingress[0].ip: Invalid value: "1.2.3.400": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    'status.loadBalancer.ingress[1].hostname: Invalid value: "1.2.3.4": must be a DNS name, not an IP address',
  ]);
});

const ingressClass = { spec: { controller: "acme.io/balancer" } };
test("the parameters of an ingress class are of the cluster by default", () => {
  const given = changed(ingressClass, { "spec.parameters": { kind: "Config", name: "main" } });
  assert.deepEqual((defaulted(IngressClass, given) as { spec: { parameters: unknown } }).spec.parameters, {
    kind: "Config",
    name: "main",
    scope: "Cluster",
  });
});
ruleTests(IngressClass, ingressClass, {
  "no controller": [{ "spec.controller": undefined }, "spec.controller: Required value"],
  "a controller without a domain": [
    { "spec.controller": "balancer" },
    'spec.controller: Invalid value: "balancer": must be a domain-prefixed path (such as "acme.io/foo")',
  ],
  "parameters of a namespace not named": [
    { "spec.parameters": { kind: "Config", name: "main", scope: "Namespace" } },
    "spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'",
  ],
  "parameters of the cluster in a namespace": [
    { "spec.parameters": { kind: "Config", name: "main", namespace: "x" } },
    "spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'",
  ],
});
updateTests(IngressClass, ingressClass, {
  "no controller any more": [
    { spec: {} },
    'spec.controller: Invalid value: "": field is immutable',
    "spec.controller: Required value",
  ],
  "another controller": [
    { "spec.controller": "acme.io/other" },
    'spec.controller: Invalid value: "acme.io/other": field is immutable',
  ],
});

test("a network policy limits what it has rules for", () => {
  const types = (spec: Record<string, unknown>) =>
    (defaulted(NetworkPolicy, { spec }) as { spec: { policyTypes: unknown } }).spec.policyTypes;
  assert.deepEqual(types({}), ["Ingress"]);
  assert.deepEqual(types({ egress: [{}] }), ["Ingress", "Egress"]);
  assert.deepEqual(types({ egress: [{}], policyTypes: ["Egress"] }), ["Egress"]);
});

const block = { ipBlock: { cidr: "10.0.0.0/8", except: ["10.1.0.0/16"] } };
ruleTests(
  NetworkPolicy,
  { spec: { ingress: [{ ports: [{ port: 80, endPort: 90 }], from: [block] }] } },
  {
    "an unknown protocol": [
      { "spec.ingress.0.ports.0.protocol": "ICMP" },
      'spec.ingress[0].ports[0].protocol: Unsupported value: "ICMP": supported values: "TCP", "UDP", "SCTP"',
    ],
    "a range that runs backwards": [
      { "spec.ingress.0.ports.0.endPort": 70 },
      "spec.ingress[0].ports[0].endPort: Invalid value: 80: must be greater than or equal to `port`",
    ],
    "a range from a name": [
      { "spec.ingress.0.ports.0.port": "http" },
      "spec.ingress[0].ports[0].endPort: Invalid value: 90: may not be specified when `port` is non-numeric",
    ],
    "a peer that is nobody": [
      { "spec.ingress.0.from": [{}] },
      "spec.ingress[0].from[0]: Required value: must specify a peer",
    ],
    "a peer that is two things": [
      { "spec.ingress.0.from.0.podSelector": {} },
      "spec.ingress[0].from[0]: Forbidden: may not specify both ipBlock and another peer",
    ],
    "an exception outside": [
      { "spec.ingress.0.from.0.ipBlock.except": ["11.0.0.0/16"] },
      'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "11.0.0.0/16": must be a strict subset of `cidr`',
    ],
    "an exception as large as the block": [
      { "spec.ingress.0.from.0.ipBlock.except": ["10.0.0.0/8"] },
      'spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "10.0.0.0/8": must be a strict subset of `cidr`',
    ],
    "an unknown direction": [
      { "spec.policyTypes": ["Up"] },
      'spec.policyTypes[0]: Unsupported value: "Up": supported values: "Ingress", "Egress"',
    ],
  },
);

const address = {
  metadata: { name: "10.0.0.1" },
  spec: { parentRef: { resource: "services", namespace: "default", name: "web" } },
};
updateTests(IPAddress, address, {
  "no owner any more": [
    { spec: {} },
    "spec.parentRef: Required value",
    "spec.parentRef: Invalid value: null: field is immutable",
  ],
});
ruleTests(IPAddress, address, {
  "a name that is no address": [
    { "metadata.name": "web" },
    'metadata.name: Invalid value: "web": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
  ],
  "no owner": [{ "spec.parentRef": undefined }, "spec.parentRef: Required value"],
});

ruleTests(
  ServiceCIDR,
  { spec: { cidrs: ["10.0.0.0/24", "fd00::/64"] } },
  {
    none: [{ "spec.cidrs": [] }, "spec.cidrs: Required value: at least one CIDR required"],
    "two of one family": [
      { "spec.cidrs": ["10.0.0.0/24", "10.1.0.0/24"] },
      'spec.cidrs: Invalid value: ["10.0.0.0/24","10.1.0.0/24"]: may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64',
    ],
  },
);
test("a service range may get a second family and nothing else", () => {
  const one = { spec: { cidrs: ["10.0.0.0/24"] } };
  assert.deepEqual(problemsOf(ServiceCIDR, { spec: { cidrs: ["10.0.0.0/24", "fd00::/64"] } }, one), []);
  assert.deepEqual(problemsOf(ServiceCIDR, { spec: { cidrs: ["10.1.0.0/24"] } }, one), [
    'spec.cidrs[0]: Invalid value: "10.1.0.0/24": field is immutable',
  ]);
});

test("rows of networking", () => {
  const hosts = ["a", "b", "c", "d"].map((host) => ({ host: `${host}.io` }));
  const status = { loadBalancer: { ingress: [{ hostname: "z.io" }, { ip: "1.2.3.4" }] } };
  assert.deepEqual(cellsOf(Ingress, { spec: { rules: hosts, ingressClassName: "x" }, status }), [
    "example",
    "x",
    "a.io,b.io,c.io + 1 more...",
    "1.2.3.4,z.io",
    "80",
    "60s",
  ]);
  const annotations = { "ingressclass.kubernetes.io/is-default-class": "true" };
  assert.deepEqual(
    cellsOf(IngressClass, {
      metadata: { annotations },
      spec: { controller: "a/b", parameters: { kind: "K", apiGroup: "g.io", name: "n" } },
    }),
    ["example (default)", "a/b", "K.g.io/n", "60s"],
  );
  assert.deepEqual(cellsOf(IPAddress, address), ["10.0.0.1", "services/default/web"]);
  assert.deepEqual(cellsOf(NetworkPolicy, { spec: {} }), ["example", "<none>", "60s"]);
});
