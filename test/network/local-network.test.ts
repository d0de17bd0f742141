// The network of a cluster on one machine: made whole from any part of it, with a way out or without, and gone without a trace.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { test } from "node:test";
import { changesOf, readTraces } from "#cluster/machine/traces.ts";
import { findConflicts, pickRanges } from "#network/conflicts.ts";
import { namespacesOf, readHostState } from "#network/host/host-state.ts";
import { makeNetwork, removeNetwork, routeServices } from "#network/host/local-network.ts";
import { type LocalNode, planNetwork } from "#network/local-network.ts";
import { testNetwork } from "../machine/machine.ts";
import { impossible, ip, TestHost } from "./host.ts";

const at = (host: TestHost, i: number) => host.network.nodes[i] as LocalNode;

test("a network on the real host is made twice and removed twice, and nothing is left", {
  skip: impossible,
}, async () => {
  const network = testNetwork("x", 2);
  const isMine = (trace: string) => trace.includes(network.link) || trace.includes(network.options.cluster);
  const before = await readTraces({ folders: [], isMine });
  try {
    await makeNetwork(network);
    await makeNetwork(network);
    const state = await readHostState(namespacesOf(network));
    assert.deepEqual(findConflicts(network, state), [], "what is ours is not in our way");
    const { nodeRange, podRange, serviceRange } = network.options;
    const other = { ...network, link: "kn0", options: { ...network.options, cluster: "other" } };
    assert.equal(findConflicts(other, { ...state, namespaces: [] }).length, 4, "but in that of others");
    const picked = pickRanges({}, state);
    for (const range of [nodeRange, podRange, serviceRange]) assert.ok(!Object.values(picked).includes(range));
    assert.match(ip("route", "get", network.nodes[1]?.podRange.replace("0/24", "9") ?? ""), new RegExp(network.link));
  } finally {
    await removeNetwork(network);
    await removeNetwork(network);
  }
  assert.deepEqual(changesOf(before, await readTraces({ folders: [], isMine })), []);
});

const damages: Readonly<Record<string, (host: TestHost) => void>> = {
  "the switch": ({ network }) => ip("netns", "delete", network.switch),
  "the host's cable": (host) => host.ip("link", "delete", host.network.link),
  "a node's cable": (host) => ip("-n", at(host, 0).netns, "link", "delete", "eth0"),
  "a node": (host) => ip("netns", "delete", at(host, 0).netns),
  "all nodes": ({ network }) => {
    for (const { netns } of network.nodes) ip("netns", "delete", netns);
  },
  "the switch's bridge": ({ network }) => ip("-n", network.switch, "link", "delete", "switch"),
  "routes and addresses": (host) => {
    host.ip("address", "flush", "dev", host.network.link);
    ip("-n", at(host, 1).netns, "address", "flush", "dev", "eth0");
  },
  "a namespace, but not its file": (host) => {
    ip("netns", "delete", at(host, 0).netns);
    writeFileSync(`/run/netns/${at(host, 0).netns}`, "");
  },
};

for (const [what, damage] of Object.entries(damages))
  test(`a network that has lost ${what} is made whole`, { skip: impossible }, async () => {
    await using host = await TestHost.make("d", 2);
    await host.up();
    damage(host);
    await host.up();
    const here = await host.peer("host", host.name);
    const nodes = [await host.peer("n0", at(host, 0).netns), await host.peer("n1", at(host, 1).netns)] as const;
    const { hostAddress } = host.network;
    assert.equal(await nodes[0].ask(at(host, 1).address), `n1 ${at(host, 0).address}`);
    assert.equal(await nodes[1].ask(at(host, 0).address), `n0 ${at(host, 1).address}`);
    assert.equal(await here.ask(at(host, 0).address), `n0 ${hostAddress}`);
    assert.equal(await nodes[1].ask(hostAddress), `host ${at(host, 1).address}`);
  });

test("a node that was deleted while something ran in it is made anew", { skip: impossible }, async () => {
  await using host = await TestHost.make("k", 1);
  await host.up();
  await using held = await host.peer("old", at(host, 0).netns);
  ip("netns", "delete", at(host, 0).netns);
  await host.up();
  const here = await host.peer("host", host.name);
  await host.peer("new", at(host, 0).netns);
  assert.equal(await here.ask(at(host, 0).address), `new ${host.network.hostAddress}`);
  assert.equal(await held.ask(host.network.hostAddress), "ENETUNREACH", "the old one has no cable any more");
});

test("services are reached through all nodes that are alive", { skip: impossible }, async () => {
  await using host = await TestHost.make("r", 3);
  await host.up();
  const ways = () =>
    [...host.ip("route", "show", "10.96.0.0/16").matchAll(/via (\S+)/g)].map(([, address]) => address).sort();
  const route = (...alive: readonly number[]) =>
    routeServices(
      host.network,
      alive.map((i) => at(host, i)),
      { prefix: host.prefix },
    );
  const all = ["172.31.0.10", "172.31.0.11", "172.31.0.12"];
  assert.deepEqual(ways(), all);
  await route(1, 2);
  assert.deepEqual(ways(), all.slice(1));
  await route(2);
  assert.deepEqual(ways(), all.slice(2));
  await route();
  assert.deepEqual(ways(), all, "where none is, all are as good");
  const chosen = () => host.ip("route", "get", "10.96.7.7").split("\n")[0];
  assert.equal(new Set(Array.from({ length: 10 }, chosen)).size, 1, "packets to one address go one way");
});

test("with a way out pods reach what is outside in the host's name, and outside reaches no pod", {
  skip: impossible,
}, async () => {
  await using host = await TestHost.make("o", 1, true);
  const outside = await host.outside("out", "203.0.113.0/24");
  ip("-n", `${host.network.options.cluster}-out`, "route", "add", "default", "via", "203.0.113.1");
  await host.up();
  const pod = await host.pod("p", at(host, 0), "10.244.0.2");
  const node = await host.peer("node", at(host, 0).netns);
  assert.equal(await pod.ask("203.0.113.2"), "out 203.0.113.1");
  assert.equal(await node.ask("203.0.113.2"), "out 203.0.113.1");
  assert.equal(await outside.ask("10.244.0.2"), "timeout");
  assert.equal(await outside.ask(at(host, 0).address), "timeout");
  assert.match(nft(host, "list", "tables"), new RegExp(`table ip knarr-${host.network.options.cluster}`));
  const { forwardDrops } = await readHostState([], host.prefix);
  assert.deepEqual(forwardDrops, []);
  nft(host, "add", "table", "ip", "filter");
  nft(host, "add", "chain", "ip", "filter", "FORWARD", "{ type filter hook forward priority filter; policy drop; }");
  assert.equal(await pod.ask("203.0.113.2"), "timeout", "a table of others that drops has the last word");
  const state = await readHostState([], host.prefix);
  assert.deepEqual(state.forwardDrops, [{ table: "ip filter", chain: "FORWARD" }]);
  await removeNetwork(host.network, { prefix: host.prefix });
  assert.equal(nft(host, "list", "tables").trim(), "table ip filter", "our table is gone, that of others stays");
});

test("without a way out there is none, and the host does not begin to forward", { skip: impossible }, async () => {
  await using host = await TestHost.make("i", 1);
  await host.outside("out", "203.0.113.0/24");
  await host.up();
  const pod = await host.pod("p", at(host, 0), "10.244.0.2");
  assert.equal(await pod.ask("203.0.113.2"), "ENETUNREACH");
  assert.equal(forwards(host), "0");
});

/** How a cluster may be made: whoever else forwards on the host, and whether the cluster has a way out. */
const exposures = [
  { title: "a host that forwards for others", egress: false, forwards: "1" },
  { title: "a host that forwards for nobody", egress: false, forwards: "0" },
  { title: "a cluster with a way out", egress: true, forwards: "0" },
];

for (const { title, egress, forwards: before } of exposures)
  test(`neighbours of ${title} reach nothing of the cluster, and those who should reach all`, {
    skip: impossible,
  }, async () => {
    await using host = await TestHost.make(`b${egress ? 1 : 0}${before}`, 2, egress);
    const neighbour = await host.outside("near", "203.0.113.0/24");
    setForwarding(host, before);
    await host.up();
    const { hostAddress, options } = host.network;
    // What the neighbour knows of the cluster. It has no other way: no default route.
    for (const range of [options.nodeRange, options.podRange, options.serviceRange, options.loadBalancerRange])
      ip("-n", `${options.cluster}-near`, "route", "add", range, "via", "203.0.113.1");
    const here = await host.peer("host", host.name);
    // API, names and images of the cluster are served at the host's address for nodes; kubelets and node ports at those of nodes.
    const nodes = [await host.peer("n0", at(host, 0).netns), await host.peer("n1", at(host, 1).netns)] as const;
    const pod = await host.pod("p", at(host, 0), "10.244.0.2");
    const other = await host.pod("q", at(host, 1), "10.244.1.2");
    for (const address of ["10.96.0.9", "172.31.255.9"])
      ip("-n", at(host, 0).netns, "address", "add", address, "dev", "lo");
    host.ip("route", "add", "10.96.0.9", "via", at(host, 0).address);
    host.ip("route", "add", "172.31.255.9", "via", at(host, 0).address);

    const places = [hostAddress, at(host, 0).address, "10.244.0.2", "10.244.1.2", "10.96.0.9", "172.31.255.9"];
    for (const place of places) assert.equal(await neighbour.ask(place), "timeout", `the neighbour asks ${place}`);
    assert.equal(await neighbour.ask("203.0.113.1"), "host 203.0.113.2", "what the host itself has there stays open");

    assert.equal(await here.ask("10.244.1.2"), `q ${hostAddress}`);
    assert.equal(await here.ask("10.96.0.9"), `n0 ${hostAddress}`);
    assert.equal(await here.ask(hostAddress), `host ${hostAddress}`);
    assert.equal(await pod.ask(hostAddress), "host 10.244.0.2");
    assert.equal(await pod.ask("10.244.1.2"), "q 10.244.0.2");
    assert.equal(await other.ask(at(host, 0).address), "n0 10.244.1.2");
    assert.equal(await nodes[1].ask(hostAddress), `host ${at(host, 1).address}`);
    assert.equal(await pod.ask("203.0.113.2"), egress ? "near 203.0.113.1" : "ENETUNREACH");
    if (!egress) {
      ip("-n", at(host, 0).netns, "route", "add", "default", "via", hostAddress);
      ip("-n", `${options.cluster}-near`, "route", "replace", "10.244.0.0/16", "via", "203.0.113.1");
      assert.equal(await pod.ask("203.0.113.2"), "timeout", "a route that a pod has added leads nowhere");
    }
    await removeNetwork(host.network, { prefix: host.prefix });
    assert.equal(nft(host, "list", "tables"), "");
    assert.equal(forwards(host), before);
  });

test("forwarding is turned off by the last cluster that needs it, if a cluster turned it on", {
  skip: impossible,
}, async () => {
  await using host = await TestHost.make("f", 1, true);
  const networkOf = (name: string, i: number) =>
    planNetwork({
      ...host.network.options,
      cluster: `${host.network.options.cluster}${name}`,
      nodeRange: `172.31.${i}.0/24`,
      podRange: `10.${i}.0.0/16`,
      serviceRange: `10.${i + 1}.0.0/16`,
      loadBalancerRange: `172.31.${i + 1}.0/24`,
      nodes: [],
    });
  const [second, without] = [networkOf("2", 10), networkOf("3", 20)];
  const quiet = { ...without, options: { ...without.options, egress: false } };
  const { prefix } = host;
  await host.up();
  for (const network of [second, quiet]) await makeNetwork(network, { prefix });
  await removeNetwork(host.network, { prefix });
  assert.equal(forwards(host), "1", "another needs it");
  await removeNetwork(second, { prefix });
  assert.equal(forwards(host), "0", "one that has no way out does not need it");
  await removeNetwork(quiet, { prefix });
  assert.equal(nft(host, "list", "tables"), "");

  setForwarding(host, "1");
  await makeNetwork(second, { prefix });
  await removeNetwork(second, { prefix });
  assert.equal(forwards(host), "1", "it was on before");

  setForwarding(host, "0");
  await makeNetwork(second, { prefix });
  nft(host, "add", "table", "ip", "nat");
  nft(host, "add", "chain", "ip", "nat", "POSTROUTING", "{ type nat hook postrouting priority srcnat; }");
  await removeNetwork(second, { prefix });
  assert.equal(forwards(host), "1", "somebody else relies on it by now");
  assert.equal(nft(host, "list", "tables").trim(), "table ip nat");
});

const inside = (host: TestHost, ...command: readonly string[]) =>
  execFileSync("nsenter", [...host.prefix.slice(1), ...command], { encoding: "utf8" });
const nft = (host: TestHost, ...args: readonly string[]) => inside(host, "nft", ...args);
const forwards = (host: TestHost) => inside(host, "cat", "/proc/sys/net/ipv4/ip_forward").trim();
const setForwarding = (host: TestHost, value: string) =>
  inside(host, "sh", "-c", `echo ${value} > /proc/sys/net/ipv4/ip_forward`);
