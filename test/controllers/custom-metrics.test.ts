// Autoscalers by custom and external metrics: an adapter behind an APIService answers, over TLS and by the aggregation of the API server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { APIService } from "#api/apiregistration/v1/api-service.ts";
import { Deployment } from "#api/apps/v1/deployment.ts";
import { HorizontalPodAutoscaler } from "#api/autoscaling/v2/horizontal-pod-autoscaler.ts";
import { Namespace } from "#api/core/v1/namespace.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { Service } from "#api/core/v1/service.ts";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { remoteConnections } from "#apiserver/host/remote-connections.ts";
import { horizontalPodAutoscalerController } from "#controllers/horizontal-pod-autoscaler/horizontal-pod-autoscaler.ts";
import type { Draft } from "#schema/infer.ts";
import { timeOf } from "#schema/time.ts";
import { proxyClient, servingAuthority } from "../apiserver/aggregated-server.ts";
import { discovery, type TestCluster, testCluster } from "./cluster.ts";
import { adapterGroups, metricsAdapter } from "./metrics-adapter.ts";

const namespace = "default";
const labels = { app: "web" };
const account = "system:serviceaccount:kube-system:horizontal-pod-autoscaler";

type Metric = Draft<NonNullable<HorizontalPodAutoscaler["spec"]["metrics"]>[number]>;

async function adapterCluster() {
  let cluster: TestCluster | undefined;
  const adapter = await metricsAdapter(() => timeOf(cluster?.server.clock.now() ?? 0));
  const connections = remoteConnections(() => proxyClient());
  const connection: typeof connections = {
    ...connections,
    send: (target, sent) => connections.send({ ...target, dialAddress: "127.0.0.1", port: adapter.port }, sent),
  };
  cluster = await testCluster({
    controllers: [horizontalPodAutoscalerController(discovery)],
    serviceAccounts: { horizontalpodautoscaler: "horizontal-pod-autoscaler" },
    server: { aggregation: { connection, routesToEndpoints: true } },
    components: ({ server }) => [{ name: "aggregator", run: (signal) => server.server.aggregator.run(signal) }],
  });
  const { client, server } = cluster;
  return {
    client,
    adapter,
    /** Answers of the adapter come over real connections, so real time must pass between the steps of the clock. */
    async until(isSo: () => Promise<boolean>, what: string) {
      for (let i = 0; i < 4000; i++) {
        if (await isSo()) return;
        await pause(1);
        await server.clock.advance(100);
      }
      assert.fail(what);
    },
    async [Symbol.asyncDispose]() {
      await cluster?.[Symbol.asyncDispose]();
      connections.close();
      await adapter[Symbol.asyncDispose]();
    },
  };
}

type AdapterCluster = Awaited<ReturnType<typeof adapterCluster>>;

async function serveMetrics({ client, until }: AdapterCluster): Promise<void> {
  const at = "monitoring";
  await client.create(Namespace, { metadata: { name: at } });
  const ports = [{ name: "https", port: 443, targetPort: 8443 }];
  await client.create(Service, { metadata: { namespace: at, name: "adapter" }, spec: { ports } });
  await client.create(EndpointSlice, {
    metadata: { namespace: at, name: "adapter-1", labels: { "kubernetes.io/service-name": "adapter" } },
    addressType: "IPv4",
    ports: [{ name: "https", port: 8443, protocol: "TCP" }],
    endpoints: [{ addresses: ["10.1.2.3"], conditions: { ready: true } }],
  });
  for (const { group, version } of adapterGroups) {
    const name = `${version}.${group}`;
    await client.create(APIService, {
      metadata: { name },
      spec: {
        group,
        version,
        service: { namespace: at, name: "adapter" },
        caBundle: Buffer.from(servingAuthority.cert).toString("base64"),
        groupPriorityMinimum: 100,
        versionPriority: 100,
      },
    });
    await until(async () => {
      const { status } = await client.get(APIService, { name });
      return status.conditions?.some((one) => one.type === "Available" && one.status === "True") ?? false;
    }, `${name} available`);
  }
}

/** Two pods that are ready, and an autoscaler of their deployment by one metric. */
async function haveWorkload({ client }: AdapterCluster, metric: Metric): Promise<void> {
  const template = { metadata: { labels }, spec: { containers: [{ name: "main", image: "x" }] } };
  const { metadata } = await client.create(Deployment, {
    metadata: { namespace, name: "web" },
    spec: { replicas: 2, selector: { matchLabels: labels }, template },
  });
  await client.patch(Deployment, metadata, "merge", { status: { replicas: 2 } }, { subresource: "status" });
  for (const name of ["a", "b"]) {
    await client.create(Pod, { ...template, metadata: { namespace, name, labels } });
    const status = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
    await client.patch(Pod, { namespace, name }, "merge", { status }, { subresource: "status" });
  }
  await client.create(HorizontalPodAutoscaler, {
    metadata: { namespace, name: "web" },
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "web" },
      minReplicas: 1,
      maxReplicas: 10,
      metrics: [metric],
    },
  });
}

const autoscaler = ({ client }: AdapterCluster) => client.get(HorizontalPodAutoscaler, { namespace, name: "web" });
const replicas = async ({ client }: AdapterCluster) =>
  (await client.get(Deployment, { namespace, name: "web" })).spec.replicas;

const cases: readonly {
  readonly title: string;
  readonly metric: Metric;
  readonly asked: string;
  readonly samples: readonly { readonly about?: string; readonly value: string }[];
  readonly size: number;
}[] = [
  {
    title: "a metric of pods",
    metric: {
      type: "Pods",
      pods: { metric: { name: "requests" }, target: { type: "AverageValue", averageValue: "10" } },
    },
    asked: "pods/*/requests",
    samples: [
      { about: "a", value: "30" },
      { about: "b", value: "10" },
    ],
    size: 4,
  },
  {
    title: "a metric of an object",
    metric: {
      type: "Object",
      object: {
        describedObject: { apiVersion: "v1", kind: "Service", name: "front" },
        metric: { name: "hits" },
        target: { type: "Value", value: "100" },
      },
    },
    asked: "services/front/hits",
    samples: [{ about: "front", value: "250" }],
    size: 5,
  },
  {
    title: "an external metric",
    metric: {
      type: "External",
      external: { metric: { name: "queue" }, target: { type: "AverageValue", averageValue: "500m" } },
    },
    asked: "queue",
    samples: [{ value: "1500m" }, { value: "2" }],
    size: 7,
  },
];

for (const { title, metric, asked, samples, size } of cases)
  test(`an autoscaler follows ${title} that an adapter behind an APIService tells`, async () => {
    await using cluster = await adapterCluster();
    const { adapter, until } = cluster;
    await haveWorkload(cluster, metric);
    const reason = async () =>
      (await autoscaler(cluster)).status.conditions?.find(({ type }) => type === "ScalingActive")?.reason;
    await until(async () => ((await reason()) ?? "").startsWith("FailedGet"), "it says that nobody tells");
    assert.equal(await replicas(cluster), 2);
    await serveMetrics(cluster);
    adapter.values.set(asked, samples);
    await until(async () => (await replicas(cluster)) === size, `${size} replicas`);
    assert.equal(await reason(), "ValidMetricFound");
    const told = adapter.requests.filter((one) => one.includes(`/namespaces/${namespace}/${asked}`));
    assert.ok(told.length > 0 && told.every((one) => one.startsWith(`${account} `)), `${adapter.requests}`);
  });
