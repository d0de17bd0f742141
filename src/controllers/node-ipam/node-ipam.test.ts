import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Node } from "#api/core/v1/node.ts";
import { ApiError, UsageError } from "#base/errors.ts";
import { world } from "#client/testing.ts";
import { parseCidr } from "#schema/ip.ts";
import { Networks } from "./networks.ts";
import { nodeIpamController } from "./node-ipam.ts";
import { type NodeIpamSettings, networksOf } from "./settings.ts";

const cidr = (text: string) => parseCidr(text)!;
const take = (networks: Networks, count: number) => Array.from({ length: count }, () => networks.allocate());

test("a network is cut into such of equal size, of both families", () => {
  const rows: readonly [string, number, readonly string[]][] = [
    ["10.1.0.0/16", 24, ["10.1.0.0/24", "10.1.1.0/24", "10.1.2.0/24"]],
    ["10.1.2.3/16", 20, ["10.1.0.0/20", "10.1.16.0/20", "10.1.32.0/20"]],
    ["fd00:1::/48", 64, ["fd00:1::/64", "fd00:1:0:1::/64", "fd00:1:0:2::/64"]],
    ["fd00:1::/60", 76, ["fd00:1::/76", "fd00:1:0:0:10::/76", "fd00:1:0:0:20::/76"]],
  ];
  for (const [whole, length, wanted] of rows) {
    const [first, second, third] = take(new Networks(cidr(whole), length), 3);
    assert.deepEqual(
      [first, second, third].map((text) => cidr(text!).network),
      wanted.map((text) => cidr(text).network),
    );
    assert.equal(first, wanted[0]);
  }
});

test("a network that was released is used again only when the others have been", () => {
  const networks = new Networks(cidr("10.0.0.0/22"), 24);
  take(networks, 2);
  networks.release(cidr("10.0.0.0/24"));
  assert.deepEqual(take(networks, 4), ["10.0.2.0/24", "10.0.3.0/24", "10.0.0.0/24", undefined]);
});

test("what is occupied or reserved is not given away, whatever its size", () => {
  const rows: readonly [string, readonly (string | undefined)[]][] = [
    ["10.0.1.0/24", ["10.0.0.0/24", "10.0.2.0/24", "10.0.3.0/24", undefined]],
    ["10.0.1.128/28", ["10.0.0.0/24", "10.0.2.0/24", "10.0.3.0/24", undefined]],
    ["10.0.2.0/23", ["10.0.0.0/24", "10.0.1.0/24", undefined]],
    ["10.0.0.0/8", [undefined]],
  ];
  for (const [text, wanted] of rows)
    for (const how of ["occupy", "reserve"] as const) {
      const networks = new Networks(cidr("10.0.0.0/22"), 24);
      networks[how](cidr(text));
      assert.deepEqual(take(networks, wanted.length), wanted, `${how} ${text}`);
    }
  const networks = new Networks(cidr("10.0.0.0/22"), 24);
  networks.reserve(cidr("10.96.0.0/16"));
  networks.reserve(cidr("fd00::/64"));
  assert.equal(take(networks, 4).at(-1), "10.0.3.0/24");
  assert.throws(
    () => networks.occupy(cidr("10.96.0.0/24")),
    /10\.96\.0\.0\/24 is out the range of cluster cidr 10\.0\.0\.0\/22/,
  );
});

test("no two holders have overlapping networks, whatever is taken and given back", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), fc.nat(20)), { maxLength: 60 }), (steps) => {
      const networks = new Networks(cidr("10.0.0.0/24"), 28);
      const held: string[] = [];
      for (const [isTaking, which] of steps) {
        if (isTaking) {
          const taken = networks.allocate();
          assert.equal(taken === undefined, held.length === 16);
          if (taken !== undefined) held.push(taken);
        } else if (held.length > 0) {
          const [given] = held.splice(which % held.length, 1);
          networks.release(cidr(given!));
        }
        assert.equal(new Set(held).size, held.length);
      }
    }),
  );
});

test("settings that make no sense are refused", () => {
  const rows: readonly [NodeIpamSettings, RegExp][] = [
    [{ clusterCidrs: [] }, /Must specify --cluster-cidr/],
    [{ clusterCidrs: ["10.0.0.0/16"], allocator: "CloudAllocator" }, /The ipam CloudAllocator is not available/],
    [{ clusterCidrs: ["10.0.0.0"] }, /invalid CIDR address: 10\.0\.0\.0/],
    [{ clusterCidrs: ["10.0.0.0/16", "10.1.0.0/16"] }, /not configured as dual stack/],
    [{ clusterCidrs: ["10.0.0.0/16", "fd00::/48", "10.1.0.0/16"] }, /more than max allowed of 2/],
    [{ clusterCidrs: ["10.0.0.0/28"] }, /mask size of cluster CIDR must be less/],
    [{ clusterCidrs: ["fd00::/40"] }, /the node CIDR size is too big/],
    [{ clusterCidrs: ["10.0.0.0/16"], nodeMaskSizes: { ipv4: 40 } }, /\/40/],
    [{ clusterCidrs: ["10.0.0.0/16"], serviceCidrs: ["x"] }, /--service-cluster-ip-range/],
  ];
  for (const [settings, message] of rows)
    assert.throws(
      () => networksOf(settings),
      (error) => error instanceof UsageError && message.test(error.message),
    );
});

function setup(settings: NodeIpamSettings, nodes: Readonly<Record<string, readonly string[]>> = {}) {
  const w = world();
  const one = nodeIpamController(settings);
  for (const [name, podCIDRs] of Object.entries(nodes)) w.have(Node, { metadata: { name }, spec: { podCIDRs } });
  return Object.assign(w, {
    sync: (name: string) => w.reconcile(one, w.get(Node, { name }) ?? ({ metadata: { name } } as Node)),
    of: (name: string) => w.get(Node, { name })?.spec.podCIDRs,
  });
}

test("each node gets a network of each family, and keeps it", async () => {
  const w = setup({ clusterCidrs: ["10.0.0.0/16", "fd00::/48"] }, { a: [], b: [] });
  await w.sync("a");
  await w.sync("b");
  assert.deepEqual(
    [w.of("a"), w.of("b")],
    [
      ["10.0.0.0/24", "fd00::/64"],
      ["10.0.1.0/24", "fd00:0:0:1::/64"],
    ],
  );
  assert.equal(w.get(Node, { name: "a" })?.spec.podCIDR, "10.0.0.0/24");
  w.writes();
  await w.sync("a");
  assert.deepEqual(w.writes(), []);
});

test("what nodes have at the start is not given away, and neither is what services use", async () => {
  const settings = { clusterCidrs: ["10.0.0.0/22"], serviceCidrs: ["10.0.0.0/24"] };
  const w = setup(settings, { old: ["10.0.1.0/24"], a: [], b: [] });
  await w.sync("a");
  assert.deepEqual(w.of("a"), ["10.0.2.0/24"]);
});

test("a node that gets none is told so, and gets one when another node has gone", async () => {
  const w = setup({ clusterCidrs: ["10.0.0.0/24", "fd00::/60"] }, { a: [], b: [] });
  await w.sync("a");
  await assert.rejects(w.sync("b"), /failed to allocate cidr from cluster cidr at idx:0: CIDR allocation failed/);
  assert.deepEqual(w.events(), ["Normal CIDRNotAvailable Node b status is now: CIDRNotAvailable"]);
  w.lose(Node, { name: "a" });
  await w.sync("a");
  await w.sync("b");
  assert.deepEqual(w.of("b"), ["10.0.0.0/24", "fd00:0:0:1::/64"]);
});

test("a node that was replaced by one of its name loses nothing to it", async () => {
  const w = setup({ clusterCidrs: ["10.0.0.0/24"] }, { a: [] });
  await w.sync("a");
  w.lose(Node, { name: "a" });
  w.have(Node, { metadata: { name: "a" } });
  await w.sync("a");
  assert.deepEqual(w.of("a"), ["10.0.0.0/24"]);
});

test("a write that fails is tried again with the same network", async () => {
  const w = setup({ clusterCidrs: ["10.0.0.0/16"] }, { a: [], b: [] });
  const lost = new ApiError({ code: 504, reason: "Timeout", message: "lost" });
  w.fail(({ verb }) => (verb === "patch" ? lost : undefined));
  await assert.rejects(w.sync("a"), lost);
  assert.deepEqual(w.events(), ["Normal CIDRAssignmentFailed Node a status is now: CIDRAssignmentFailed"]);
  w.fail(() => undefined);
  await w.sync("b");
  await w.sync("a");
  assert.deepEqual([w.of("a"), w.of("b")], [["10.0.0.0/24"], ["10.0.1.0/24"]]);
});

test("a node with a network that is not the cluster's is an error of that node only", async () => {
  const rows: readonly [readonly string[], RegExp][] = [
    [["192.168.0.0/24"], /failed to mark cidr\[192\.168\.0\.0\/24\] at idx \[0\] as occupied for node: odd/],
    [["10.0.0.0/24", "fd00::/64"], /node:odd has an allocated cidr: fd00::\/64 at index:1/],
  ];
  for (const [podCIDRs, message] of rows) {
    const w = setup({ clusterCidrs: ["10.0.0.0/16"] }, { odd: podCIDRs, a: [] });
    await w.sync("a");
    assert.deepEqual(w.of("a"), ["10.0.0.0/24"]);
    await assert.rejects(w.sync("odd"), { name: "TerminalError", message });
  }
});
