// ipvs mode without a kernel that has ip_vs: what it makes of the table of situations, and whether a node that does what it says has
// after each step of a history what the services call for.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Service } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { seededRandom } from "#base/random.ts";
import { world } from "#client/testing.ts";
import { type Frontend, frontendsOf } from "#proxy/frontends.ts";
import { contains } from "#proxy/modes/iptables/rule-text.ts";
import { ipvsChains } from "#proxy/modes/ipvs/chains.ts";
import { ipvs } from "#proxy/modes/ipvs/ipvs.ts";
import { IpvsTable } from "#proxy/modes/ipvs/ipvs-table.ts";
import { serviceParts } from "#proxy/modes/ipvs/service-parts.ts";
import { chooseMode } from "#proxy/modes/list.ts";
import { FakeIpvsNode } from "./fake-ipvs-node.ts";
import { randomFrontends } from "./histories.ts";
import {
  balancerAddress,
  externalAddress,
  ipvsOutcome,
  type Outcome,
  type Situation,
  situations,
} from "./situations.ts";
import { addresses } from "./two-nodes.ts";

const { signal } = new AbortController();
const families = ["IPv4", "IPv6"] as const;
const podRanges = { IPv4: "10.244.0.0/16", IPv6: "fd00:244::/56" };
const clusterIP = "10.96.0.1";
const nodePort = 30_080;

function frontendsIn({ spec, balancer, endpoints }: Situation, i: number): readonly Frontend[] {
  const w = world();
  const ports = (spec?.ports ?? []).map((port) => ({ ...port, ...(spec?.type !== undefined && { nodePort }) }));
  const service = w.have(Service, {
    metadata: { name: "web", namespace: "ns" },
    spec: { ...spec, clusterIP, clusterIPs: [clusterIP], ports },
    ...(balancer && { status: { loadBalancer: { ingress: [{ ip: balancerAddress(i) }] } } }),
  });
  const [port] = ports;
  const slice = w.have(EndpointSlice, {
    metadata: { name: "web-1", namespace: "ns" },
    addressType: "IPv4",
    endpoints: [...endpoints],
    ports: [{ name: "", port: 8080, ...(port?.protocol && { protocol: port.protocol }) }],
  });
  return frontendsOf(service, [slice], { name: "n1", zone: "a" }, "IPv4");
}

/** What the virtual servers and sets of a situation come to, in the words of the table. */
function outcomeOf(situation: Situation, i: number): { outcome: Outcome; sees: string } {
  const { spec, at, from } = situation;
  const nodeAddresses = [addresses.node];
  const settings = { family: "IPv4", scheduler: "rr", nodeAddresses, nodePortAddresses: nodeAddresses } as const;
  const { servers, entries, addresses: bound } = serviceParts(frontendsIn(situation, i), settings);
  const protocol = spec?.ports?.[0]?.protocol === "UDP" ? "udp" : "tcp";
  const to = {
    cluster: clusterIP,
    "node-port": addresses.node,
    external: externalAddress(i),
    balancer: balancerAddress(i),
  }[at];
  assert.equal(bound.has(to), at !== "node-port", "the node has the address in any case");
  const port = at === "node-port" ? nodePort : 80;
  const place = `${to},${protocol}:${port}`;
  const isIn = (set: string, entry = place) => entries.has(`KUBE-${set} ${entry}`);
  // The node sends from the address that it sends to, since both are its own.
  const sender = from === "node" ? to : addresses[from];
  const mayPass = [...entries].some((entry) => {
    const [set, range = ""] = entry.split(`${place},`);
    return set?.startsWith("KUBE-LOAD-BALANCER-SOURCE") && (range === sender || contains(range, sender));
  });
  const server = servers.get(`${protocol === "udp" ? "-u" : "-t"} ${to}:${port}`);
  const pods = [...(server?.destinations.keys() ?? [])].map((destination) => destination.replace(":8080", ""));
  const isMasqueraded =
    (isIn("CLUSTER-IP") && !contains(podRanges.IPv4, sender)) ||
    isIn("EXTERNAL-IP") ||
    (isIn("LOAD-BALANCER") && !isIn("LOAD-BALANCER-LOCAL")) ||
    (at === "node-port" &&
      isIn(`NODE-PORT-${protocol.toUpperCase()}`, String(port)) &&
      !isIn(`NODE-PORT-LOCAL-${protocol.toUpperCase()}`, String(port)));
  const loopsBack =
    pods.length === 1 && pods[0] === sender && isIn("LOOP-BACK", `${sender},${protocol}:8080,${sender}`);
  const sees = isMasqueraded || loopsBack ? "node" : "sender";
  if (isIn("LOAD-BALANCER-FW") && !mayPass) return { outcome: "silence", sees };
  if (pods.length === 0) return { outcome: "refused", sees };
  // The answer of a pod elsewhere does not come back through the node.
  if (from === "client" && sees === "sender" && pods.includes(addresses["remote pod"]))
    return { outcome: "silence", sees };
  if (server?.options.includes("-p 10800") && pods.length > 1) return { outcome: "same", sees };
  const names = (["pod", "second pod", "remote pod"] as const).filter((name) => pods.includes(addresses[name]));
  return { outcome: names, sees };
}

test(`virtual servers and sets say what becomes of traffic in ${situations.length} situations`, () => {
  const wrong = situations.flatMap((situation, i) => {
    const { outcome, sees } = outcomeOf(situation, i);
    const isRight =
      String(outcome) === String(ipvsOutcome(situation)) && (situation.sees === undefined || situation.sees === sees);
    return isRight ? [] : [`${situation.name}: ${String(outcome)}, seen as the ${sees}`];
  });
  assert.deepEqual(wrong, []);
});

/** What the services call for, computed from nothing. */
function expected(state: ReadonlyMap<string, readonly Frontend[]>, family: "IPv4" | "IPv6", node: FakeIpvsNode) {
  const nodeAddresses = node.nodeAddresses.filter((address) => address.includes(":") === (family === "IPv6"));
  const table = new IpvsTable({ family, scheduler: "rr", nodeAddresses, nodePortAddresses: nodeAddresses });
  table.change(state);
  const { addresses: own, entries, servers } = table.wanted;
  return {
    addresses: [...own].sort(),
    entries: [...entries].sort(),
    servers: [...servers]
      .map(([key, { options, destinations }]) => `${key} ${options} ${[...destinations.keys()].sort().join(" ")}`)
      .sort(),
  };
}

const drained = "-m -w 0";

function present(node: FakeIpvsNode, family: "IPv4" | "IPv6") {
  const prefix = family === "IPv6" ? /^KUBE-6-/ : /^KUBE-(?!6-)/;
  return {
    addresses: [...node.addresses].filter((address) => address.includes(":") === (family === "IPv6")).sort(),
    entries: [...node.sets]
      .filter(([set]) => prefix.test(set))
      .flatMap(([set, entries]) => [...entries].map((entry) => `${set} ${entry}`))
      .sort(),
    servers: [...node.servers]
      .filter(([key]) => key.includes("[") === (family === "IPv6"))
      .map(([key, { options, destinations }]) => {
        const active = [...destinations].filter(([, rest]) => rest !== drained).map(([destination]) => destination);
        return `${key} ${options} ${active.sort().join(" ")}`;
      })
      .sort(),
  };
}

async function playHistory(seed: number, steps: number): Promise<void> {
  const random = seededRandom(seed);
  const node = new FakeIpvsNode();
  node.nodeAddresses = ["192.168.0.2", "fd00:192::2"];
  const foreign = { options: "-s wlc", destinations: new Map() };
  node.servers.set("-t 198.51.100.1:80", foreign).set("-t 198.51.100.2:80", { ...foreign });
  node.rules.iptables.set("nat PREROUTING", ["-j FOREIGN"]).set("nat FOREIGN", []);
  const options = { run: node.run, families, podRanges: Object.values(podRanges) };
  const mode = ipvs({ ...options, ipvs: { excludeRanges: ["198.51.100.1/32"] } });
  const states = new Map(families.map((family) => [family, new Map<string, readonly Frontend[]>()]));
  for (let step = 0; step < steps; step++) {
    const changes = families.flatMap((family) =>
      Array.from(new Set(Array.from({ length: 1 + random.below(3) }, () => `ns/service-${random.below(12)}`))).map(
        (service) => ({ service, family, frontends: randomFrontends(random, service, family) }),
      ),
    );
    for (const { service, family, frontends } of changes) states.get(family)?.set(service, frontends);
    if (step > 0 && random.below(8) > 0) await mode.change(changes, signal);
    else {
      if (random.below(2) > 0) node.nodeAddresses = [`192.168.0.${2 + random.below(3)}`, "fd00:192::2"];
      await mode.rewrite(changes, signal);
    }
    if (random.below(4) === 0) {
      for (const [key, { destinations }] of node.servers)
        for (const to of destinations.keys()) if (random.below(2) === 0) node.busy.add(`${key} ${to}`);
      await mode.tidy?.(signal);
      for (const [key, { destinations }] of node.servers)
        for (const [to, rest] of destinations)
          assert.ok(rest !== drained || node.busy.has(`${key} ${to}`), `${to} has no connections and is still there`);
      node.busy.clear();
    }
    for (const family of families) {
      const of = present(node, family);
      const servers = of.servers.filter((server) => !server.startsWith("-t 198.51.100.1:80"));
      assert.deepEqual({ ...of, servers }, expected(states.get(family) ?? new Map(), family, node), `step ${step}`);
    }
  }
  assert.equal(await mode.isIntact?.(signal), true);
  await mode.cleanup(signal);
  assert.equal(await mode.isIntact?.(signal), false);
  assert.deepEqual([...node.servers.keys()], ["-t 198.51.100.1:80"], "what others have is left to them");
  assert.deepEqual([node.sets.size, node.addresses.size, node.hasDevice], [0, 0, false]);
  for (const chains of Object.values(node.rules))
    for (const [chain, rules] of chains) assert.doesNotMatch(`${chain} ${rules.join(" ")}`, /KUBE-/);
  assert.deepEqual(node.rules.iptables.get("nat PREROUTING"), ["-j FOREIGN"]);
}

test("ipvs: after each step of a history the node has what the services call for", async () => {
  for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) await playHistory(seed, 40);
});

test("ipvs: connections end before the endpoint that they go to", async () => {
  const node = new FakeIpvsNode();
  const mode = ipvs({ run: node.run, families: ["IPv4"], podRanges: [] });
  const [cluster] = frontendsIn(situations[0] as Situation, 0) as [Frontend];
  const change = (targets: Frontend["targets"]) => [
    { service: "ns/web", family: "IPv4" as const, frontends: [{ ...cluster, targets }] },
  ];
  const [first, second] = cluster.targets as [Frontend["targets"][0], Frontend["targets"][0]];
  await mode.rewrite(change([first, second]), signal);
  const key = `-t ${clusterIP}:80`;
  const weights = () =>
    [...(node.servers.get(key)?.destinations.values() ?? [])].map((rest) => rest.slice(-1)).join("");
  await mode.change(change([second]), signal);
  assert.equal(weights(), "01");
  node.busy.add(`${key} ${first.address}:8080`);
  await mode.tidy?.(signal);
  assert.equal(weights(), "01", "it has a connection");
  await mode.change(change([first, second]), signal);
  assert.equal(weights(), "11", "it is back, and gets new ones");
  await mode.change(change([second]), signal);
  node.busy.clear();
  await mode.tidy?.(signal);
  assert.equal(weights(), "1");
});

test("ipvs refuses a node that lacks something, and says what would help", async () => {
  const lacks = [
    [
      "test -e /proc/net/ip_vs",
      /needs the kernel modules ip_vs and ip_vs_rr.*modprobe -a ip_vs ip_vs_rr.*another proxy mode/,
    ],
    ["command -v ipvsadm", /needs ipvsadm, which is not installed: install the package ipvsadm/],
    ["command -v ipset", /needs ipset, which is not installed: install the package ipset/],
    ["ipset list -name", /needs the kernel module ip_set/],
  ] as const;
  for (const [lack, refusal] of lacks) {
    const node = new FakeIpvsNode();
    const { mode } = chooseMode("ipvs", {
      run: async (command, options) => {
        if (command[2] === lack) throw new Error("it is not there");
        return node.run(command, options);
      },
      families: ["IPv4"],
      podRanges: [],
    });
    await assert.rejects(async () => mode.check?.(signal), refusal);
    await assert.rejects(mode.rewrite([], signal), refusal);
  }
});

test("ipvs takes over the rules of iptables mode, and the other way round", async () => {
  const node = new FakeIpvsNode();
  const options = { run: node.run, families: ["IPv4"] as const, podRanges: [podRanges.IPv4] };
  const changes = [
    { service: "ns/web", family: "IPv4" as const, frontends: frontendsIn(situations[0] as Situation, 0) },
  ];
  const start = async (name: string) => {
    const { mode, others } = chooseMode(name, options);
    for (const other of others.filter(({ name: of }) => of !== "nftables")) await other.cleanup(signal);
    await mode.rewrite(changes, signal);
    return [...node.rules.iptables.keys()].filter((chain) => chain.includes("KUBE-")).sort();
  };
  const alone = await start("iptables");
  assert.ok(alone.some((chain) => chain.startsWith("nat KUBE-SVC-")));
  const chains = ipvsChains({ family: "IPv4", podRange: podRanges.IPv4, masqueradesAll: false, markBit: 0x4000 });
  assert.deepEqual(await start("ipvs"), [...chains.keys()].sort());
  assert.doesNotMatch(node.rules.iptables.get("filter FORWARD")?.join("\n") ?? "", /KUBE-SERVICES/);
  assert.deepEqual(await start("iptables"), alone);
  assert.deepEqual([node.sets.size, node.servers.size, node.hasDevice], [0, 0, false]);
});

test("the few iptables rules of ipvs mode", () => {
  const text = [...ipvsChains({ family: "IPv4", podRange: "10.244.0.0/16", masqueradesAll: false, markBit: 0x4000 })]
    .filter(([chain]) => /KUBE-(SERVICES|LOAD-BALANCER|IPVS-FILTER)$/.test(chain))
    .flatMap(([chain, rules]) => rules.map((rule) => `${chain} ${rule}`))
    .join("\n");
  assert.equal(
    text,
    `nat KUBE-SERVICES -s 127.0.0.0/8 -j RETURN
nat KUBE-SERVICES -m set --match-set KUBE-LOAD-BALANCER dst,dst -j KUBE-LOAD-BALANCER
nat KUBE-SERVICES ! -s 10.244.0.0/16 -m set --match-set KUBE-CLUSTER-IP dst,dst -j KUBE-MARK-MASQ
nat KUBE-SERVICES -m set --match-set KUBE-EXTERNAL-IP dst,dst -j KUBE-MARK-MASQ
nat KUBE-SERVICES -m addrtype --dst-type LOCAL -j KUBE-NODE-PORT
nat KUBE-SERVICES -m set --match-set KUBE-CLUSTER-IP dst,dst -j ACCEPT
nat KUBE-SERVICES -m set --match-set KUBE-LOAD-BALANCER dst,dst -j ACCEPT
nat KUBE-SERVICES -m set --match-set KUBE-EXTERNAL-IP dst,dst -j ACCEPT
nat KUBE-SERVICES -m set --match-set KUBE-EXTERNAL-IP-LOCAL dst,dst -j ACCEPT
nat KUBE-LOAD-BALANCER -m set --match-set KUBE-LOAD-BALANCER-LOCAL dst,dst -j RETURN
nat KUBE-LOAD-BALANCER -j KUBE-MARK-MASQ
filter KUBE-IPVS-FILTER -m set --match-set KUBE-CLUSTER-IP dst,dst -j RETURN
filter KUBE-IPVS-FILTER -m set --match-set KUBE-LOAD-BALANCER dst,dst -j RETURN
filter KUBE-IPVS-FILTER -m set --match-set KUBE-EXTERNAL-IP dst,dst -j RETURN
filter KUBE-IPVS-FILTER -m set --match-set KUBE-EXTERNAL-IP-LOCAL dst,dst -j RETURN
filter KUBE-IPVS-FILTER -m set --match-set KUBE-HEALTH-CHECK-NODE-PORT dst -j RETURN
filter KUBE-IPVS-FILTER -m conntrack --ctstate NEW -m set --match-set KUBE-IPVS-IPS dst -j REJECT --reject-with icmp-port-unreachable`,
  );
});
