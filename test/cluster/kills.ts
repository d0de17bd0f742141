// Kills of a cluster's process at moments of no choice, and cycles from nothing to nothing. The suite does a few, the soak many.
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { Deployment } from "#api/apps/v1/deployment.ts";
import { seededRandom } from "#base/random.ts";
import { findKubectls } from "../apiserver/kubectls.ts";
import { Churn } from "./churn.ts";
import { Machine } from "./machine.ts";
import { kill, RealCluster, untilNone } from "./real-cluster.ts";

const kubectl = findKubectls().at(-1)?.path;
/** For a machine that does much else at once. */
const patienceMs = 300_000;
const mostMs = 2500;
const changesEach = 3;
const calmEach = 4;

/** Returns what to say of it. */
export async function killMany(times: number, seed: number): Promise<string> {
  const random = seededRandom(seed);
  await using machine = new Machine(kubectl);
  await using cluster = await RealCluster.plan(machine, { label: "k", nodes: 2 });
  await cluster.up();
  await cluster.hasImages();
  const churn = new Churn(cluster, random);
  await churn.begin();
  await untilNone(patienceMs, () => cluster.disagreements());
  await churn.remember();
  const done = () =>
    untilNone(patienceMs, async () => [...(await cluster.disagreements()), ...(await churn.unfinished())]);
  for (let i = 0; i < times; i++) {
    await churn.changes(changesEach);
    const more = churn.changes(changesEach);
    await pause(random.below(mostMs));
    await kill(cluster.pid);
    await more;
    // Some are killed again while nodes still look at what they find.
    await cluster.machine.ok("start", `--name=${cluster.name}`, "--timeout=5m", `--wait=${random.below(4) > 0}`);
    if (i % calmEach === calmEach - 1) await done(); // so that what comes next meets pods of every age
  }
  await done();
  assert.deepEqual(await churn.disturbances(), []);
  await cluster.machine.ok("down", `--name=${cluster.name}`);
  await cluster.leftNothing();
  return `${times} kills, ${churn.done} changes, seed ${seed}`;
}

const victims = ["shim", "knarr", "containerd"] as const;

/** From nothing to a cluster whose processes die, and back to nothing. */
export async function cycleMany(times: number, seed: number): Promise<string> {
  const random = seededRandom(seed);
  const killed: string[] = [];
  await using machine = new Machine(kubectl);
  for (let i = 0; i < times; i++) {
    await using cluster = await RealCluster.plan(machine, { label: "c", nodes: 2 });
    await cluster.up();
    await cluster.hasImages();
    const agree = () => untilNone(patienceMs, () => cluster.disagreements());
    await cluster.withClient((client) => client.create(Deployment, web));
    await untilNone(patienceMs, async () => ((await cluster.pods()).length === 3 ? [] : ["there are no pods yet"]));
    await agree();
    const victim = victims[i % victims.length] ?? "knarr";
    killed.push(victim);
    if (victim === "knarr") {
      await kill(cluster.pid);
      await machine.ok("start", `--name=${cluster.name}`, "--timeout=5m");
    } else {
      const found = cluster.programs(victim === "shim" ? "containerd-shim-runc-v2" : "containerd");
      await kill(found[random.below(found.length)] ?? 0);
    }
    await agree();
    await machine.ok("down", `--name=${cluster.name}`);
    await cluster.leftNothing();
  }
  return `${times} cycles, killed ${killed.join(", ")}, seed ${seed}`;
}

const web = {
  metadata: { namespace: "default", name: "web" },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: "web" } },
    template: {
      metadata: { labels: { app: "web" } },
      spec: { containers: [{ name: "nginx", image: "knarr.local/nginx:1.0" }] },
    },
  },
};
