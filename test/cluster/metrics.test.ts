// What nodes and pods use, from kubelets through the metrics API, in a cluster on a clock that the test moves.
import assert from "node:assert/strict";
import { test } from "node:test";
import { APIService } from "#api/apiregistration/v1/api-service.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { NodeMetrics } from "#api/metrics/v1beta1/node-metrics.ts";
import { PodMetrics } from "#api/metrics/v1beta1/pod-metrics.ts";
import { ApiError, isNotFound } from "#base/errors.ts";
import { startCluster, type TestCluster } from "#testing/cluster.ts";

const domain = "simulated.knarr.dev/";

function pod(name: string, cpu: string, annotations: Readonly<Record<string, string>> = {}, labels = {}) {
  const uses = { [`${domain}cpu`]: cpu, [`${domain}memory`]: "64Mi", ...annotations };
  return {
    metadata: { name, namespace: "default", annotations: uses, labels },
    spec: { containers: [{ name: "main", image: "x" }] },
  };
}

const usages = async ({ client }: TestCluster, labelSelector?: string) =>
  Object.fromEntries(
    (await client.list(PodMetrics, { namespace: "default", labelSelector })).items.map(
      ({ metadata, containers: [main] }) => [metadata.name, main?.usage.cpu],
    ),
  );

test("what nodes and pods use is known within 20 seconds of their start, and follows", async () => {
  await using cluster = await startCluster({ nodes: 2 });
  const { client, until } = cluster;
  await until(async () => (await client.list(NodeMetrics)).items.length === 2, 20_000);
  await client.create(Pod, pod("busy", "250m", {}, { app: "busy" }));
  await client.create(Pod, pod("calm", "10m"));
  await until(async () => Object.keys(await usages(cluster)).length === 2, 20_000);
  assert.deepEqual(await usages(cluster), { busy: "250m", calm: "10m" });
  assert.deepEqual(await usages(cluster, "app=busy"), { busy: "250m" });
  const measured = await client.get(PodMetrics, { namespace: "default", name: "busy" });
  assert.equal(measured.containers[0]?.usage.memory, "64Mi");
  assert.deepEqual(measured.metadata.labels, { app: "busy" });

  const change = { metadata: { annotations: { [`${domain}cpu`]: "2" } } };
  await client.patch(Pod, { namespace: "default", name: "busy" }, "merge", change);
  await until(async () => (await usages(cluster)).busy === "2");
  const cores = async () => (await client.list(NodeMetrics)).items.map(({ usage }) => usage.cpu).toSorted();
  const isTogether = ([one, other]: readonly (string | undefined)[]) =>
    other === "2010m" || (one === "10m" && other === "2");
  await until(async () => isTogether(await cores()));
});

test("a container that was started again has no usage until it was measured twice", async () => {
  await using cluster = await startCluster();
  const { client, until } = cluster;
  await client.create(Pod, pod("brief", "100m", { [`${domain}run-for`]: "40s" }));
  await until(async () => (await usages(cluster)).brief === "100m");
  const restarts = async () =>
    (await client.get(Pod, { namespace: "default", name: "brief" })).status.containerStatuses?.[0]?.restartCount ?? 0;
  await until(async () => (await restarts()) > 0);
  await until(async () => (await usages(cluster)).brief === undefined);
  await until(async () => (await usages(cluster)).brief === "100m");
});

test("a node that does not answer has no metrics, and neither have its pods", async () => {
  await using cluster = await startCluster();
  const { client, until, nodes } = cluster;
  await client.create(Pod, pod("web", "100m"));
  await until(async () => (await usages(cluster)).web === "100m");
  nodes.stop("sim-0");
  await until(async () => (await client.list(NodeMetrics)).items.length === 0);
  assert.deepEqual(await usages(cluster), {});
  await assert.rejects(client.get(NodeMetrics, { name: "sim-0" }), {
    message: 'nodemetrics.metrics.k8s.io "sim-0" not found',
  });
  await assert.rejects(client.get(PodMetrics, { namespace: "default", name: "none" }), {
    message: 'pods "none" not found',
  });
  nodes.start("sim-0");
  await until(async () => (await client.list(NodeMetrics)).items.length === 1);
});

test("the metrics API is served as long as there is an APIService for it", async () => {
  await using cluster = await startCluster();
  const { client, until } = cluster;
  const place = { name: "v1beta1.metrics.k8s.io" };
  const { status } = await client.get(APIService, place);
  assert.deepEqual(
    status.conditions?.map(({ type, status: is }) => [type, is]),
    [["Available", "True"]],
  );
  await client.delete(APIService, place);
  const refusal = async (): Promise<unknown> =>
    client.list(NodeMetrics).then(
      () => undefined,
      (error: unknown) => error,
    );
  await until(async () => isNotFound(await refusal()));
  const { metadata, ...rest } = await client.create(APIService, {
    metadata: place,
    spec: { group: "metrics.k8s.io", version: "v1beta1", groupPriorityMinimum: 100, versionPriority: 100 },
  });
  assert.ok(metadata && rest);
  await until(async () => (await refusal()) === undefined);
  // Whoever installs metrics-server lets the object lead to its service: from then on that one is asked.
  const service = { service: { namespace: "kube-system", name: "metrics-server" }, insecureSkipTLSVerify: true };
  await client.patch(APIService, place, "merge", { spec: service });
  await until(async () => {
    const error = await refusal();
    return error instanceof ApiError && error.code === 503;
  });
});

test("a pod that asks for nothing gets what pods of its image have used, if InitialResources is on", async () => {
  await using cluster = await startCluster({ plugins: ["InitialResources"] });
  const { client, advance, until } = cluster;
  await client.create(Pod, pod("first", "250m"));
  await until(async () => (await usages(cluster)).first === "250m");
  await advance(120_000);
  const { spec, metadata } = await client.create(Pod, pod("second", "250m"));
  assert.deepEqual(spec.containers[0]?.resources.requests, { cpu: "250m", memory: "67108864" });
  assert.equal(
    metadata.annotations?.["kubernetes.io/initial-resources"],
    "Initial Resources plugin set: cpu, memory request for container main",
  );
});
