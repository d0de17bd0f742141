import assert from "node:assert/strict";
import { test } from "node:test";
import type { Pod } from "#api/core/v1/pod.ts";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";
import { parseResolverConfig, resolverConfigOf, withoutLoopback } from "./resolver-config.ts";

const cluster = {
  server: "10.96.0.10",
  domain: "cluster.local",
  machine: { servers: ["192.0.2.1", "192.0.2.2"], searches: ["example.org"], options: ["rotate"] },
};
const configOf = (spec: Partial<PodSpec>) =>
  resolverConfigOf({ metadata: { namespace: "shop", name: "web" }, spec } as Pod, cluster);
const ofCluster = {
  servers: ["10.96.0.10"],
  searches: ["shop.svc.cluster.local", "svc.cluster.local", "cluster.local", "example.org"],
  options: ["ndots:5"],
};

test("a pod asks whom its policy names", () => {
  assert.deepEqual(configOf({ dnsPolicy: "ClusterFirst" }), ofCluster);
  assert.deepEqual(configOf({ dnsPolicy: "ClusterFirst", hostNetwork: true }), cluster.machine);
  assert.deepEqual(configOf({ dnsPolicy: "ClusterFirstWithHostNet", hostNetwork: true }), ofCluster);
  assert.deepEqual(configOf({ dnsPolicy: "Default" }), cluster.machine);
  assert.deepEqual(configOf({ dnsPolicy: "None", dnsConfig: { nameservers: ["192.0.2.9"] } }), {
    servers: ["192.0.2.9"],
    searches: [],
    options: [],
  });
});

test("what a pod says besides is added, and wins", () => {
  const dnsConfig = {
    nameservers: ["10.96.0.10", "192.0.2.3", "192.0.2.4", "192.0.2.5"],
    searches: ["a.test", "cluster.local"],
    options: [{ name: "ndots", value: "2" }, { name: "edns0" }],
  };
  assert.deepEqual(configOf({ dnsPolicy: "ClusterFirst", dnsConfig }), {
    servers: ["10.96.0.10", "192.0.2.3", "192.0.2.4"],
    searches: [...ofCluster.searches, "a.test"],
    options: ["ndots:2", "edns0"],
  });
});

test("no more is said than a C library reads", () => {
  const searches = Array.from({ length: 40 }, (_, i) => `${String(i).padStart(100, "x")}.test`);
  const found = configOf({ dnsPolicy: "None", dnsConfig: { searches } });
  assert.equal(found.searches.length, 19);
  assert.ok(found.searches.join(" ").length <= 2048);
});

test("a resolv.conf is read as C libraries read it", () => {
  assert.deepEqual(
    parseResolverConfig(
      "# made by hand\nnameserver 192.0.2.1\nsearch a.test b.test\nsearch c.test .\noptions ndots:1 rotate\nnameserver 192.0.2.2\n",
    ),
    { servers: ["192.0.2.1", "192.0.2.2"], searches: ["c.test"], options: ["ndots:1", "rotate"] },
  );
});

test("pods are not sent to a loopback that is not theirs", () => {
  const rest = { searches: ["example.org"], options: [] };
  const table: readonly (readonly [servers: string[], expected: string[]])[] = [
    [["192.0.2.1"], ["192.0.2.1"]],
    [["127.0.0.1", "192.0.2.1", "::1"], ["192.0.2.1"]],
    [["127.0.0.53"], ["10.96.0.10"]],
    [[], []],
  ];
  for (const [servers, expected] of table)
    assert.deepEqual(withoutLoopback({ servers, ...rest }, "10.96.0.10"), { servers: expected, ...rest });
});
