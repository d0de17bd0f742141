// A real containerd in each node: it comes and goes, alone or by force, and whatever state it is in nothing is left of it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { silentLog } from "#base/log.ts";
import { standStill } from "#base/testing/stand-still.ts";
import { pauseReference } from "#cluster/images/pause.ts";
import { networkAt, processes } from "#cluster/machine/processes.ts";
import { makeNetwork } from "#network/host/local-network.ts";
import { Peer } from "../network/peer.ts";
import { at, impossible, TestMachine, type TestPod } from "./machine.ts";

const { signal } = new AbortController();
const shimsOf = (pod: TestPod) => processes().filter(({ args }) => args.includes(pod.id));
const kill = (pid: number | undefined) => pid !== undefined && process.kill(pid, "SIGKILL");

test("a node's containerd starts, is found again, and has the image of sandboxes", { skip: impossible }, async () => {
  await using machine = await TestMachine.make("a", 1);
  const containerd = at(machine.nodes, 0);
  const mask = process.umask(0o077);
  try {
    await containerd.start(signal);
  } finally {
    process.umask(mask);
  }
  const pid = containerd.pid();
  assert.match(readFileSync(`/proc/${pid}/status`, "utf8"), /^Umask:\s+0022$/m, "whatever ours is");
  const again = machine.again(0);
  await again.start(signal);
  assert.ok(pid !== undefined);
  assert.equal(again.pid(), pid, "the one that runs is taken");
  assert.match(await again.ctr("images", "list", "--quiet"), new RegExp(pauseReference));
});

interface Damage {
  readonly title: string;
  readonly done: (machine: TestMachine, pod: TestPod) => Promise<void> | void;
}

const damages: readonly Damage[] = [
  { title: "is whole", done: () => undefined },
  {
    title: "has lost its shims",
    done: (_, pod) => {
      for (const { pid } of shimsOf(pod)) kill(pid);
    },
  },
  { title: "has lost containerd", done: (machine) => kill(at(machine.nodes, 0).pid()) },
  {
    title: "has lost both",
    done(machine, pod) {
      kill(at(machine.nodes, 0).pid());
      for (const { pid } of shimsOf(pod)) kill(pid);
    },
  },
  {
    title: "has lost what shims know",
    done(machine, pod) {
      for (const { pid } of shimsOf(pod)) kill(pid);
      rmSync(`${machine.bundles(0)}/${pod.id}/config.json`);
    },
  },
  {
    title: "has lost its data",
    done: (machine) => rmSync(`${machine.root}/n0/containerd/io.containerd.metadata.v1.bolt`, { recursive: true }),
  },
  {
    title: "has lost its namespace",
    done: (machine) => execFileSync("ip", ["netns", "delete", at(machine.network.nodes, 0).netns]),
  },
  {
    title: "stands still",
    async done(machine, pod) {
      for (const { pid } of shimsOf(pod)) await standStill(pid);
      const pid = at(machine.nodes, 0).pid();
      assert.ok(pid !== undefined);
      await standStill(pid);
    },
  },
];

for (const { title, done } of damages)
  test(`a node that ${title} goes without a trace`, { skip: impossible }, async () => {
    const found: TestPod[] = [];
    let machine: TestMachine | undefined;
    try {
      machine = await TestMachine.make("b", 1);
      await at(machine.nodes, 0).start(signal);
      const pod = await machine.runPod(0);
      found.push(pod);
      assert.ok(existsSync(pod.shimSocket));
      const seen = (await machine.traces()).map((line) => /^new in ([\w ]+):/.exec(line)?.[1]);
      for (const kind of ["processes", "namespaces", "mounts", "links", "routes", "cgroups", "files"])
        assert.ok(seen.includes(kind), `${kind} are seen`);
      await done(machine, pod);
    } finally {
      await machine?.[Symbol.asyncDispose]();
    }
    assert.deepEqual(await machine.traces(), []);
    for (const { id, pid, shimSocket } of found) {
      assert.equal(existsSync(shimSocket), false, "the shim's socket");
      assert.equal(
        processes().some((one) => one.pid === pid),
        false,
        "the pod's process",
      );
      assert.deepEqual(
        readdirSync("/var/lib/cni/results").filter((name) => name.includes(id)),
        [],
      );
    }
  });

test("containerd is started again when it dies, and its pods go on", { skip: impossible }, async () => {
  await using machine = await TestMachine.make("c", 1);
  const containerd = at(machine.nodes, 0);
  const stop = new AbortController();
  await containerd.start(signal);
  const kept = containerd.keepRunning(silentLog, stop.signal).catch((error: unknown) => error);
  const pod = await machine.runPod(0);
  try {
    for (let times = 0; times < 2; times++) {
      const before = containerd.pid();
      kill(before);
      while (containerd.pid() === undefined || containerd.pid() === before) await pause(20);
      await containerd.start(signal);
      assert.deepEqual(await machine.pods(0), [pod.id]);
      assert.ok(
        processes().some(({ pid }) => pid === pod.pid),
        "the pod's process is the same",
      );
    }
  } finally {
    stop.abort(new Error("over"));
    await kept;
  }
});

test("a containerd that stands still is replaced, and its pods go on", { skip: impossible }, async () => {
  await using machine = await TestMachine.make("f", 1);
  const containerd = at(machine.nodes, 0);
  await containerd.start(signal);
  const pod = await machine.runPod(0);
  const before = containerd.pid();
  assert.ok(before !== undefined);
  await standStill(before);
  await machine.again(0).start(signal);
  assert.notEqual(containerd.pid(), before);
  assert.deepEqual(await machine.pods(0), [pod.id]);
});

test("containerd moves to the namespace that its node has now", { skip: impossible }, async () => {
  await using machine = await TestMachine.make("d", 1);
  const containerd = at(machine.nodes, 0);
  const { netns } = at(machine.network.nodes, 0);
  await containerd.start(signal);
  const before = containerd.pid();
  const pod = await machine.runPod(0);
  execFileSync("ip", ["netns", "delete", netns]);
  await assert.rejects(containerd.start(signal), /containerd of .* does not answer: nsenter: .*No such file/);
  await makeNetwork(machine.network);
  await containerd.start(signal);
  assert.notEqual(containerd.pid(), before);
  assert.equal(networkAt(`/proc/${containerd.pid()}/ns/net`), networkAt(`/run/netns/${netns}`));
  assert.equal(
    processes().some(({ pid }) => pid === pod.pid),
    false,
    "a pod that nobody can reach does not run",
  );
  assert.deepEqual(await machine.pods(0), []);
  const { address } = await machine.runPod(0);
  assert.match(address, /^10\./);
});

test("pods of two nodes reach each other, the host reaches them, and each sees the other's own address", {
  skip: impossible,
}, async () => {
  await using machine = await TestMachine.make("e", 2);
  await Promise.all(machine.nodes.map((node) => node.start(signal)));
  const pods = [await machine.runPod(0), await machine.runPod(0), await machine.runPod(1)] as const;
  await using stack = new AsyncDisposableStack();
  const peers: Peer[] = [];
  for (const { id, pid } of pods) peers.push(stack.use(await Peer.start(id, `/proc/${pid}/ns/net`)));
  const host = stack.use(await Peer.start("host", undefined, 20_000 + (process.pid % 10_000)));
  for (const [i, from] of pods.entries())
    for (const to of pods)
      assert.equal(await at(peers, i).ask(to.address), `${to.id} ${from.address}`, `${i} to ${to.address}`);
  const { hostAddress, nodes } = machine.network;
  for (const [i, { id, address }] of pods.entries()) {
    assert.equal(await host.ask(address), `${id} ${hostAddress}`);
    assert.equal(await at(peers, i).ask(hostAddress, 20_000 + (process.pid % 10_000)), `host ${address}`);
  }
  // Whoever is on a node, such as a probe, reaches its pods by the node's own address of their network.
  const node = stack.use(await Peer.start("node", `/run/netns/${at(nodes, 0).netns}`, 8081));
  assert.match(await node.ask(pods[0].address), new RegExp(`^${pods[0].id} 10\\.`));
  assert.equal(await at(peers, 0).ask("203.0.113.1"), "ENETUNREACH", "out of the machine");
});
