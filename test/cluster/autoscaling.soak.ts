// An autoscaler on real load: a burner of processor time grows to three replicas and shrinks again, and what the metrics API tells of it is
// what its control group counts.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
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
import { RealCluster } from "./real-cluster.ts";

const namespace = "default";
const labels = { app: "burner" };
const burnSeconds = 180;
const machine = new Machine(findKubectls().at(-1)?.path);
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
            command: ["sh", "-c", `timeout ${burnSeconds} sh -c 'while :; do :; done'; sleep 36000`],
            resources: { requests: { cpu: "50m" }, limits: { cpu: "100m" } },
          },
        ],
      },
    },
  },
};
const autoscaler = {
  metadata: { namespace, name: "burner" },
  spec: {
    scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "burner" },
    maxReplicas: 3,
    metrics: [
      { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 100 } } },
    ],
    behavior: { scaleDown: { stabilizationWindowSeconds: 0 } },
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

/** What was told of a pod, and what its group counted between the same two measurements. */
async function compared({ metadata }: Pod): Promise<readonly [number, number]> {
  const counted = counterOf(metadata.uid);
  const samples: (readonly [number, number])[] = [];
  const watching = new AbortController();
  const sampling = (async () => {
    while (!watching.signal.aborted) {
      samples.push([Date.now(), counted()]);
      await pause(100);
    }
  })();
  try {
    const began = Date.now();
    // A window of which both ends lie within what is sampled here.
    const told = await until(async () => {
      const found = await ask((client) => client.find(PodMetrics, metadata));
      const ms = found && Number.parseFloat(found.window) * 1000;
      return found && ms && millisOf(found.timestamp) - ms > began + 1000 ? { found, ms } : undefined;
    }, "a window that began after the sampling");
    const [main] = told.found.containers;
    // The time of a measurement is told in whole seconds: the rate hardly changes within one.
    const end = millisOf(told.found.timestamp) + 500;
    const at = (time: number) => samples.reduce((a, b) => (Math.abs(b[0] - time) < Math.abs(a[0] - time) ? b : a));
    const [first, last] = [at(end - told.ms), at(end)];
    return [
      quantityToNumber(parseQuantity(main?.usage.cpu ?? "0")),
      ((last[1] - first[1]) * 1000) / (last[0] - first[0]),
    ];
  } finally {
    watching.abort();
    await sampling;
  }
}

test("a burner grows with its load and shrinks after it", { skip: impossible, timeout: 3_600_000 }, async (t) => {
  await ask((client) => client.create(Deployment, burner));
  await ask((client) => client.create(HorizontalPodAutoscaler, autoscaler));
  const place = { namespace, name: "burner" };
  const replicas = async (wanted: number) =>
    (await ask((client) => client.get(Deployment, place))).spec.replicas === wanted ? true : undefined;
  await until(() => replicas(3), "three replicas");
  const [first] = await until(async () => {
    const { items } = await ask((client) => client.list(Pod, { namespace, labelSelector: "app=burner" }));
    return items.every(({ status }) => status.phase === "Running") ? items : undefined;
  }, "all run");
  assert.ok(first);
  const [told, counts] = await compared(first);
  t.diagnostic(`told ${told} cores, counted ${counts}`);
  assert.ok(Math.abs(told - counts) <= 0.05 * counts, `told ${told}, counted ${counts}`);
  await until(() => replicas(1), "one replica");
});
