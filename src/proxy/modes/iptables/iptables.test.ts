import assert from "node:assert/strict";
import { test } from "node:test";
import { Service } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { world } from "#client/testing.ts";
import type { Draft } from "#schema/infer.ts";
import { type FrontendFamily, frontendsOf } from "../../frontends.ts";
import { endpointChain, portChains } from "./chain-names.ts";
import { endpointDelivery } from "./endpoint-chains.ts";
import { FamilyRules, largeClusterEndpoints, longChain } from "./family-rules.ts";
import { cleanupText, readSaved, rewriteTexts } from "./rule-set.ts";

const settingsOf = (family: FrontendFamily) => ({
  family,
  podRange: family === "IPv6" ? "fd00:244::/56" : "10.244.0.0/16",
  masquerades: true,
  masqueradesAll: false,
  markBit: 0x4000,
  nodeAddresses: ["192.168.0.2"],
  localhostNodePorts: false,
  nodePortRanges: [],
  deliver: (isLarge: boolean) => endpointDelivery(family, isLarge),
});

interface Example {
  readonly spec: Draft<Service["spec"]>;
  readonly here?: readonly string[];
  readonly elsewhere?: readonly string[];
  readonly balancer?: string;
  readonly family?: FrontendFamily;
}

function frontends({ spec, here = [], elsewhere = [], balancer, family = "IPv4" }: Example) {
  const w = world();
  const own = family === "IPv6" ? "fd00:96::1" : "10.96.0.1";
  const service = w.have(Service, {
    metadata: { name: "web", namespace: "ns" },
    spec: { clusterIP: own, clusterIPs: [own], ports: [{ name: "p80", port: 80 }], ...spec },
    ...(balancer !== undefined && { status: { loadBalancer: { ingress: [{ ip: balancer }] } } }),
  });
  const endpoint = (nodeName: string) => (address: string) => ({ addresses: [address], nodeName });
  const slice = w.have(EndpointSlice, {
    metadata: { name: "web-1", namespace: "ns" },
    addressType: family,
    endpoints: [...here.map(endpoint("n1")), ...elsewhere.map(endpoint("n2"))],
    ports: [{ name: "p80", port: 8080 }],
  });
  return frontendsOf(service, [slice], { name: "n1" }, family);
}

/** The rules that a service adds, with letters instead of hashes. */
function rulesFor(example: Example): string {
  const empty = new FamilyRules(settingsOf(example.family ?? "IPv4"));
  const rules = new FamilyRules(settingsOf(example.family ?? "IPv4"));
  rules.change(new Map([["ns/web", frontends(example)]]));
  const base = new Set([...empty.chains].flatMap(([chain, lines]) => lines.map((line) => `${chain} ${line}`)));
  const letters = new Map<string, string>();
  return [...rules.chains]
    .flatMap(([chain, lines]) => lines.map((line) => `${chain} ${line}`))
    .filter((line) => !base.has(line))
    .map((line) =>
      line.replace(/(KUBE-(?:SVC|SVL|EXT|FW|SEP)-)([A-Z2-7]{16})/g, (_, prefix: string, hash: string) => {
        if (!letters.has(hash)) letters.set(hash, "ABCDEFG"[letters.size] ?? "?");
        return `${prefix}${letters.get(hash)}`;
      }),
    )
    .join("\n");
}

test("iptables chains have the names that upstream gives them", () => {
  assert.equal(portChains("default/kubernetes:https", "tcp").cluster, "KUBE-SVC-NPX46M4PTMTKRN6Y");
  assert.equal(portChains("kube-system/kube-dns:dns", "udp").cluster, "KUBE-SVC-TCOU7JCQXEZGVUNU");
  assert.equal(portChains("kube-system/kube-dns:dns-tcp", "tcp").cluster, "KUBE-SVC-ERIFXISQEP7F7OF4");
  assert.deepEqual(portChains("ns1/svc1:p80", "tcp"), {
    cluster: "KUBE-SVC-XPGD46QRK7WJZT7O",
    local: "KUBE-SVL-XPGD46QRK7WJZT7O",
    external: "KUBE-EXT-XPGD46QRK7WJZT7O",
    firewall: "KUBE-FW-XPGD46QRK7WJZT7O",
  });
  assert.equal(endpointChain("ns1/svc1:p80", "tcp", "10.180.0.1:80"), "KUBE-SEP-SXIVWICOYRO3J4NJ");
});

const golden: readonly (readonly [name: string, example: Example, rules: string])[] = [
  [
    "a cluster address with two endpoints",
    { spec: {}, here: ["10.244.0.1"], elsewhere: ["10.244.1.1"] },
    `nat KUBE-SERVICES -d 10.96.0.1/32 -p tcp -m comment --comment "ns/web:p80 cluster IP" -m tcp --dport 80 -j KUBE-SVC-A
nat KUBE-SVC-A ! -s 10.244.0.0/16 -d 10.96.0.1/32 -p tcp -m comment --comment "ns/web:p80 cluster IP" -m tcp --dport 80 -j KUBE-MARK-MASQ
nat KUBE-SVC-A -m comment --comment "ns/web:p80 -> 10.244.0.1:8080" -m statistic --mode random --probability 0.50000000000 -j KUBE-SEP-B
nat KUBE-SVC-A -m comment --comment "ns/web:p80 -> 10.244.1.1:8080" -j KUBE-SEP-C
nat KUBE-SEP-B -s 10.244.0.1/32 -m comment --comment "ns/web:p80" -j KUBE-MARK-MASQ
nat KUBE-SEP-B -p tcp -m comment --comment "ns/web:p80" -m tcp -j DNAT --to-destination 10.244.0.1:8080
nat KUBE-SEP-C -s 10.244.1.1/32 -m comment --comment "ns/web:p80" -j KUBE-MARK-MASQ
nat KUBE-SEP-C -p tcp -m comment --comment "ns/web:p80" -m tcp -j DNAT --to-destination 10.244.1.1:8080`,
  ],
  [
    "a node port without endpoints",
    { spec: { type: "NodePort", ports: [{ name: "p80", port: 80, nodePort: 30_080 }] } },
    `filter KUBE-EXTERNAL-SERVICES -p tcp -m comment --comment "ns/web:p80 has no endpoints" -m addrtype --dst-type LOCAL -m tcp --dport 30080 -j REJECT --reject-with icmp-port-unreachable
filter KUBE-SERVICES -d 10.96.0.1/32 -p tcp -m comment --comment "ns/web:p80 has no endpoints" -m tcp --dport 80 -j REJECT --reject-with icmp-port-unreachable`,
  ],
  [
    "affinity, over IPv6",
    { spec: { sessionAffinity: "ClientIP" }, here: ["fd00:244::1"], family: "IPv6" },
    `nat KUBE-SERVICES -d fd00:96::1/128 -p tcp -m comment --comment "ns/web:p80 cluster IP" -m tcp --dport 80 -j KUBE-SVC-A
nat KUBE-SVC-A ! -s fd00:244::/56 -d fd00:96::1/128 -p tcp -m comment --comment "ns/web:p80 cluster IP" -m tcp --dport 80 -j KUBE-MARK-MASQ
nat KUBE-SVC-A -m comment --comment "ns/web:p80 -> [fd00:244::1]:8080" -m recent --rcheck --seconds 10800 --reap --name KUBE-SEP-B --mask ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff --rsource -j KUBE-SEP-B
nat KUBE-SVC-A -m comment --comment "ns/web:p80 -> [fd00:244::1]:8080" -j KUBE-SEP-B
nat KUBE-SEP-B -s fd00:244::1/128 -m comment --comment "ns/web:p80" -j KUBE-MARK-MASQ
nat KUBE-SEP-B -p tcp -m comment --comment "ns/web:p80" -m recent --set --name KUBE-SEP-B --mask ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff --rsource -m tcp -j DNAT --to-destination [fd00:244::1]:8080`,
  ],
  [
    "a guarded load balancer of policy Local, with a health port and all endpoints elsewhere",
    {
      spec: {
        type: "LoadBalancer",
        externalTrafficPolicy: "Local",
        healthCheckNodePort: 30_999,
        allocateLoadBalancerNodePorts: false,
        loadBalancerSourceRanges: ["192.168.0.9/24", "0.0.0.0/0"],
      },
      elsewhere: ["10.244.1.1"],
      balancer: "172.31.0.1",
    },
    `filter KUBE-EXTERNAL-SERVICES -d 172.31.0.1/32 -p tcp -m comment --comment "ns/web:p80 has no local endpoints" -m tcp --dport 80 -j DROP
filter KUBE-NODEPORTS -p tcp -m comment --comment "ns/web:p80 health check node port" -m tcp --dport 30999 -j ACCEPT
filter KUBE-PROXY-FIREWALL -d 172.31.0.1/32 -p tcp -m comment --comment "ns/web:p80 traffic not accepted by KUBE-FW-A" -m tcp --dport 80 -j DROP
nat KUBE-SERVICES -d 10.96.0.1/32 -p tcp -m comment --comment "ns/web:p80 cluster IP" -m tcp --dport 80 -j KUBE-SVC-A
nat KUBE-SERVICES -d 172.31.0.1/32 -p tcp -m comment --comment "ns/web:p80 loadbalancer IP" -m tcp --dport 80 -j KUBE-FW-A
nat KUBE-EXT-A -s 10.244.0.0/16 -m comment --comment "pod traffic for ns/web:p80 external destinations" -j KUBE-SVC-A
nat KUBE-EXT-A -m comment --comment "masquerade LOCAL traffic for ns/web:p80 external destinations" -m addrtype --src-type LOCAL -j KUBE-MARK-MASQ
nat KUBE-EXT-A -m comment --comment "route LOCAL traffic for ns/web:p80 external destinations" -m addrtype --src-type LOCAL -j KUBE-SVC-A
nat KUBE-FW-A -s 192.168.0.0/24 -m comment --comment "ns/web:p80 loadbalancer IP" -j KUBE-EXT-A
nat KUBE-FW-A -m comment --comment "ns/web:p80 loadbalancer IP" -j KUBE-EXT-A
nat KUBE-FW-A -s 172.31.0.1/32 -m comment --comment "ns/web:p80 loadbalancer IP" -j KUBE-EXT-A
nat KUBE-FW-A -m comment --comment "other traffic to ns/web:p80 will be dropped by KUBE-PROXY-FIREWALL"
nat KUBE-SVC-A ! -s 10.244.0.0/16 -d 10.96.0.1/32 -p tcp -m comment --comment "ns/web:p80 cluster IP" -m tcp --dport 80 -j KUBE-MARK-MASQ
nat KUBE-SVC-A -m comment --comment "ns/web:p80 -> 10.244.1.1:8080" -j KUBE-SEP-B
nat KUBE-SEP-B -s 10.244.1.1/32 -m comment --comment "ns/web:p80" -j KUBE-MARK-MASQ
nat KUBE-SEP-B -p tcp -m comment --comment "ns/web:p80" -m tcp -j DNAT --to-destination 10.244.1.1:8080`,
  ],
  [
    "insiders and outsiders kept on the node",
    {
      spec: {
        internalTrafficPolicy: "Local",
        externalTrafficPolicy: "Local",
        externalIPs: ["1.2.3.4"],
        type: "NodePort",
      },
      here: ["10.244.0.1"],
      elsewhere: ["10.244.1.1"],
    },
    `nat KUBE-SERVICES -d 10.96.0.1/32 -p tcp -m comment --comment "ns/web:p80 cluster IP" -m tcp --dport 80 -j KUBE-SVL-A
nat KUBE-SERVICES -d 1.2.3.4/32 -p tcp -m comment --comment "ns/web:p80 external IP" -m tcp --dport 80 -j KUBE-EXT-A
nat KUBE-EXT-A -s 10.244.0.0/16 -m comment --comment "pod traffic for ns/web:p80 external destinations" -j KUBE-SVC-A
nat KUBE-EXT-A -m comment --comment "masquerade LOCAL traffic for ns/web:p80 external destinations" -m addrtype --src-type LOCAL -j KUBE-MARK-MASQ
nat KUBE-EXT-A -m comment --comment "route LOCAL traffic for ns/web:p80 external destinations" -m addrtype --src-type LOCAL -j KUBE-SVC-A
nat KUBE-EXT-A -j KUBE-SVL-A
nat KUBE-SVL-A ! -s 10.244.0.0/16 -d 10.96.0.1/32 -p tcp -m comment --comment "ns/web:p80 cluster IP" -m tcp --dport 80 -j KUBE-MARK-MASQ
nat KUBE-SVL-A -m comment --comment "ns/web:p80 -> 10.244.0.1:8080" -j KUBE-SEP-B
nat KUBE-SVC-A -m comment --comment "ns/web:p80 -> 10.244.0.1:8080" -m statistic --mode random --probability 0.50000000000 -j KUBE-SEP-B
nat KUBE-SVC-A -m comment --comment "ns/web:p80 -> 10.244.1.1:8080" -j KUBE-SEP-C
nat KUBE-SEP-B -s 10.244.0.1/32 -m comment --comment "ns/web:p80" -j KUBE-MARK-MASQ
nat KUBE-SEP-B -p tcp -m comment --comment "ns/web:p80" -m tcp -j DNAT --to-destination 10.244.0.1:8080
nat KUBE-SEP-C -s 10.244.1.1/32 -m comment --comment "ns/web:p80" -j KUBE-MARK-MASQ
nat KUBE-SEP-C -p tcp -m comment --comment "ns/web:p80" -m tcp -j DNAT --to-destination 10.244.1.1:8080`,
  ],
];

for (const [name, example, expected] of golden)
  test(`iptables rules of ${name}`, () => assert.equal(rulesFor(example), expected));

test("a change of iptables rules names only the chains that it concerns", () => {
  const rules = new FamilyRules(settingsOf("IPv4"));
  rules.change(
    new Map([
      ["ns/web", frontends({ spec: {}, here: ["10.244.0.1", "10.244.0.2"] })],
      ["ns/other", frontends({ spec: { clusterIP: "10.96.0.2", clusterIPs: ["10.96.0.2"] }, here: ["10.244.0.9"] })],
    ]),
  );
  const [service, kept, gone, fresh] = [
    portChains("ns/web:p80", "tcp").cluster,
    ...["10.244.0.1", "10.244.0.2", "10.244.0.3"].map((to) => endpointChain("ns/web:p80", "tcp", `${to}:8080`)),
  ];
  const text = rules.change(new Map([["ns/web", frontends({ spec: {}, here: ["10.244.0.1", "10.244.0.3"] })]]));
  const named = [...text.matchAll(/^:(\S+)/gm)].map(([, chain]) => chain).sort();
  assert.deepEqual(named, [service, gone, fresh].sort(), `${kept} and the chains of all services stay`);
  assert.match(text, new RegExp(`^-X ${gone}$`, "m"));
  assert.equal(rules.change(new Map([["ns/web", frontends({ spec: {}, here: ["10.244.0.1", "10.244.0.3"] })]])), "");
});

test("a long iptables chain is edited, and not written anew", () => {
  const rules = new FamilyRules(settingsOf("IPv4"));
  const at = (i: number, here: readonly string[]) =>
    frontends({ spec: { clusterIP: `10.96.1.${i}`, clusterIPs: [`10.96.1.${i}`] }, here });
  const names = Array.from({ length: longChain + 2 }, (_, i) => `ns/web-${i}`);
  rules.change(new Map(names.map((name, i) => [name, at(i, ["10.244.0.1"])])));
  const gone = rules.change(new Map([["ns/web-7", at(7, [])]]));
  assert.match(gone, /^-D KUBE-SERVICES -d 10\.96\.1\.7\/32 .*-j KUBE-SVC-/m);
  assert.doesNotMatch(gone, /10\.96\.1\.8\//);
  const back = rules.change(new Map([["ns/web-7", at(7, ["10.244.0.2"])]]));
  assert.match(back, /^-I KUBE-SERVICES -d 10\.96\.1\.7\/32 .*-j KUBE-SVC-/m);
});

test("iptables rules that are too many for one text come in several, none of which leads to what is not there yet", () => {
  const rules = new FamilyRules(settingsOf("IPv4"));
  const many = Array.from({ length: 2_500 }, (_, i) => `10.244.${i >> 8}.${i & 255}`);
  rules.change(new Map([["ns/web", frontends({ spec: { externalIPs: ["1.2.3.4"] }, here: many })]]));
  const texts = rewriteTexts(rules.chains, readSaved("*nat\n:KUBE-SVC-OLD - [0:0]\nCOMMIT\n"));
  assert.ok(texts.length > 2);
  const present = new Set<string>();
  for (const text of texts) {
    for (const [, chain = ""] of text.matchAll(/^:(\S+)/gm)) present.add(chain);
    for (const [, chain = ""] of text.matchAll(/ -j (KUBE-\S+)/g)) assert.ok(present.has(chain), chain);
  }
  assert.match(texts.at(-1) ?? "", /-X KUBE-SVC-OLD/);
});

test("iptables rules of many endpoints go without comments, and get them back", () => {
  const many = Array.from({ length: largeClusterEndpoints }, (_, i) => `10.244.${i >> 8}.${i & 255}`);
  const rules = new FamilyRules(settingsOf("IPv4"));
  const other = frontends({ spec: { clusterIP: "10.96.0.2", clusterIPs: ["10.96.0.2"] }, here: ["10.245.0.9"] });
  rules.change(new Map([["ns/other", other]]));
  const chain = `nat ${endpointChain("ns/other:p80", "tcp", "10.245.0.9:8080")}`;
  assert.match(rules.chains.get(chain)?.[1] ?? "", /comment/);
  const text = rules.change(new Map([["ns/web", frontends({ spec: {}, here: many })]]));
  assert.doesNotMatch(rules.chains.get(chain)?.[1] ?? "", /comment/);
  assert.match(text, new RegExp(`:${chain.slice(4)} `), "also those that were there before");
  rules.change(new Map([["ns/web", []]]));
  assert.match(rules.chains.get(chain)?.[1] ?? "", /comment/);
});

test("iptables rules are made anew around those of others, and removed from among them", () => {
  const rules = new FamilyRules(settingsOf("IPv4"));
  rules.change(new Map([["ns/web", frontends({ spec: {}, here: ["10.244.0.1"] })]]));
  const saved = readSaved(`*nat
:PREROUTING ACCEPT [0:0]
:OUTPUT ACCEPT [0:0]
:DOCKER - [0:0]
:KUBE-SEP-AAAAAAAAAAAAAAAA - [0:0]
:KUBE-SERVICES - [0:0]
-A PREROUTING -j DOCKER
-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
COMMIT
`);
  const [text = ""] = rewriteTexts(rules.chains, saved);
  assert.match(text, /^-X KUBE-SEP-AAAAAAAAAAAAAAAA$/m);
  assert.doesNotMatch(text, /DOCKER|-I PREROUTING/, "what is there is not made twice");
  assert.match(text, /^-I OUTPUT -m comment --comment "kubernetes service portals" -j KUBE-SERVICES$/m);
  assert.equal(
    cleanupText(saved),
    `*nat
:KUBE-SEP-AAAAAAAAAAAAAAAA - [0:0]
:KUBE-SERVICES - [0:0]
-D PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-X KUBE-SEP-AAAAAAAAAAAAAAAA
-X KUBE-SERVICES
COMMIT
`,
  );
  assert.equal(cleanupText(readSaved("")), "");
});
