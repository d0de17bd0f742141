// A control plane of static pods on real containers: what kubectl sees of it, what editing and killing do, and what is left at the end.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Pod } from "#api/core/v1/pod.ts";
import { manifestFolder } from "#cluster/control-plane/control-plane-pods.ts";
import { processes } from "#cluster/machine/processes.ts";
import { isReady } from "#rules/conditions.ts";
import { noEtcd } from "#store/testing/etcd.ts";
import { impossible } from "../machine/machine.ts";
import { Machine } from "./machine.ts";
import { containerOf, kill, patienceMs, RealCluster, untilNone } from "./real-cluster.ts";

const namespace = "kube-system";
const parts = ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"];

/** The containers of the control plane, by part, once each mirror pod is ready. */
async function containersOf(cluster: RealCluster): Promise<Readonly<Record<string, string>>> {
  const found = new Map<string, string>();
  for (const part of parts) {
    const pod = await cluster.become(`${part}-node-1`, isReady, namespace);
    found.set(part, containerOf(pod, part)?.containerID ?? "");
  }
  return Object.fromEntries(found);
}

/** The process of a part in a pod of this cluster. */
function processOf(cluster: RealCluster, part: string): number {
  const isOurs = (pid: number) => readFileSync(`/proc/${pid}/cgroup`, "utf8").includes(`/${cluster.name}/`);
  const found = processes().filter(({ pid, args }) => args.some((arg) => arg.endsWith(`/bin/${part}`)) && isOurs(pid));
  assert.equal(found.length, 1, `${part} runs once`);
  return found[0]?.pid ?? 0;
}

const replicasReady = (cluster: RealCluster, count: number) =>
  untilNone(patienceMs, async () => {
    const ready = (await cluster.pods()).filter(isReady);
    return ready.length === count ? [] : [`${ready.length} of ${count} pods are ready`];
  });

test("a control plane runs as static pods", { skip: impossible || noEtcd }, async () => {
  await using machine = new Machine();
  await using cluster = await RealCluster.plan(machine, { label: "y", nodes: 1 });
  const [node] = cluster.local.nodes;
  assert.ok(node);
  await cluster.up("--control-plane=pods", "--ha");
  const shown = await machine.kubectl("get", "pods", "--namespace", namespace, "--no-headers");
  for (const part of parts) assert.match(shown, new RegExp(`^${part}-node-1 +1/1 +Running +0 `, "m"));
  const first = await containersOf(cluster);

  await machine.kubectl("create", "deployment", "web", "--image=knarr.local/nginx:1.0", "--replicas=2");
  await replicasReady(cluster, 2);

  // A manifest that is edited is another pod, and the others stay as they are.
  const manifest = join(manifestFolder(node), "kube-scheduler.yaml");
  writeFileSync(manifest, readFileSync(manifest, "utf8").replace("--leader-elect=true", "--leader-elect=false"));
  const scheduler = "kube-scheduler";
  const isEdited = (pod: Pod) =>
    isReady(pod) && pod.spec.containers[0]?.command?.includes("--leader-elect=false") === true;
  await cluster.become(`${scheduler}-node-1`, isEdited, namespace);
  const second = await containersOf(cluster);
  assert.notEqual(second[scheduler], first[scheduler]);
  assert.deepEqual({ ...second, [scheduler]: "" }, { ...first, [scheduler]: "" });

  // What is killed is started again by the kubelet, and works.
  const manager = "kube-controller-manager";
  await kill(processOf(cluster, manager));
  const isHealed = (pod: Pod) => isReady(pod) && containerOf(pod, manager)?.restartCount === 1;
  await cluster.become(`${manager}-node-1`, isHealed, namespace);
  await machine.kubectl("scale", "deployment", "web", "--replicas=3");
  await replicasReady(cluster, 3);
  const third = await containersOf(cluster);
  assert.deepEqual({ ...third, [manager]: "" }, { ...second, [manager]: "" });

  await cluster.knarr("stop");
  assert.equal(cluster.programs("containerd-shim-runc-v2").length, 0);
  assert.equal((await cluster.knarr("start", "--timeout=5m")).code, 0);
  await replicasReady(cluster, 3);
  assert.match(readFileSync(manifest, "utf8"), /--leader-elect=false/, "what was edited stays");

  const down = await cluster.knarr("down");
  assert.equal(down.code, 0, down.err);
  await cluster.leftNothing();
});
