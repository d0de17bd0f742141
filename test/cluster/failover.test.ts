// Two controller managers and two schedulers over HTTPS. Whoever leads is killed or stopped in the middle of its work, again and again;
// there must never be a pod too many, and in the end not one too few.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Deployment } from "#api/apps/v1/deployment.ts";
import { StatefulSet } from "#api/apps/v1/stateful-set.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { systemClock } from "#base/clock.ts";
import { seededRandom } from "#base/random.ts";
import type { Client } from "#client/client.ts";
import { connectClient } from "#client/host/connect.ts";
import { ServerProcess } from "../apiserver/harness.ts";
import { Part } from "./part.ts";

/** In each round both leaders fall; in 25 in the soak. */
const rounds = Number(process.env.KNARR_ROUNDS ?? 10);
const replicas = 6;
const namespace = "default";
/** Short, so that another takes over soon; long enough that a busy machine does not depose leaders by itself all the time. */
const election = [
  "--leader-elect-lease-duration=2s",
  "--leader-elect-renew-deadline=1500ms",
  "--leader-elect-retry-period=200ms",
];

/** Two candidates for one office. Who ends is replaced: that is what supervisors are for. */
class Pair implements AsyncDisposable {
  readonly #start: () => Part;
  #parts: Part[];
  /** All that ever led, to be told apart from those who do. */
  readonly #fallen = new Set<Part>();

  constructor(start: () => Part) {
    this.#start = start;
    this.#parts = [start(), start()];
  }

  /** The one that leads now; waits until there is one. */
  async leader(): Promise<Part> {
    for (;;) {
      this.#parts = this.#parts.map((part) => (part.hasEnded ? this.#start() : part));
      const found = this.#parts.find((part) => !this.#fallen.has(part) && part.has(/"became leader"/));
      if (found) return found;
      await pause(20);
    }
  }

  /** Lets the leader fall, and the other take its place; a stopped one wakes up after that, and finds out. */
  async depose(how: "kill" | "stop"): Promise<void> {
    const leader = await this.leader();
    this.#fallen.add(leader);
    if (how === "kill") {
      await leader.end("SIGKILL");
      await this.leader();
      return;
    }
    leader.signal("SIGSTOP");
    await this.leader();
    leader.signal("SIGCONT");
    await leader.ended();
    assert.match(leader.log, /could not renew the lease/);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#parts.map((part) => part.end("SIGKILL")));
  }
}

/** Looks at every single event: what it must never see is remembered. */
class Witness {
  readonly wrong: string[] = [];
  readonly #pods = new Map<string, Pod>();

  async watch(client: Client, signal: AbortSignal): Promise<void> {
    for await (const events of await client.watch(Pod, { namespace, sendInitialEvents: true, signal }))
      for (const { type, object: pod } of events) {
        if (type === "BOOKMARK") continue;
        const { name } = pod.metadata;
        const before = this.#pods.get(name);
        if (before?.spec.nodeName && before.spec.nodeName !== pod.spec.nodeName) this.wrong.push(`${name} moved`);
        if (type === "DELETED" || pod.metadata.deletionTimestamp)
          this.wrong.push(`${name} was deleted, though nobody asked for less`);
        this.#pods.set(name, pod);
        const app = pod.metadata.labels?.app ?? "";
        if (this.of(app).length > replicas) this.wrong.push(`${app} has ${this.of(app).length} pods`);
      }
  }

  of(app: string): readonly Pod[] {
    return [...this.#pods.values()].filter(({ metadata }) => metadata.labels?.app === app);
  }
}

const template = (app: string) => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: "c", image: "nginx" }] },
});

async function makeNodes(client: Client): Promise<void> {
  for (const name of ["a", "b", "c"]) {
    const node = await client.create(Node, { metadata: { name } });
    const capacity = { cpu: "64", memory: "256Gi", pods: "1000" };
    const at = node.metadata.creationTimestamp;
    const ready = {
      type: "Ready",
      status: "True",
      reason: "KubeletReady",
      lastHeartbeatTime: at,
      lastTransitionTime: at,
    };
    await client.update(
      Node,
      { ...node, status: { ...node.status, capacity, allocatable: capacity, conditions: [ready] } },
      "status",
    );
    // Nobody watches over nodes here: they would stay tainted as not ready.
    await client.patch(Node, { name }, "merge", { spec: { taints: null } });
  }
}

test(`leaders fall ${2 * rounds} times in the middle of their work, and no pod is doubled or lost`, async () => {
  await using server = await ServerProcess.start();
  const stop = new AbortController();
  const { client, close } = await connectClient({
    explicit: server.kubeconfig,
    env: {},
    userAgent: "test/1",
    clock: systemClock,
    signal: stop.signal,
  });
  await makeNodes(client);
  await using managers = new Pair(
    () =>
      new Part(
        server,
        "controller-manager",
        "--secure-port=0",
        "--use-service-account-credentials",
        "--controllers=*,-node-lifecycle-controller",
        ...election,
      ),
  );
  await using schedulers = new Pair(() => new Part(server, "scheduler", "--secure-port=0", ...election));
  const witness = new Witness();
  const watching = witness.watch(client, stop.signal).catch((error: unknown) => {
    if (!stop.signal.aborted) throw error;
  });
  const random = seededRandom(7);
  const apps: string[] = [];
  await Promise.all([managers.leader(), schedulers.leader()]);
  for (let round = 0; round < rounds; round++) {
    const app = `web-${round}`;
    apps.push(app);
    const spec = { replicas, selector: { matchLabels: { app } }, template: template(app) };
    if (round % 3 === 2)
      await client.create(StatefulSet, {
        metadata: { name: app, namespace },
        spec: { ...spec, serviceName: app, podManagementPolicy: "Parallel" },
      });
    else await client.create(Deployment, { metadata: { name: app, namespace }, spec });
    await pause(random.below(60)); // some of the work is done by then
    await Promise.all([
      managers.depose(round % 2 === 0 ? "kill" : "stop"),
      schedulers.depose(round % 2 === 0 ? "stop" : "kill"),
    ]);
  }
  const isDone = () => apps.every((app) => witness.of(app).filter(({ spec }) => spec.nodeName).length === replicas);
  for (let waited = 0; !isDone() && waited < 120_000; waited += 50) await pause(50);
  stop.abort(new Error("over"));
  await watching;
  close();
  assert.deepEqual(witness.wrong, []);
  assert.deepEqual(
    apps.filter((app) => witness.of(app).filter(({ spec }) => spec.nodeName).length !== replicas),
    [],
    "every pod is there, and has a node",
  );
});
