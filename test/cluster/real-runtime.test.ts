// Container runtimes that are slow or dead, and pods that fork without end: their nodes say so, and nobody else notices.
import assert from "node:assert/strict";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { standStill } from "#base/testing/stand-still.ts";
import { processes } from "#cluster/machine/processes.ts";
import { findKubectls } from "../apiserver/kubectls.ts";
import { impossible } from "../machine/machine.ts";
import { Machine } from "./machine.ts";
import { containerOf, kill, patienceMs, RealCluster, untilNone } from "./real-cluster.ts";

const mostPids = 40;
const down = "container runtime is down";
const sleep = ["sleep", "3600"];
const names = ["node-1", "node-2", "node-3"] as const;

const machine = new Machine(findKubectls().at(-1)?.path);
let cluster: RealCluster;

before(async () => {
  if (impossible) return;
  cluster = await RealCluster.plan(machine, { label: "r", nodes: names.length });
  await cluster.up(`--pod-max-pids=${mostPids}`);
  await cluster.hasImages();
  for (const name of names) await create(`calm-${name}`, name, sleep);
  for (const name of names) await cluster.become(`calm-${name}`, ({ status }) => status.phase === "Running");
});

after(async () => {
  if (!impossible) await cluster[Symbol.asyncDispose]();
  await machine[Symbol.asyncDispose]();
});

const create = (name: string, nodeName: string, command: readonly string[]) =>
  cluster.withClient((client) =>
    client.create(Pod, {
      metadata: { namespace: "default", name },
      spec: {
        nodeName,
        terminationGracePeriodSeconds: 1,
        containers: [{ name: "main", image: "knarr.local/busybox:1.0", command: [...command] }],
      },
    }),
  );

const status = () => machine.ok("status", `--name=${cluster.name}`);

const untilReady = (name: string, isReady: "True" | "False") =>
  untilNone(patienceMs, async () => {
    const node = await cluster.withClient((client) => client.get(Node, { name }));
    const ready = node.status.conditions?.find(({ type }) => type === "Ready");
    return ready?.status === isReady ? [] : [`${name}: ${JSON.stringify(ready)}`];
  });

/** The containerd of a node, and where it keeps its things. */
function runtimeOf(name: string) {
  const { folder } = cluster.local.nodes.find((one) => one.name === name) ?? assert.fail(name);
  const isIts = (args: readonly string[]) =>
    args[0]?.endsWith("containerd") && args.includes(`${folder}/containerd.toml`);
  return { root: join(folder, "containerd"), pid: () => processes().find(({ args }) => isIts(args))?.pid ?? 0 };
}

test("a runtime that stands still, and one that is dead, make their nodes unready and harm no pod and no other node", {
  skip: impossible,
}, async () => {
  const before = await cluster.pods();
  const [slow, dead] = [runtimeOf("node-1"), runtimeOf("node-2")];
  const slowPid = slow.pid();
  await standStill(slowPid);
  try {
    renameSync(dead.root, `${dead.root}.away`);
    writeFileSync(dead.root, ""); // so that it cannot be started again
    await kill(dead.pid());

    for (const name of ["node-1", "node-2"]) await untilReady(name, "False");
    const said = await status();
    assert.match(said, /^nodes +1 of 3 ready$/m);
    for (const name of ["node-1", "node-2"]) {
      assert.match(said, new RegExp(`^${name} +not ready: ${down}$`, "m"));
      const { out } = await machine.knarr("why", `node/${name}`);
      assert.match(out, new RegExp(`^Node ${name} is not ready: ${down}; 1 pod `));
      assert.match(out, /see that the container runtime of the node runs and answers/);
    }
    await create("elsewhere", "node-3", sleep);
    await cluster.become("elsewhere", ({ status: { phase } }) => phase === "Running");
    assert.equal(await machine.kubectl("exec", "calm-node-3", "--", "echo", "well"), "well\n");
  } finally {
    process.kill(slowPid, "SIGCONT");
    rmSync(dead.root, { force: true });
    renameSync(`${dead.root}.away`, dead.root);
  }
  for (const name of ["node-1", "node-2"]) {
    await untilReady(name, "True");
    await create(`next-${name}`, name, sleep);
    await cluster.become(`next-${name}`, ({ status: { phase } }) => phase === "Running");
    assert.equal(await machine.kubectl("exec", `calm-${name}`, "--", "echo", "well"), "well\n");
  }
  for (const { metadata, ...pod } of before) {
    const now = await cluster.become(metadata.name ?? "", ({ status: { phase } }) => phase === "Running");
    const ids = [containerOf(now)?.containerID, containerOf(now)?.restartCount];
    assert.deepEqual(ids, [containerOf({ metadata, ...pod })?.containerID, 0], metadata.name);
  }
});

test("a fork bomb goes off in its pod, and harms nobody else", { skip: impossible }, async () => {
  await create("bomb", "node-3", ["sh", "-c", "b() { b | b & }; while :; do b; done"]);
  await untilNone(patienceMs, async () => {
    const log = await machine.run("kubectl", ["logs", "bomb", "--tail=5"]);
    return /can't fork/.test(log.out) ? [] : [`${log.out}${log.err}`];
  });
  await create("after", "node-3", sleep);
  await cluster.become("after", ({ status: { phase } }) => phase === "Running");
  assert.equal(await machine.kubectl("exec", "calm-node-3", "--", "echo", "well"), "well\n");
  await machine.kubectl("delete", "pod", "bomb");
  assert.match(await status(), /^nodes +3 of 3 ready$/m);
});

test("nothing is left of it", { skip: impossible }, async () => {
  await machine.ok("down", `--name=${cluster.name}`);
  await cluster.leftNothing();
});
