// What a person does to a cluster of real nodes by mistake, or finds half dead: knarr says what to do, and leaves nothing.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { findKubectls } from "../apiserver/kubectls.ts";
import { image, TestContainerd } from "../kubelet/containerd.ts";
import { impossible } from "../machine/machine.ts";
import { Machine } from "./machine.ts";
import { kill, RealCluster } from "./real-cluster.ts";

const machine = new Machine(findKubectls().at(-1)?.path);
after(() => machine[Symbol.asyncDispose]());

interface Death {
  readonly title: string;
  readonly of: (cluster: RealCluster) => Promise<void>;
}

async function killBoth(cluster: RealCluster): Promise<void> {
  await kill(cluster.pid);
  for (const pid of cluster.programs("containerd")) await kill(pid);
}

const deaths: readonly Death[] = [
  { title: "its process and its containerds were killed", of: killBoth },
  {
    title: "its namespaces were deleted under it",
    async of({ local }) {
      for (const { netns } of local.network.nodes) execFileSync("ip", ["netns", "delete", netns]);
      execFileSync("ip", ["netns", "delete", local.network.switch]);
    },
  },
  {
    title: "its folder was removed",
    async of(cluster) {
      await kill(cluster.pid);
      rmSync(cluster.place.folder, { recursive: true, force: true });
    },
  },
  {
    title: "its folder was removed, and nothing of it runs",
    async of(cluster) {
      await killBoth(cluster);
      for (const pid of cluster.programs("containerd-shim-runc-v2")) await kill(pid);
      rmSync(cluster.place.folder, { recursive: true, force: true });
    },
  },
  {
    title: "its folder was removed in part",
    async of(cluster) {
      await kill(cluster.pid);
      for (const name of ["store", "pki"]) rmSync(join(cluster.place.folder, name), { recursive: true });
      for (const { folder } of cluster.local.nodes) rmSync(join(folder, "containerd.toml"));
    },
  },
];

test("a cluster that was killed is continued by knarr up, and no other takes its addresses", {
  skip: impossible,
}, async () => {
  await using cluster = await RealCluster.plan(machine, { label: "u", nodes: 1 });
  await using other = await RealCluster.plan(machine, { label: "v", nodes: 1 });
  await cluster.up();
  const { nodeRange } = cluster.local.network.options;
  const refused = await machine.knarr(...other.upArgs(`--node-range=${nodeRange}`));
  assert.equal(refused.code, 1);
  assert.match(refused.err, /--node-range/);
  assert.match(refused.err, new RegExp(cluster.name));
  await other.leftNothing();
  const elsewhere = await machine.ok("down", `--name=${cluster.name}`, `--data-dir=${machine.home}/elsewhere`);
  assert.match(elsewhere, /nothing to do/, "one of the same name in another folder is another cluster");
  const namesake = await machine.knarr(...cluster.upArgs(`--data-dir=${machine.home}/elsewhere`));
  assert.match(namesake.err, /there is a cluster .* in .*choose another --name, or end that one with/);
  assert.match(await machine.ok("status", `--name=${cluster.name}`), /1 of 1 ready/);
  await killBoth(cluster);
  assert.match(await cluster.up(), /1 node ready/);
});

for (const { title, of } of deaths)
  test(`a cluster goes without a trace when ${title}`, { skip: impossible }, async () => {
    await using cluster = await RealCluster.plan(machine, { label: "d", nodes: 1 });
    await cluster.up();
    await of(cluster);
    assert.match(await machine.ok("down", `--name=${cluster.name}`), /is gone/);
    await cluster.leftNothing();
  });

test("an interrupted start leaves nothing, and says so", { skip: impossible }, async () => {
  await using cluster = await RealCluster.plan(machine, { label: "i", nodes: 2 });
  for (const afterMs of [0, 300, 900, 1600, 2500]) {
    const starting = machine.start(...cluster.upArgs());
    let said = "";
    starting.stderr.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    await once(starting.stdout, "data"); // from here on it listens
    await pause(afterMs);
    const isOver = starting.exitCode !== null;
    for (const name of ["SIGINT", "SIGINT", "SIGTERM"] as const) starting.kill(name); // by someone impatient
    if (!isOver) await once(starting, "close");
    if (starting.exitCode === 0)
      await machine.ok("down", `--name=${cluster.name}`); // it was ready before
    else assert.match(said, /interrupted; nothing is left behind/, `after ${afterMs} ms`);
    await cluster.leftNothing();
    assert.equal(existsSync(cluster.place.folder), false);
  }
});

test("a containerd of somebody else's, and what runs in it, are left alone", { skip: impossible }, async () => {
  await using foreign = await TestContainerd.start();
  const ctr = (...args: readonly string[]) =>
    execFileSync("ctr", ["--address", `${foreign.folder}/containerd.sock`, "-n", "k8s.io", ...args], {
      encoding: "utf8",
    });
  ctr("run", "--detach", "--null-io", image, "theirs");
  const before = ctr("task", "list");
  assert.match(before, /^theirs +[0-9]+ +RUNNING$/m);
  try {
    await using cluster = await RealCluster.plan(machine, { label: "s", nodes: 1 });
    await cluster.up();
    await cluster.hasImages();
    await machine.kubectl("run", "ours", "--image=knarr.local/busybox:1.0", "--", "sleep", "3600");
    await cluster.become("ours", ({ status }) => status.phase === "Running");
    assert.equal(ctr("task", "list"), before);
    await kill(cluster.pid);
    await machine.ok("down", `--name=${cluster.name}`);
    await cluster.leftNothing();
    assert.equal(ctr("task", "list"), before);
  } finally {
    ctr("task", "delete", "--force", "theirs");
    ctr("container", "delete", "theirs");
  }
});

test("a port that is taken is named, with what to do", { skip: impossible }, async () => {
  await using cluster = await RealCluster.plan(machine, { label: "p", nodes: 1 });
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const { port } = taken.address() as { port: number };
  try {
    const refused = await machine.knarr(...cluster.upArgs(`--port=${port}`));
    assert.equal(refused.code, 1);
    assert.match(
      refused.err,
      new RegExp(`port ${port} is taken by another program; free it, or choose another with --port`),
    );
    await cluster.leftNothing();
  } finally {
    taken.close();
  }
});

const wrong: readonly (readonly [flag: string, said: RegExp])[] = [
  ["--nodes=0", /--nodes: a number from 1 to 100, not 0/],
  ["--nodes=many", /--nodes/],
  ["--runtime=docker", /--runtime: containerd or simulated, not "docker"/],
  ["--node-range=10.0.0.0/99", /--node-range: "10\.0\.0\.0\/99" is not a network/],
  ["--cluster-cidr=10.0.0.0/26", /--cluster-cidr: 10\.0\.0\.0\/26 has room for 0 nodes, not 1/],
  ["--name=UPPER", /--name: "UPPER"/],
  ["--timeout=soon", /timeout/],
  ["--port=70000", /--port: a number up to 65535, not 70000/],
  ["--sotre=memory", /--sotre/],
];
for (const [flag, said] of wrong)
  test(`up ${flag} is refused before anything is made`, async () => {
    const { code, err } = await machine.knarr("up", flag);
    assert.equal(code, 2, err);
    assert.match(err, said);
    assert.equal(existsSync(join(machine.clusters, "knarr")), false);
  });
