// Nodes of a cluster on this machine: real namespaces and a real containerd in each. Nothing of it has a way out of the machine.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "#base/clock.ts";
import { pauseReference } from "#cluster/images/pause.ts";
import { NodeContainerd } from "#cluster/machine/containerd.ts";
import { makeNetwork, removeNetwork } from "#network/host/local-network.ts";
import { planNetwork } from "#network/local-network.ts";

const impossible: string | false =
  process.getuid?.() !== 0
    ? "only root may make network namespaces"
    : ["/usr/sbin/ip", "/usr/bin/containerd", "/usr/sbin/runc"].find((path) => !existsSync(path)) !== undefined
      ? "iproute2, containerd or runc is not installed"
      : false;

const network = planNetwork({
  cluster: `t${process.pid}`,
  nodeRange: "172.30.241.0/24",
  podRange: "10.238.0.0/16",
  serviceRange: "10.239.0.0/16",
  loadBalancerRange: "172.30.242.0/24",
  nodes: [
    { name: "a", podRange: "10.238.0.0/24" },
    { name: "b", podRange: "10.238.1.0/24" },
  ],
  egress: false,
});
const sh = (...command: readonly [string, ...string[]]) =>
  execFileSync(command[0], command.slice(1), { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

/** What a machine has that a cluster could leave behind. */
const traces = () => ({
  links: sh("ip", "-o", "link")
    .replace(/^\d+: /gm, "")
    .split("\n").length,
  routes: sh("ip", "route"),
  netns: sh("ip", "netns"),
  mounts: readFileSync("/proc/self/mountinfo", "utf8").split("\n").length,
  runc: existsSync("/run/containerd/runc/k8s.io") ? readdirSync("/run/containerd/runc/k8s.io") : [],
});

test("nodes reach each other and the host, and nothing else; two goes at it are fine, and nothing is left", {
  skip: impossible,
}, async () => {
  const before = traces();
  try {
    await makeNetwork(network);
    await makeNetwork(network);
    const [a, b] = network.nodes as [(typeof network.nodes)[0], (typeof network.nodes)[0]];
    const ping = (from: string, to: string) => sh("ip", "netns", "exec", from, "ping", "-c1", "-W2", to);
    const reach = (from: string, to: string) => {
      try {
        return sh("ip", "-n", from, "route", "get", to);
      } catch {
        return "no way";
      }
    };
    assert.match(reach(a.netns, "10.238.1.7"), new RegExp(`via ${b.address.replaceAll(".", "\\.")}`));
    assert.match(sh("ip", "route", "get", "10.238.1.7"), new RegExp(`via ${b.address.replaceAll(".", "\\.")}`));
    assert.equal(reach(a.netns, "192.0.2.1"), "no way", "out of the machine");
    if (existsSync("/usr/bin/ping")) {
      ping(a.netns, b.address);
      ping(b.netns, network.hostAddress);
    }
  } finally {
    await removeNetwork(network);
    await removeNetwork(network);
  }
  assert.deepEqual(traces(), before);
});

test("a node's containerd starts, is found again, runs containers, and goes without a trace", {
  skip: impossible,
}, async () => {
  const before = traces();
  const root = mkdtempSync(join(tmpdir(), "knarr-node-"));
  const [node] = network.nodes as [(typeof network.nodes)[0]];
  const options = {
    folder: join(root, "data"),
    runFolder: join(root, "run"),
    netns: node.netns,
    address: node.address,
    podRange: node.podRange,
    pluginFolder: "/usr/lib/cni",
    clock: systemClock,
  };
  const { signal } = new AbortController();
  const containerd = new NodeContainerd(options);
  try {
    await makeNetwork(network);
    await containerd.start(signal);
    const pid = containerd.pid();
    const again = new NodeContainerd(options);
    await again.start(signal);
    assert.equal(again.pid(), pid, "the one that runs is taken");
    assert.match(await again.ctr("images", "list", "--quiet"), new RegExp(pauseReference));
    // Where runc keeps what it knows is said to it by the kubelet's requests otherwise.
    const runcRoot = join(options.runFolder, "runc");
    await again.ctr("run", "--detach", "--net-host", "--runc-root", runcRoot, pauseReference, "held");
    assert.match(await again.ctr("tasks", "list"), /held\s+\d+\s+RUNNING/);
  } finally {
    await containerd.remove();
    await removeNetwork(network);
    rmSync(root, { recursive: true, force: true });
  }
  assert.deepEqual(traces(), before);
});
