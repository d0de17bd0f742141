// An autoscaler on real load: a burner of processor time grows to five replicas and shrinks to one again when the load is over, by the
// autoscaler's defaults, and what the metrics API tells of it is what its control group counts.
import assert from "node:assert/strict";
import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Deployment } from "#api/apps/v1/deployment.ts";
import { HorizontalPodAutoscaler } from "#api/autoscaling/v2/horizontal-pod-autoscaler.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { PodMetrics } from "#api/metrics/v1beta1/pod-metrics.ts";
import { systemClock } from "#base/clock.ts";
import type { Client } from "#client/client.ts";
import { parseQuantity, quantityToNumber } from "#schema/quantity.ts";
import { millisOf } from "#schema/time.ts";
import { findKubectls } from "../apiserver/kubectls.ts";
import { impossible } from "../machine/machine.ts";
import { Machine } from "./machine.ts";
import { patienceMs, RealCluster, untilNone } from "./real-cluster.ts";

const namespace = "default";
const labels = { app: "burner" };
const most = 5;
const machine = new Machine(findKubectls().at(-1)?.path);
/** Every replica burns until there is a file `over` in it, so that a slow machine has as much time as it needs. */
const load = join(machine.home, "load");
let cluster: RealCluster;

before(async () => {
  if (impossible) return;
  cluster = await RealCluster.plan(machine, { label: "h", nodes: 1 });
  await cluster.up();
  await cluster.hasImages();
});

after(async () => {
  if (!impossible) await cluster[Symbol.asyncDispose]();
  await machine[Symbol.asyncDispose]();
});

/** A client for one request: it lasts half a minute. */
const ask = <T>(use: (client: Client) => Promise<T>): Promise<T> => cluster.withClient(use);

async function until<T>(look: () => Promise<T | undefined>, what: string): Promise<T> {
  const end = systemClock.elapsed() + 900_000;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (systemClock.elapsed() > end) throw new Error(`it did not come to that: ${what}`);
    await pause(500);
  }
}

const burner = {
  metadata: { namespace, name: "burner" },
  spec: {
    replicas: 1,
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [
          {
            name: "main",
            image: "knarr.local/busybox:1.0",
            command: ["sh", "-c", "while [ ! -e /load/over ]; do :; done; sleep 36000"],
            resources: { requests: { cpu: "50m" }, limits: { cpu: "100m" } },
            volumeMounts: [{ name: "load", mountPath: "/load" }],
          },
        ],
        volumes: [{ name: "load", hostPath: { path: load } }],
      },
    },
  },
};
const autoscaler = {
  metadata: { namespace, name: "burner" },
  spec: {
    scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "burner" },
    maxReplicas: most,
    metrics: [{ type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } } }],
  },
};

/** Reads the seconds of processor time that the control group of a pod has counted, of either version. */
function counterOf(uid: string): () => number {
  const [first] = globSync(`/sys/fs/cgroup/cpuacct/**/*${uid}*/cpuacct.usage`);
  if (first !== undefined) return () => Number(readFileSync(first, "utf8")) / 1e9;
  const [second] = globSync(`/sys/fs/cgroup/**/*${uid}*/cpu.stat`);
  assert.ok(second, `no control group of ${uid}`);
  return () => Number(/usage_usec (\d+)/.exec(readFileSync(second, "utf8"))?.[1]) / 1e6;
}

/** Samples a counter until it is disposed of. */
class Sampling implements AsyncDisposable {
  readonly #samples: (readonly [number, number])[] = [];
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;

  constructor(counted: () => number) {
    this.#done = this.#run(counted);
  }

  async #run(counted: () => number): Promise<void> {
    while (!this.#stop.signal.aborted) {
      this.#samples.push([Date.now(), counted()]);
      await pause(50);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }

  /** The count at a time, on a line between the samples around it. */
  #at(time: number): number {
    const next = this.#samples.findIndex(([sampled]) => sampled >= time);
    const [from, to] = [this.#samples[next - 1], this.#samples[next]];
    assert.ok(from && to, "a time that was not sampled");
    return from[1] + ((to[1] - from[1]) * (time - from[0])) / (to[0] - from[0]);
  }

  /** What was counted each second in the windows that end within the second after a time: it is told in whole seconds. */
  rates(time: number, windowMs: number): readonly number[] {
    const ends = Array.from({ length: 101 }, (_, i) => time + i * 10);
    return ends.map((end) => ((this.#at(end) - this.#at(end - windowMs)) * 1000) / windowMs);
  }
}

/** What was told of a pod, and what its group counted between the same two measurements, the nearest of what it can have been. */
async function compared({ metadata }: Pod): Promise<readonly [number, number]> {
  await using sampling = new Sampling(counterOf(metadata.uid));
  const began = Date.now();
  // A window of which both ends lie within what is sampled here.
  const { found, ms } = await until(async () => {
    const metrics = await ask((client) => client.find(PodMetrics, metadata));
    const windowMs = metrics && Number.parseFloat(metrics.window) * 1000;
    const isSampled = metrics && windowMs && millisOf(metrics.timestamp) - windowMs > began + 1000;
    return isSampled && Date.now() > millisOf(metrics.timestamp) + 2000 ? { found: metrics, ms: windowMs } : undefined;
  }, "a window that began after the sampling");
  const told = quantityToNumber(parseQuantity(found.containers[0]?.usage.cpu ?? "0"));
  const rates = sampling.rates(millisOf(found.timestamp), ms);
  return [told, rates.reduce((a, b) => (Math.abs(b - told) < Math.abs(a - told) ? b : a))];
}

/** The pods of the burner, once there are so many and all of them run and are ready. */
const running = (wanted: number): Promise<readonly Pod[]> =>
  until(async () => {
    const { items } = await ask((client) => client.list(Pod, { namespace, labelSelector: "app=burner" }));
    const isReady = ({ status }: Pod) =>
      status.conditions?.some((one) => one.type === "Ready" && one.status === "True");
    return items.length === wanted && items.every(isReady) ? items : undefined;
  }, `${wanted} pods run`);

test("a burner grows from one to five with its load, and shrinks to one after it", {
  skip: impossible,
  timeout: 3_600_000,
}, async (t) => {
  mkdirSync(load);
  await ask((client) => client.create(Deployment, burner));
  await ask((client) => client.create(HorizontalPodAutoscaler, autoscaler));
  const seen: number[] = [];
  const replicas = async (wanted: number) => {
    const { spec } = await ask((client) => client.get(Deployment, { namespace, name: "burner" }));
    if (seen.at(-1) !== spec.replicas) seen.push(spec.replicas);
    return spec.replicas === wanted ? true : undefined;
  };
  await until(() => replicas(most), "five replicas");
  const [first] = await running(most);
  assert.ok(first);
  const [told, counts] = await compared(first);
  t.diagnostic(`told ${told} cores, counted ${counts}`);
  assert.ok(Math.abs(told - counts) <= 0.05 * counts, `told ${told}, counted ${counts}`);
  writeFileSync(join(load, "over"), "");
  await until(() => replicas(1), "one replica");
  await running(1);
  await untilNone(patienceMs, () => cluster.disagreements());
  t.diagnostic(`${seen.join(" → ")} replicas`);
  assert.deepEqual([seen[0], seen.at(-1)], [1, 1]);
});
