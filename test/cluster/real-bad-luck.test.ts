// Bad input and bad luck on a real node: each pod says what is wrong with it, and the one beside them never notices.
import assert from "node:assert/strict";
import { globSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Pod } from "#api/core/v1/pod.ts";
import { findKubectls } from "../apiserver/kubectls.ts";
import { impossible } from "../machine/machine.ts";
import { Machine } from "./machine.ts";
import { containerOf, kill, patienceMs, RealCluster, untilNone } from "./real-cluster.ts";

const floodBytes = 50_000_000;
const mostLogBytes = 10 * 2 ** 20;

const busybox = "knarr.local/busybox:1.0";
const sleep = ["sleep", "3600"];
const sh = (script: string) => ["sh", "-c", script];
const data = { name: "data", mountPath: "/data" };

type Spec = Parameters<typeof podOf>[1];
const podOf = (name: string, spec: { readonly [field: string]: unknown }) => ({
  metadata: { namespace: "default", name },
  spec: { terminationGracePeriodSeconds: 1, ...spec },
});
const running = (command: readonly string[], more: object = {}): Spec => ({
  containers: [{ name: "main", image: busybox, command, ...more }],
});

const specs: Readonly<Record<string, Spec>> = {
  calm: running(sleep),
  unknown: running(sleep, { image: "knarr.local/unknown:1.0" }),
  command: running(["/no/such/program"]),
  crash: running(sh("echo all is lost; exit 3")),
  hungry: running(["tail", "/dev/zero"], { resources: { limits: { memory: "24Mi" } } }),
  flood: running(sh(`yes 'water, water, every where, nor any drop to drink' | head -c ${floodBytes}; sleep 3600`)),
  symlink: {
    initContainers: [
      { name: "plant", image: busybox, command: ["ln", "-s", "/etc", "/data/way-out"], volumeMounts: [data] },
    ],
    ...running(sleep, { volumeMounts: [{ ...data, subPath: "way-out" }] }),
    volumes: [{ name: "data", emptyDir: {} }],
  },
  port: running(sleep, { ports: [{ containerPort: 80, hostPort: 8099 }] }),
};

const machine = new Machine(findKubectls().at(-1)?.path);
let cluster: RealCluster;

before(async () => {
  if (impossible) return;
  cluster = await RealCluster.plan(machine, { label: "b", nodes: 1 });
  await cluster.up();
  await cluster.hasImages();
  for (const [name, spec] of Object.entries(specs)) await create(name, spec);
  await cluster.become("calm", ({ status }) => status.phase === "Running");
});

after(async () => {
  if (!impossible) await cluster[Symbol.asyncDispose]();
  await machine[Symbol.asyncDispose]();
});

const create = (name: string, spec: Spec) => cluster.withClient((client) => client.create(Pod, podOf(name, spec)));

const waitsFor = (pod: Pod) => containerOf(pod)?.state?.waiting?.reason;

/** Resolves when knarr says this of a pod that is stuck: one that is started again and again is not all the time. */
async function isSaid(name: string, what: RegExp): Promise<void> {
  await untilNone(patienceMs, async () => {
    const { code, out, err } = await machine.knarr("why", `pod/${name}`);
    return code === 3 && what.test(out) ? [] : [`${code}: ${out}${err}`];
  });
}

test("an image that does not exist is named", { skip: impossible }, async () => {
  const pod = await cluster.become("unknown", (pod) => waitsFor(pod) === "ImagePullBackOff");
  assert.match(containerOf(pod)?.state?.waiting?.message ?? "", /knarr\.local\/unknown:1\.0/);
  await isSaid("unknown", /image that cannot be pulled: knarr\.local\/unknown:1\.0/);
});

test("a program that does not exist is named", { skip: impossible }, async () => {
  const pod = await cluster.become("command", (pod) => containerOf(pod)?.lastState?.terminated);
  const { reason, exitCode, message } = containerOf(pod)?.lastState?.terminated ?? {};
  assert.deepEqual({ reason, exitCode }, { reason: "StartError", exitCode: 128 });
  assert.match(message ?? "", /\/no\/such\/program/);
  await isSaid("command", /\/no\/such\/program/);
});

test("a container that ends again and again is started ever more rarely, and its last words are shown", {
  skip: impossible,
}, async () => {
  const pod = await cluster.become(
    "crash",
    (pod) => waitsFor(pod) === "CrashLoopBackOff" && containerOf(pod)?.restartCount,
  );
  assert.equal(containerOf(pod)?.lastState?.terminated?.exitCode, 3);
  await isSaid("crash", /ended with exit code 3, and was restarted.*log of main: all is lost/s);
});

test("a container that takes more memory than it may is killed, and says so", { skip: impossible }, async () => {
  const pod = await cluster.become("hungry", (pod) => containerOf(pod)?.lastState?.terminated);
  assert.equal(containerOf(pod)?.lastState?.terminated?.reason, "OOMKilled");
  await isSaid("hungry", /used more memory than it may/);
});

test("a subPath that leads out of its volume is not mounted", { skip: impossible }, async () => {
  const pod = await cluster.become("symlink", (pod) => waitsFor(pod) === "CreateContainerConfigError");
  assert.match(containerOf(pod)?.state?.waiting?.message ?? "", /subPath/);
});

test("a port of the node that is taken is named", { skip: impossible }, async () => {
  await cluster.become("port", ({ status }) => status.phase === "Running");
  await create("port-again", specs.port ?? {});
  const pod = await cluster.become("port-again", ({ status }) =>
    status.conditions?.some(({ reason }) => reason === "Unschedulable"),
  );
  assert.match(pod.status.conditions?.[0]?.message ?? "", /didn't have free ports/);
  await isSaid("port-again", /use another hostPort, or none/);
});

test("a flood of log lines is cut into files", { skip: impossible }, async () => {
  await cluster.become("flood", ({ status }) => status.phase === "Running");
  const [node] = cluster.local.nodes;
  assert.ok(node);
  const files = () => globSync(join(node.folder, "**/default_flood_*/main/0.log*"));
  await untilNone(patienceMs, async () => {
    const sizes = files().map((file) => statSync(file).size);
    return sizes.length > 1 && statSync(files().toSorted()[0] ?? "").size <= mostLogBytes ? [] : [`sizes: ${sizes}`];
  });
  assert.match(await machine.kubectl("logs", "flood", "--tail=1", "--limit-bytes=1000"), /^$|water/);
});

test("containers outlive their containerd, and the node comes back", { skip: impossible }, async () => {
  const calm = await cluster.become("calm", ({ status }) => status.phase === "Running");
  const [pid, ...others] = cluster.programs("containerd");
  assert.deepEqual(others, []);
  await kill(pid ?? 0);
  await untilNone(patienceMs, async () =>
    cluster.programs("containerd").length === 1 ? [] : ["there is no containerd"],
  );
  await create("later", running(sleep));
  await cluster.become("later", ({ status }) => status.phase === "Running");
  const still = await cluster.become("calm", ({ status }) => status.phase === "Running");
  assert.equal(containerOf(still)?.containerID, containerOf(calm)?.containerID);
  assert.equal(await machine.kubectl("exec", "calm", "--", "echo", "well"), "well\n");
});

test("the pod beside them has not noticed", { skip: impossible }, async () => {
  const calm = await cluster.become("calm", ({ status }) => status.phase === "Running");
  assert.equal(containerOf(calm)?.restartCount, 0);
});
