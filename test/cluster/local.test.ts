// A cluster on this machine from `up` to `down`, as a person lives with it.
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { findKubectls } from "../apiserver/kubectls.ts";
import { Machine } from "./machine.ts";

const kubectl = findKubectls().at(-1)?.path;
const skip = kubectl === undefined ? "there is no kubectl" : false;

test("a cluster comes up, does its work, keeps its state over a stop, and leaves nothing", { skip }, async () => {
  await using machine = new Machine(kubectl);
  const first = await machine.ok("up", "--runtime=simulated", "--nodes=2", "--port=0");
  assert.match(first, /^API served at https:\/\/127\.0\.0\.1:\d+ \([\d.]+ s\)$/m);
  assert.match(first, /knarr status/);
  assert.equal(statSync(machine.kubeconfig).mode & 0o777, 0o600);

  assert.match(await machine.ok("up"), /^Cluster "knarr" is running already\.$/m);
  const other = await machine.knarr("up", "--nodes=3");
  assert.equal(other.code, 2);
  assert.match(other.err, /--nodes is 2, not 3\. Run "knarr stop" first/);

  assert.match(await machine.kubectl("get", "nodes"), /^sim-0 +Ready .*\nsim-1 +Ready /m);

  await machine.kubectl("create", "deployment", "web", "--image=nginx", "--replicas=2");
  await machine.kubectl("rollout", "status", "deployment/web", "--timeout=60s");
  await machine.kubectl("scale", "deployment", "web", "--replicas=5");
  await machine.kubectl("rollout", "status", "deployment/web", "--timeout=60s");

  const status = await machine.ok("status");
  assert.match(status, /^cluster +knarr \(running, up \d+s\)$/m);
  for (const line of [
    /^nodes +2 of 2 ready$/m,
    /^pods +5 Running$/m,
    /^controller-manager +healthy$/m,
    /^scheduler +healthy$/m,
  ])
    assert.match(status, line);
  assert.equal((JSON.parse(await machine.ok("status", "-o", "json")) as { state: string }).state, "running");
  assert.match(await machine.ok("logs", "cluster"), / cluster ready url=/);
  assert.equal(await machine.ok("logs", "--tail=0"), "");
  const kubeconfig = JSON.parse(await machine.ok("kubeconfig")) as { "current-context": string };
  assert.equal(kubeconfig["current-context"], "knarr-knarr");

  assert.equal(await machine.ok("stop"), 'Cluster "knarr" is stopped.\n');
  assert.match(await machine.ok("status"), /^cluster +knarr \(stopped\)$/m);
  const unanswered = await machine.knarr("why", "deploy/web");
  assert.match(unanswered.err, /^knarr: nobody answers at \S+; "knarr status" says .*, "knarr start" starts it\n$/);
  assert.equal(await machine.ok("stop"), 'Cluster "knarr" was not running.\n');
  await machine.ok("start");
  await machine.kubectl("rollout", "status", "deployment/web", "--timeout=60s");
  assert.match(await machine.ok("status"), /^pods +5 Running$/m);

  assert.equal(await machine.ok("down"), 'Cluster "knarr" is gone.\n');
  assert.deepEqual(readdirSync(machine.clusters), []);
  assert.doesNotMatch(readFileSync(machine.kubeconfig, "utf8"), /knarr/);
  assert.match(await machine.ok("down"), /^There is no cluster "knarr"/);
  assert.equal((await machine.knarr("status")).code, 1);
});

test("an interrupted start leaves nothing", async () => {
  await using machine = new Machine(kubectl);
  const starting = machine.start("up", "--runtime=simulated", "--port=0");
  const [said] = (await once(starting.stdout.setEncoding("utf8"), "data")) as [string];
  assert.match(said, /^Starting cluster "knarr"; its nodes are simulated/);
  starting.kill("SIGINT");
  const [code] = (await once(starting, "exit")) as [number];
  assert.equal(code, 1);
  assert.equal(existsSync(machine.kubeconfig), false);
  assert.deepEqual(existsSync(machine.clusters) ? readdirSync(machine.clusters) : [], []);
});

test("a cluster in the foreground goes when it is told to, and can be continued", async () => {
  await using machine = new Machine(kubectl);
  const running = machine.start("up", "--foreground", "--runtime=simulated", "--port=0");
  let said = "";
  for await (const text of running.stdout.setEncoding("utf8")) {
    said += text;
    if (/knarr down/.test(said)) running.kill("SIGINT");
  }
  await once(running, "exit");
  assert.match(await machine.ok("status"), /\(stopped\)/);
});

test("of two who start a cluster at once one does, and the other takes nothing from it", async () => {
  await using machine = new Machine(kubectl);
  const both = await Promise.all([
    machine.knarr("up", "--runtime=simulated", "--port=0"),
    machine.knarr("up", "--runtime=simulated", "--port=0"),
  ]);
  assert.ok(both.some(({ code }) => code === 0));
  for (const { code, err } of both) if (code !== 0) assert.match(err, /is being started already|is held by process/);
  assert.match(await machine.ok("status"), /\(running, /);
});

test("a cluster whose process was killed is stopped, and starts again", async () => {
  await using machine = new Machine(kubectl);
  await machine.ok("up", "--runtime=simulated", "--port=0");
  const { pid } = JSON.parse(await machine.ok("status", "-o=json")) as { readonly pid: number };
  process.kill(pid, "SIGKILL");
  while (existsSync(`/proc/${pid}`)) await new Promise((resolve) => setImmediate(resolve));
  assert.match(await machine.ok("status"), /^cluster +knarr \(stopped\)$/m);
  await machine.ok("start");
  assert.match(await machine.ok("status"), /^nodes +1 of 1 ready$/m);
});

test("a kubeconfig that cannot be changed is told of, and costs nothing but itself", async () => {
  await using machine = new Machine(kubectl);
  writeFileSync(join(machine.home, "file"), "");
  const { code, err } = await machine.knarr(
    "up",
    "--runtime=simulated",
    "--port=0",
    `--kubeconfig=${machine.home}/file/config`,
  );
  assert.equal(code, 1);
  assert.match(err, /the cluster runs, but no kubeconfig knows it; .*\/file/);
  assert.match(await machine.ok("status"), /\(running, /);
});

test("a cluster in memory leaves nothing when it ends in the foreground, and is not stopped by mistake", async () => {
  await using machine = new Machine(kubectl);
  const running = machine.start("up", "--foreground", "--store=memory", "--runtime=simulated", "--port=0");
  let said = "";
  for await (const text of running.stdout.setEncoding("utf8")) {
    said += text;
    if (!/knarr down/.test(said)) continue;
    const stop = await machine.knarr("stop");
    assert.equal(stop.code, 1);
    assert.match(stop.err, /keeps its state in memory, which would be lost/);
    running.kill("SIGINT");
  }
  await once(running, "exit");
  assert.deepEqual(readdirSync(machine.clusters), []);
  assert.doesNotMatch(readFileSync(machine.kubeconfig, "utf8"), /knarr/);
});

test("a cluster starts even if nobody reads on what is said of it", async () => {
  await using machine = new Machine(kubectl);
  const starting = machine.start("up", "--runtime=simulated", "--port=0");
  await once(starting.stdout, "data");
  starting.stdout.destroy();
  const [code] = (await once(starting, "exit")) as [number];
  assert.equal(code, 0);
  assert.match(await machine.ok("status"), /\(running, /);
});
