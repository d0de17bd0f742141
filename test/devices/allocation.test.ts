// Claims of pods get devices together with a node, and give them back.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Event } from "#api/core/v1/event.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { DeviceClass } from "#api/resource/v1/device-class.ts";
import { ResourceClaim } from "#api/resource/v1/resource-claim.ts";
import { ResourceSlice } from "#api/resource/v1/resource-slice.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { deviceTaintEvictionController } from "#controllers/device-taint-eviction.ts";
import { claimCleanupController } from "#controllers/resourceclaim/claim-cleanup.ts";
import { podResourceClaimController } from "#controllers/resourceclaim/pod-claims.ts";
import { Scheduler } from "#scheduler/scheduler.ts";
import type { Draft } from "#schema/infer.ts";
import { type TestCluster, testCluster } from "../controllers/cluster.ts";
import { haveClaim, haveClass, haveSlice, haveTemplate, namespace, plainDevices, wanting } from "./objects.ts";

const allocatable = { cpu: "4", memory: "8Gi", pods: "100" };

const deviceCluster = () =>
  testCluster({
    controllers: [podResourceClaimController, claimCleanupController, deviceTaintEvictionController],
    // The scheduler acts as a user who may do all, the controllers as upstream's roles allow.
    serviceAccounts: {
      resourceclaim: "resource-claim-controller",
      "resourceclaim-cleanup": "resource-claim-controller",
      "device-taint-eviction": "device-taint-eviction-controller",
    },
    components: ({ client, informers, server }) => [
      new Scheduler({ client, informers, clock: server.clock, random: seededRandom(3), log: silentLog }),
    ],
  });
const haveNode = ({ client }: TestCluster, name: string) =>
  client.create(Node, {
    metadata: { name, labels: { "kubernetes.io/hostname": name } },
    status: { allocatable, capacity: allocatable },
  });
const havePod = ({ client }: TestCluster, name: string, more: Draft<Pod>) =>
  client.create(Pod, { ...more, metadata: { name, namespace, ...more.metadata } });
const podOf = ({ client }: TestCluster, name: string) => client.get(Pod, { namespace, name });
const isPlaced = (cluster: TestCluster, name: string) =>
  cluster.until(async () => Boolean((await podOf(cluster, name)).spec.nodeName));
const claims = async ({ client }: TestCluster) => (await client.list(ResourceClaim)).items;
const messageOf = async (cluster: TestCluster, name: string) =>
  (await podOf(cluster, name)).status.conditions?.find(({ type }) => type === "PodScheduled")?.message;

test("a claim is made of the template, gets a device with the node, and goes with the pod", async () => {
  await using cluster = await deviceCluster();
  const { client } = cluster;
  await haveNode(cluster, "a");
  await haveNode(cluster, "b");
  await haveClass(client);
  await haveSlice(client, "b", plainDevices(1));
  await haveTemplate(client, "one-gpu");
  await havePod(cluster, "p", wanting({ template: "one-gpu" }));
  await isPlaced(cluster, "p");
  const pod = await podOf(cluster, "p");
  assert.equal(pod.spec.nodeName, "b");
  const [claim] = await claims(cluster);
  assert.equal(pod.status.resourceClaimStatuses?.[0]?.resourceClaimName, claim?.metadata.name);
  assert.match(claim?.metadata.name ?? "", /^p-gpu-/);
  const { driver, pool, device, request } = claim?.status.allocation?.devices.results?.[0] ?? {};
  assert.deepEqual([driver, pool, device, request], ["gpu.example.com", "b", "gpu-0", "gpu"]);
  assert.deepEqual(claim?.status.reservedFor, [{ resource: "pods", name: "p", uid: pod.metadata.uid }]);
  assert.deepEqual(claim?.metadata.finalizers, ["resource.kubernetes.io/delete-protection"]);

  await havePod(cluster, "q", wanting({ template: "one-gpu" }));
  await cluster.until(async () => (await messageOf(cluster, "q")) !== undefined);
  assert.match((await messageOf(cluster, "q")) ?? "", /^0\/2 nodes are available: 2 cannot allocate all claims\./);

  await client.patch(
    Pod,
    { namespace, name: "p" },
    "merge",
    { status: { phase: "Succeeded" } },
    { subresource: "status" },
  );
  await isPlaced(cluster, "q");
  await cluster.until(async () => (await claims(cluster)).length === 1);
  assert.match((await claims(cluster))[0]?.metadata.name ?? "", /^q-gpu-/);
});

test("a claim of its own is shared by pods, which all go where its device is", async () => {
  await using cluster = await deviceCluster();
  const { client } = cluster;
  for (const name of ["a", "b", "c"]) await haveNode(cluster, name);
  await haveClass(client);
  for (const name of ["a", "b", "c"]) await haveSlice(client, name, plainDevices(2));
  await haveClaim(client, "mine");
  for (const name of ["p", "q"]) await havePod(cluster, name, wanting({ claim: "mine" }));
  for (const name of ["p", "q"]) await isPlaced(cluster, name);
  assert.equal((await podOf(cluster, "p")).spec.nodeName, (await podOf(cluster, "q")).spec.nodeName);
  const claim = await client.get(ResourceClaim, { namespace, name: "mine" });
  assert.equal(claim.status.reservedFor?.length, 2);
  for (const name of ["p", "q"]) await client.delete(Pod, { namespace, name });
  await cluster.until(
    async () => (await client.get(ResourceClaim, { namespace, name: "mine" })).status.allocation === undefined,
  );
  assert.equal((await client.get(ResourceClaim, { namespace, name: "mine" })).metadata.finalizers, undefined);
});

test("a pod waits for its claim, its class and its template, and says which", async () => {
  await using cluster = await deviceCluster();
  const { client } = cluster;
  await haveNode(cluster, "a");
  await haveSlice(client, "a", plainDevices(2));
  await havePod(cluster, "p", wanting({ template: "late" }));
  await cluster.until(async () =>
    (await client.list(Event)).items.some(
      ({ reason, message }) =>
        reason === "FailedResourceClaimCreation" && message?.includes('resource claim template "late"'),
    ),
  );
  await haveTemplate(client, "late");
  await cluster.until(
    async () => (await messageOf(cluster, "p"))?.includes("device class gpu does not exist") ?? false,
  );
  await haveClass(client);
  await isPlaced(cluster, "p");
});

test("devices with taints are kept for those who tolerate them, and new taints put others out", async () => {
  await using cluster = await deviceCluster();
  const { client } = cluster;
  await haveNode(cluster, "a");
  await haveClass(client);
  const slice = await haveSlice(client, "a", [
    { name: "gpu-0" },
    { name: "gpu-1", taints: [{ key: "hot", effect: "NoSchedule" }] },
  ]);
  await haveClaim(client, "cool");
  await haveClaim(client, "brave", { tolerations: [{ key: "hot", operator: "Exists" }] });
  await havePod(cluster, "cool", wanting({ claim: "cool" }));
  await isPlaced(cluster, "cool");
  await havePod(cluster, "brave", wanting({ claim: "brave" }));
  await isPlaced(cluster, "brave");
  const deviceOf = async (name: string) =>
    (await client.get(ResourceClaim, { namespace, name })).status.allocation?.devices.results?.[0]?.device;
  assert.deepEqual([await deviceOf("cool"), await deviceOf("brave")], ["gpu-0", "gpu-1"]);

  const taints = [{ key: "hot", effect: "NoExecute" as const }];
  const devices = (slice.spec.devices ?? []).map((device) => ({ ...device, taints }));
  const fresh = await client.get(ResourceSlice, slice.metadata);
  await client.update(ResourceSlice, { ...fresh, spec: { ...fresh.spec, devices } });
  await cluster.until(async () => (await client.list(Pod)).items.length === 1);
  assert.deepEqual(
    (await client.list(Pod)).items.map(({ metadata }) => metadata.name),
    ["brave"],
  );
});

test("extended resources that a class stands behind become a claim, which goes with the pod", async () => {
  await using cluster = await deviceCluster();
  const { client } = cluster;
  for (const name of ["a", "b"]) await haveNode(cluster, name);
  await haveSlice(client, "b", plainDevices(3));
  const asking = (amounts: Readonly<Record<string, string>>) => ({ requests: amounts, limits: amounts });
  await havePod(cluster, "p", {
    spec: {
      initContainers: [{ name: "setup", image: "i", resources: asking({ "example.com/gpu": "2" }) }],
      containers: [
        { name: "app", image: "i", resources: asking({ cpu: "1", "example.com/gpu": "1" }) },
        { name: "other", image: "i", resources: asking({ "deviceclass.resource.kubernetes.io/gpu": "1" }) },
      ],
    },
  });
  await cluster.until(
    async () =>
      (await messageOf(cluster, "p"))?.includes("Insufficient deviceclass.resource.kubernetes.io/gpu") ?? false,
  );
  await client.create(DeviceClass, {
    metadata: { name: "gpu" },
    spec: { extendedResourceName: "example.com/gpu", selectors: [{ cel: { expression: "true" } }] },
  });
  await isPlaced(cluster, "p");
  const pod = await podOf(cluster, "p");
  assert.equal(pod.spec.nodeName, "b");
  const [claim] = await claims(cluster);
  assert.match(claim?.metadata.name ?? "", /^p-extended-resources-/);
  assert.equal(claim?.metadata.annotations?.["resource.kubernetes.io/extended-resource-claim"], "true");
  assert.equal(claim?.metadata.ownerReferences?.[0]?.uid, pod.metadata.uid);
  assert.deepEqual(
    claim?.spec.devices.requests.map(({ name, exactly }) => [name, exactly?.deviceClassName, exactly?.count]),
    [
      ["container-0-request-0", "gpu", 1],
      ["container-1-request-1", "gpu", 1],
      ["container-2-request-0", "gpu", 1],
    ],
  );
  assert.deepEqual(claim?.status.allocation?.devices.results?.map(({ device }) => device).toSorted(), [
    "gpu-0",
    "gpu-1",
    "gpu-2",
  ]);
  assert.deepEqual(claim?.status.reservedFor, [{ resource: "pods", name: "p", uid: pod.metadata.uid }]);
  assert.deepEqual(pod.status.extendedResourceClaimStatus, {
    resourceClaimName: claim?.metadata.name,
    requestMappings: [
      {
        containerName: "other",
        resourceName: "deviceclass.resource.kubernetes.io/gpu",
        requestName: "container-2-request-0",
      },
      { containerName: "app", resourceName: "example.com/gpu", requestName: "container-1-request-1" },
      { containerName: "setup", resourceName: "example.com/gpu", requestName: "container-1-request-1" },
      { containerName: "setup", resourceName: "example.com/gpu", requestName: "container-0-request-0" },
    ],
  });

  await havePod(cluster, "q", {
    spec: { containers: [{ name: "app", image: "i", resources: asking({ "example.com/gpu": "1" }) }] },
  });
  await cluster.until(async () => (await messageOf(cluster, "q")) !== undefined);
  assert.match((await messageOf(cluster, "q")) ?? "", /^0\/2 nodes are available: 2 cannot allocate all claims\./);
  await client.patch(
    Pod,
    { namespace, name: "p" },
    "merge",
    { status: { phase: "Succeeded" } },
    { subresource: "status" },
  );
  await isPlaced(cluster, "q");
  await cluster.until(async () => (await claims(cluster)).length === 1);
});

test("a node that has an extended resource by a device plugin needs no claim for it", async () => {
  await using cluster = await deviceCluster();
  const { client } = cluster;
  const has = { ...allocatable, "example.com/gpu": "1" };
  await client.create(Node, { metadata: { name: "a" }, status: { allocatable: has, capacity: has } });
  await client.create(DeviceClass, { metadata: { name: "gpu" }, spec: { extendedResourceName: "example.com/gpu" } });
  const resources = { limits: { "example.com/gpu": "1" } };
  for (const name of ["p", "q"])
    await havePod(cluster, name, { spec: { containers: [{ name: "app", image: "i", resources }] } });
  await cluster.until(async () => (await client.list(Pod)).items.some(({ spec }) => Boolean(spec.nodeName)));
  await cluster.until(async () => {
    const { items } = await client.list(Pod);
    return items.some(({ status }) =>
      status.conditions?.some(({ message }) => message?.includes("Insufficient example.com/gpu")),
    );
  });
  assert.deepEqual(await claims(cluster), []);
});

test("a claim for extended resources that an attempt left behind is deleted, then the pod gets another", async () => {
  await using cluster = await deviceCluster();
  const { client } = cluster;
  await haveSlice(client, "a", plainDevices(1));
  await client.create(DeviceClass, { metadata: { name: "gpu" }, spec: { extendedResourceName: "example.com/gpu" } });
  const resources = { limits: { "example.com/gpu": "1" } };
  const pod = await havePod(cluster, "p", { spec: { containers: [{ name: "app", image: "i", resources }] } });
  const owner = { apiVersion: "v1", kind: "Pod", name: "p", uid: pod.metadata.uid, controller: true };
  const leftover = await client.create(ResourceClaim, {
    metadata: {
      name: "left",
      namespace,
      ownerReferences: [owner],
      annotations: { "resource.kubernetes.io/extended-resource-claim": "true" },
      finalizers: ["resource.kubernetes.io/delete-protection"],
    },
    spec: { devices: { requests: [{ name: "container-0-request-0", exactly: { deviceClassName: "gpu" } }] } },
  });
  await haveNode(cluster, "a");
  await isPlaced(cluster, "p");
  const [claim, ...others] = await claims(cluster);
  assert.deepEqual(others, []);
  assert.notEqual(claim?.metadata.uid, leftover.metadata.uid);
  assert.equal((await podOf(cluster, "p")).status.extendedResourceClaimStatus?.resourceClaimName, claim?.metadata.name);
});
