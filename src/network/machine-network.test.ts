import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node } from "#api/core/v1/node.ts";
import { type MachineNetwork, peersOf, stepsToPeers, stepToAdmit, tunnelMac } from "./machine-network.ts";

const home = { address: "192.0.2.1", nodeRange: "172.31.0.0/24" };
const node = (name: string, address: string | undefined, ...podCIDRs: readonly string[]): Node =>
  ({
    metadata: { name },
    spec: { podCIDRs },
    status: { addresses: address === undefined ? [] : [{ type: "InternalIP", address }] },
  }) as object as Node;
const nodes = [
  node("node-1", "172.31.0.10", "10.244.0.0/24"),
  node("node-2", "172.31.0.11", "10.244.1.0/24"),
  node("b", "192.0.2.2", "10.244.128.0/24"),
  node("c", "192.0.2.3", "10.244.129.0/24", "fd00::/64"),
  node("silent", undefined, "10.244.130.0/24"),
];
const network = (mode: MachineNetwork["mode"]): MachineNetwork => ({
  cluster: "x",
  mode,
  address: "192.0.2.2",
  podRange: "10.244.128.0/24",
  mtu: 1500,
});
const text = (stages: ReturnType<typeof stepsToPeers>) =>
  stages.flat().map(({ command, input }) => `${command[0]}\n${input}`);

test("the networks of nodes that share a machine are all behind that machine", () => {
  assert.deepEqual(peersOf(nodes, home, "192.0.2.2"), [
    { address: "192.0.2.1", ranges: ["10.244.0.0/24", "10.244.1.0/24", "172.31.0.0/24"] },
    { address: "192.0.2.3", ranges: ["10.244.129.0/24"] },
  ]);
  assert.deepEqual(
    peersOf(nodes, home, home.address).map(({ address }) => address),
    ["192.0.2.2", "192.0.2.3"],
  );
});

test("machines of one network are reached by plain routes, and those of machines that left are removed", () => {
  const all = peersOf(nodes, home, "192.0.2.2");
  const [first] = all;
  assert.ok(first);
  assert.deepEqual(text(stepsToPeers(network("routes"), all, [first])), [
    "ip\nroute delete 10.244.129.0/24 proto 108\n",
    [
      "ip",
      "route replace 10.244.0.0/24 via 192.0.2.1 proto 108",
      "route replace 10.244.1.0/24 via 192.0.2.1 proto 108",
      "route replace 172.31.0.0/24 via 192.0.2.1 proto 108\n",
    ].join("\n"),
  ]);
});

test("a tunnel leads to each machine by an address that everybody can tell, and its end has an address of the pods", () => {
  const steps = text(stepsToPeers(network("vxlan"), [], [{ address: "192.0.2.3", ranges: ["10.244.129.0/24"] }])).join(
    "\n",
  );
  const mac = tunnelMac("192.0.2.3");
  assert.match(mac, /^02(:[0-9a-f]{2}){5}$/);
  assert.match(steps, /mtu 1450 type vxlan id 7 local 192\.0\.2\.2 dstport 8472 nolearning/);
  assert.match(steps, /address replace 10\.244\.128\.0\/32 dev kx/);
  assert.match(steps, new RegExp(`neigh replace 192\\.0\\.2\\.3 lladdr ${mac} dev kx\\w+ nud permanent`));
  assert.match(steps, /route replace 10\.244\.129\.0\/24 via 192\.0\.2\.3 dev kx\w+ onlink proto 108/);
  assert.match(steps, new RegExp(`fdb replace ${mac} dev kx\\w+ dst 192\\.0\\.2\\.3`));
});

test("packet rules let in those machines alone that the cluster knows", () => {
  assert.equal(
    stepToAdmit("knarr-x", [{ address: "192.0.2.3", ranges: ["10.244.129.0/24"] }]).input,
    "flush set ip knarr-x machines\nadd element ip knarr-x machines { 192.0.2.3, 10.244.129.0/24 }\n",
  );
  assert.equal(stepToAdmit("knarr-x", []).input, "flush set ip knarr-x machines\n");
});
