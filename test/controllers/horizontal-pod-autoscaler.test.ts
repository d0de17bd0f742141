// Autoscalers in a whole cluster: kubelets are measured, metrics are served, targets are scaled, pods come and go.
import assert from "node:assert/strict";
import { test } from "node:test";
import { CustomResourceDefinition } from "#api/apiextensions/v1/custom-resource-definition.ts";
import { Deployment } from "#api/apps/v1/deployment.ts";
import { HorizontalPodAutoscaler } from "#api/autoscaling/v2/horizontal-pod-autoscaler.ts";
import { Event } from "#api/core/v1/event.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { conditionIn } from "#rules/conditions.ts";
import type { ApiObject } from "#schema/object.ts";
import { structuralKind } from "#schema/structural/kind.ts";
import { startCluster, type TestCluster } from "../../src/testing/cluster.ts";

const namespace = "default";
const uses = "simulated.knarr.dev/cpu";
const labels = { app: "web" };
const template = (cpu: string) => ({
  metadata: { labels, annotations: { [uses]: cpu } },
  spec: { containers: [{ name: "main", image: "x", resources: { requests: { cpu: "100m" } } }] },
});
const ofDeployment = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };

const makeDeployment = ({ client }: TestCluster, cpu: string) =>
  client.create(Deployment, {
    metadata: { namespace, name: "web" },
    spec: { replicas: 1, selector: { matchLabels: labels }, template: template(cpu) },
  });

const makeAutoscaler = ({ client }: TestCluster, name: string, scaleTargetRef: typeof ofDeployment) =>
  client.create(HorizontalPodAutoscaler, {
    metadata: { namespace, name },
    spec: { scaleTargetRef, maxReplicas: 5 },
  });

const replicasOf = async ({ client }: TestCluster) =>
  (await client.get(Deployment, { namespace, name: "web" })).spec.replicas;

const reasonOf = async ({ client }: TestCluster, name: string, type: string) =>
  conditionIn((await client.get(HorizontalPodAutoscaler, { namespace, name })).status.conditions, type)?.reason;

/** Lets the pods that run now use so much. */
async function useNow({ client }: TestCluster, cpu: string): Promise<void> {
  const change = { metadata: { annotations: { [uses]: cpu } } };
  for (const { metadata } of (await client.list(Pod, { namespace })).items)
    await client.patch(Pod, metadata, "merge", change);
}

test("a deployment grows from 1 to 5 with its load, and shrinks again once it has been low for five minutes", async () => {
  await using cluster = await startCluster();
  const { client, clock, until } = cluster;
  await makeDeployment(cluster, "500m");
  await makeAutoscaler(cluster, "web", ofDeployment);
  await until(async () => (await replicasOf(cluster)) === 5, 180_000);
  const events = (await client.list(Event, { namespace })).items
    .filter(({ involvedObject }) => involvedObject.kind === "HorizontalPodAutoscaler")
    .map(({ reason, message }) => `${reason} ${message}`);
  assert.deepEqual(
    events.filter((one) => one.startsWith("SuccessfulRescale")).toSorted(),
    [4, 5].map(
      (size) =>
        `SuccessfulRescale New size: ${size}; reason: cpu resource utilization (percentage of request) above target`,
    ),
  );
  await until(
    async () =>
      (await client.list(Pod, { namespace })).items.filter(({ status }) => status.phase === "Running").length === 5,
  );
  assert.equal(await reasonOf(cluster, "web", "ScalingLimited"), "TooManyReplicas");
  await useNow(cluster, "1m");
  const lowSince = clock.elapsed();
  await until(async () => (await replicasOf(cluster)) === 1, 600_000);
  // The last recommendation of five may be a round old when the load ends.
  assert.ok(clock.elapsed() - lowSince >= 285_000, `${clock.elapsed() - lowSince} ms`);
});

test("two autoscalers of the same pods do nothing, and one of them does when the other is gone", async () => {
  await using cluster = await startCluster();
  const { client, until } = cluster;
  await makeDeployment(cluster, "500m");
  await makeAutoscaler(cluster, "a", ofDeployment);
  await until(async () => (await reasonOf(cluster, "a", "ScalingActive")) === "ValidMetricFound");
  await makeAutoscaler(cluster, "b", ofDeployment);
  for (const name of ["a", "b"])
    await until(async () => (await reasonOf(cluster, name, "ScalingActive")) === "AmbiguousSelector");
  await client.delete(HorizontalPodAutoscaler, { namespace, name: "b" });
  await until(async () => (await reasonOf(cluster, "a", "ScalingActive")) === "ValidMetricFound");
});

const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const names = { plural: "fleets", kind: "Fleet" };
const group = "ships.example";
const Fleet = structuralKind({ group, version: "v1", ...names, scope: "Namespaced", doc: "Ships.", schema });

test("a custom kind with a scale is scaled like any other", async () => {
  await using cluster = await startCluster();
  const { client, until } = cluster;
  const properties = { spec: schema, status: schema };
  const scale = {
    specReplicasPath: ".spec.ships",
    statusReplicasPath: ".status.ships",
    labelSelectorPath: ".status.selector",
  };
  await client.create(CustomResourceDefinition, {
    metadata: { name: `fleets.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names,
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", properties } },
          subresources: { status: {}, scale },
        },
      ],
    },
  });
  await until(async () => {
    const { status } = await client.get(CustomResourceDefinition, { name: `fleets.${group}` });
    return conditionIn(status.conditions, "Established")?.status === "True";
  });
  const place = { namespace, name: "north" };
  const fleet = (await client.create(Fleet, { metadata: place, spec: { ships: 1 } })) as ApiObject;
  await client.create(Pod, {
    ...template("300m"),
    metadata: { ...template("300m").metadata, namespace, name: "ship" },
  });
  await client.patch(Fleet, place, "merge", { status: { ships: 1, selector: "app=web" } }, { subresource: "status" });
  assert.equal(fleet.spec.ships, 1);
  await makeAutoscaler(cluster, "north", { apiVersion: `${group}/v1`, kind: "Fleet", name: "north" });
  // 300 of 80 percent: four ships.
  await until(async () => ((await client.get(Fleet, place)) as ApiObject).spec.ships === 4);
  assert.equal(await reasonOf(cluster, "north", "AbleToScale"), "SucceededRescale");
});
