import assert from "node:assert/strict";
import { test } from "node:test";
import { egressNotes, findConflicts, type HostState, pickRanges, usualRanges } from "./conflicts.ts";
import { planNetwork } from "./local-network.ts";

const usual = {
  nodeRange: "172.31.0.0/24",
  podRange: "10.244.0.0/16",
  serviceRange: "10.96.0.0/16",
  loadBalancerRange: "172.31.255.0/24",
};
const plan = (rest: Partial<Parameters<typeof planNetwork>[0]> = {}) =>
  planNetwork({
    cluster: "knarr",
    ...usual,
    nodes: [{ name: "n1", podRange: "10.244.0.0/24" }],
    egress: true,
    ...rest,
  });

const quiet: HostState = {
  links: [
    { name: "lo", addresses: ["127.0.0.1/8"] },
    { name: "eth0", addresses: ["192.168.1.7/24"] },
  ],
  routes: [
    { to: "default", links: ["eth0"] },
    { to: "192.168.1.0/24", links: ["eth0"] },
  ],
  namespaces: [],
  nameServers: [],
  forwardDrops: [],
  doesForward: true,
  doesForwardIpv6: false,
};
const { link } = plan();

const hosts: readonly {
  readonly title: string;
  readonly host?: Partial<HostState>;
  readonly asked?: Parameters<typeof plan>[0];
  readonly found: readonly RegExp[];
}[] = [
  { title: "a quiet host", found: [] },
  {
    title: "an interface in the way",
    host: { links: [{ name: "tun0", addresses: ["10.244.3.1/30"] }] },
    found: [
      /^the range of pods, 10\.244\.0\.0\/16, overlaps with 10\.244\.3\.1\/30 of interface tun0: .*--cluster-cidr$/,
    ],
  },
  {
    title: "routes in the way",
    host: {
      routes: [
        { to: "10.0.0.0/8", links: ["tun0"] },
        { to: "172.31.0.0/20", links: ["eth0"] },
      ],
    },
    found: [
      /range of nodes.* the route to 172\.31\.0\.0\/20 over eth0: .*--node-range$/,
      /range of pods.* the route to 10\.0\.0\.0\/8 over tun0/,
      /range of services.*10\.0\.0\.0\/8.*--service-cluster-ip-range$/,
    ],
  },
  {
    title: "a VPN that takes all that has no better way",
    host: {
      routes: [
        { to: "0.0.0.0/1", links: ["tun0"] },
        { to: "128.0.0.0/1", links: ["tun0"] },
      ],
    },
    found: [],
  },
  {
    title: "a name server in the way",
    host: { nameServers: ["172.31.0.2"] },
    found: [/range of nodes.*172\.31\.0\.2, a name server of this machine/],
  },
  {
    title: "ranges that overlap with each other",
    asked: { loadBalancerRange: "10.96.255.10-10.96.255.20" },
    found: [
      /load balancers, 10\.96\.255\.10-.*range of services, 10\.96\.0\.0\/16: .*--load-balancer-range or --service-/,
    ],
  },
  {
    title: "what is left of the same cluster",
    host: {
      links: [{ name: link, kind: "veth", addresses: ["172.31.0.1/24"] }],
      routes: [
        { to: "172.31.0.0/24", links: [link] },
        { to: "10.96.0.0/16", links: [link, link] },
      ],
      namespaces: [
        { name: "knarr-knarr-.switch", isWhole: true, links: [{ name: "host", addresses: [] }] },
        { name: "knarr-knarr-n1", isWhole: true, links: [{ name: "eth0", addresses: ["172.31.0.10/24"] }] },
      ],
    },
    found: [],
  },
  {
    title: "empty and broken namespaces of the same cluster",
    host: {
      namespaces: [
        { name: "knarr-knarr-.switch", isWhole: false, links: [] },
        { name: "knarr-knarr-n1", isWhole: true, links: [{ name: "lo", addresses: [] }] },
      ],
    },
    found: [],
  },
  {
    title: "names that are taken by something else",
    host: {
      links: [{ name: link, kind: "bridge", addresses: [] }],
      namespaces: [{ name: "knarr-knarr-n1", isWhole: true, links: [{ name: "eth0", addresses: ["10.9.9.9/24"] }] }],
    },
    found: [
      new RegExp(`^interface ${link}, a bridge, is not ours`),
      /^network namespace knarr-knarr-n1 \(with eth0 10\.9\.9\.9\/24\) is not ours: "ip netns delete knarr-knarr-n1"/,
    ],
  },
];

for (const { title, host, asked, found } of hosts)
  test(`conflicts are told for ${title}`, () => {
    const said = findConflicts(plan(asked), { ...quiet, ...host });
    assert.equal(said.length, found.length, said.join("\n"));
    for (const [i, pattern] of found.entries()) assert.match(said[i] ?? "", pattern);
  });

const dual = {
  nodeRange: "172.31.0.0/24,fd00:172:31::/64",
  podRange: "10.244.0.0/16,fd00:10:244::/56",
  serviceRange: "10.96.0.0/16,fd00:10:96::/112",
  loadBalancerRange: "172.31.255.0/24,fd00:172:31:255::/112",
  nodes: [{ name: "n1", podRange: "10.244.0.0/24,fd00:10:244::/64" }],
};

test("conflicts of IPv6 are told, and what is left of the same cluster is none", () => {
  const node = { name: "knarr-knarr-n1", isWhole: true };
  const host = (...addresses: readonly string[]) => ({
    ...quiet,
    namespaces: [{ ...node, links: [{ name: "eth0", addresses }] }],
  });
  assert.deepEqual(findConflicts(plan(dual), host("172.31.0.10/24", "fe80::1/64")), [], "but half made");
  assert.deepEqual(findConflicts(plan(dual), host("172.31.0.10/24", "fd00:172:31::a/64")), []);
  assert.match(findConflicts(plan(dual), host("172.31.0.10/24", "fd00::9/64"))[0] ?? "", /is not ours/);
  const [said, ...more] = findConflicts(plan(dual), { ...quiet, nameServers: ["fd00:172:31::53"] });
  assert.match(said ?? "", /range of nodes.*fd00:172:31::53, a name server/);
  assert.deepEqual(more, []);
});

test("conflicts are told with a cluster that is stopped", () => {
  const [said] = findConflicts(plan(), quiet, [
    {
      cluster: "first",
      ...usual,
      nodeRange: "172.31.7.0/24",
      serviceRange: "10.97.0.0/16",
      loadBalancerRange: "10.1.0.0/16",
    },
  ]);
  assert.match(said ?? "", /range of pods.* overlaps with 10\.244\.0\.0\/16 of cluster "first"/);
});

test("a lone cluster has the usual ranges, a second one the next that are free", () => {
  const first = pickRanges({}, quiet);
  assert.deepEqual(first, usual);
  const second = pickRanges({}, quiet, [{ cluster: "first", ...first }]);
  assert.deepEqual(second, {
    nodeRange: "172.31.1.0/24",
    podRange: "10.245.0.0/16",
    serviceRange: "10.97.0.0/16",
    loadBalancerRange: "172.31.254.0/24",
  });
  const asked = { podRange: "10.97.0.0/16", nodeRange: "172.31.254.0/24" };
  const third = pickRanges(asked, quiet, [{ cluster: "first", ...first }]);
  assert.deepEqual(third, { ...asked, serviceRange: "10.98.0.0/16", loadBalancerRange: "172.31.253.0/24" });
  const left = {
    ...quiet,
    links: [{ name: link, kind: "veth", addresses: ["172.31.0.1/24"] }],
    routes: [{ to: "10.96.0.0/16", links: [link] }],
  };
  assert.deepEqual(pickRanges({}, left, [], { cluster: "knarr" }), usual, "what is left of it is not in its way");
  const ten = { ...quiet, routes: [{ to: "10.0.0.0/8", links: ["tun0"] }] };
  assert.equal(pickRanges({}, ten).podRange, "172.16.0.0/16", "where all of 10 is somebody else's");
  const full = { ...quiet, routes: [{ to: "172.0.0.0/8", links: ["tun0"] }] };
  assert.throws(() => pickRanges({}, full), /choose the range of nodes with --node-range/);
});

test("ranges of both families are picked, each where it is free", () => {
  const families = [4, 6] as const;
  const first = pickRanges({}, quiet, [], { families });
  assert.deepEqual(first, {
    nodeRange: "172.31.0.0/24,fd00:172:31::/64",
    podRange: "10.244.0.0/16,fd00:10:244::/56",
    serviceRange: "10.96.0.0/16,fd00:10:96::/112",
    loadBalancerRange: "172.31.255.0/24,fd00:172:31:255::/112",
  });
  assert.deepEqual(first, usualRanges(families));
  const second = pickRanges({}, quiet, [{ cluster: "first", ...first }], { families: [6] });
  assert.deepEqual(second, {
    nodeRange: "fd00:172:31:1::/64",
    podRange: "fd00:10:245::/56",
    serviceRange: "fd00:10:97::/112",
    loadBalancerRange: "fd00:172:31:256::/112",
  });
});

test("whoever gets a way out is told what that changes, and what may close it", () => {
  const host = { ...quiet, doesForward: false, forwardDrops: [{ table: "ip filter", chain: "FORWARD" }] };
  const [forwards, drops] = egressNotes(plan(), host);
  assert.match(forwards ?? "", /ip_forward is turned on/);
  assert.match(drops ?? "", new RegExp(`nft insert rule ip filter FORWARD iifname ${link} accept`));
  assert.match(egressNotes(plan(dual), quiet)[0] ?? "", /no way out of the machine over IPv6/);
  const onlyIpv6 = { ...quiet, doesForwardIpv6: true, forwardDrops: [{ table: "ip6 filter", chain: "FORWARD" }] };
  assert.match(egressNotes(plan(dual), onlyIpv6)[0] ?? "", /nft insert rule ip6 filter FORWARD/);
  assert.deepEqual(egressNotes(plan(), onlyIpv6), [], "a cluster without IPv6 does not mind");
  assert.deepEqual(egressNotes(plan({ egress: false }), host), []);
  assert.deepEqual(egressNotes(plan(), quiet), []);
});

test("a plan has room for so many nodes, and says so", () => {
  assert.throws(
    () => plan({ nodeRange: "172.31.0.0/28", nodes: Array(6).fill({ name: "n", podRange: "10.0.0.0/24" }) }),
    /room for 5 nodes, not 6/,
  );
  assert.throws(() => plan({ nodeRange: "nowhere" }), /"nowhere" is no network/);
  assert.throws(
    () => plan({ nodeRange: "fd00::/64" }),
    /pod range 10\.244\.0\.0\/16 is not of the families of node range/,
  );
});
