// Volumes of pods as a kubelet keeps them: real folders, a runtime in memory, and no more rights than a node has.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Event } from "#api/core/v1/event.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { ServiceAccount } from "#api/core/v1/service-account.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { Client } from "#client/client.ts";
import { Volumes } from "#kubelet/host/volumes/volumes.ts";
import { type ApiSources, apiSources } from "#kubelet/inputs/api-sources.ts";
import { kubelet } from "#kubelet/kubelet.ts";
import { SimulatedRuntime } from "#kubelet/runtime/simulated.ts";
import { simulatedStreams } from "#kubelet/simulated/streams.ts";
import { testCluster } from "../controllers/cluster.ts";
import { testDescription } from "./description.ts";

const namespace = "default";

/** Nobody shows these tokens to anyone. */
const keys = {
  sign: async (claims: object) => JSON.stringify(claims),
  claimedIssuer: () => undefined,
  verify: () => assert.fail("nobody has a token"),
  keySet: { keys: [] },
};

async function world() {
  const folder = mkdtempSync(join(tmpdir(), "knarr-kubelet-"));
  mkdirSync(join(folder, "pods/of-before/volumes"), { recursive: true });
  let sources: ApiSources | undefined;
  const cluster = await testCluster({
    controllers: [],
    server: {
      authorizers: ({ node, rbac }) => [node, rbac],
      bootstrapPolicy: true,
      serviceAccounts: { keys, issuers: ["https://kubernetes.default.svc"], extendExpiration: false },
    },
    components: ({ server }) => {
      const { clock } = server;
      const random = seededRandom(5);
      const runtime = new SimulatedRuntime({ clock, allocate: () => ["10.244.0.9"], release: () => undefined });
      const answer = async () => ({ result: "success" as const, output: "" });
      const user = { name: "system:node:n1", groups: ["system:nodes", "system:authenticated"] };
      const { signal } = new AbortController();
      const client = new Client({ transport: server.server.request, user, userAgent: "kubelet/1", signal });
      sources = apiSources({ client, clock, random, log: silentLog });
      const volumes = new Volumes({ podsDirectory: join(folder, "pods"), sources, stamp: () => random.uuid() });
      return [
        kubelet({
          description: testDescription,
          client,
          runtime,
          probes: { http: answer, tcp: answer, grpc: answer },
          streams: simulatedStreams(runtime, () => undefined),
          spdyCompression: () => assert.fail("nobody speaks SPDY here"),
          inputs: { sources, volumes },
          clock,
          random,
          log: silentLog,
        }),
      ];
    },
  });
  assert.ok(sources);
  const { objects } = sources;
  /** Files are written by other threads, which the clock of the test does not wait for. */
  const until = (isDone: () => boolean | Promise<boolean>) =>
    cluster.until(async () => {
      await sleep(5);
      return isDone();
    });
  return {
    ...cluster,
    until,
    folder,
    objects,
    async running(spec: object) {
      const draft = { apiVersion: "v1", kind: "Pod", metadata: { name: "web", namespace, labels: { tier: "one" } } };
      const made = await cluster.client.create(Pod, {
        ...draft,
        spec: { nodeName: "n1", containers: [{ name: "web", image: "nginx" }], ...spec },
      });
      const volume = (type: string, name: string) =>
        join(folder, "pods", made.metadata.uid, "volumes", `kubernetes.io~${type}`, name);
      return { made, volume };
    },
    phase: async () => (await cluster.client.find(Pod, { namespace, name: "web" }))?.status.phase,
    async [Symbol.asyncDispose]() {
      await cluster[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const conf = (colour: string) => ({ metadata: { name: "conf", namespace }, data: { colour } });

test("a pod waits for what its volumes are made of, sees its changes, and leaves nothing", async () => {
  await using w = await world();
  await w.until(() => readdirSync(join(w.folder, "pods")).length === 0);
  const { made, volume } = await w.running({
    volumes: [
      { name: "conf", configMap: { name: "conf" } },
      { name: "about", downwardAPI: { items: [{ path: "labels", fieldRef: { fieldPath: "metadata.labels" } }] } },
    ],
  });
  const mounts = async () =>
    (await w.client.list(Event, { namespace })).items.filter(({ reason }) => reason === "FailedMount");
  await w.until(async () => (await mounts()).length > 0);
  const [event] = await mounts();
  assert.equal(event?.message, 'MountVolume.SetUp failed for volume "conf" : configmap "conf" not found');
  assert.equal(await w.phase(), "Pending");

  await w.client.create(ConfigMap, conf("blue"));
  await w.until(async () => (await w.phase()) === "Running");
  const colour = () => readFileSync(join(volume("configmap", "conf"), "colour"), "utf8");
  assert.equal(colour(), "blue");
  assert.equal(w.objects.size, 1);
  await w.client.patch(ConfigMap, { namespace, name: "conf" }, "merge", { data: { colour: "red" } });
  await w.until(() => colour() === "red");
  await w.client.patch(Pod, { namespace, name: "web" }, "merge", { metadata: { labels: { tier: "two" } } });
  await w.until(() => readFileSync(join(volume("downward-api", "about"), "labels"), "utf8") === 'tier="two"');

  await w.client.delete(Pod, { namespace, name: "web" });
  await w.until(async () => (await w.phase()) === undefined);
  assert.equal(existsSync(join(w.folder, "pods", made.metadata.uid, "volumes")), false, "it is gone before the pod is");
  await w.until(() => readdirSync(join(w.folder, "pods")).length === 0);
  assert.equal(w.objects.size, 0);
});

test("a pod that has waited for long starts when what it waits for comes", async () => {
  await using w = await world();
  await w.running({ volumes: [{ name: "conf", configMap: { name: "conf" } }] });
  // By then it is tried every two minutes only, and nobody waits so long below.
  for (let seconds = 0; seconds < 200; seconds++) {
    await sleep(1);
    await w.server.clock.advance(1000);
  }
  assert.equal(await w.phase(), "Pending");
  await w.client.create(ConfigMap, conf("blue"));
  await w.until(async () => (await w.phase()) === "Running");
});

test("a token is replaced when four fifths of its life are over", async () => {
  await using w = await world();
  await w.client.create(ServiceAccount, { metadata: { name: "robot", namespace } });
  const { volume } = await w.running({
    serviceAccountName: "robot",
    volumes: [
      { name: "own", projected: { sources: [{ serviceAccountToken: { path: "token", expirationSeconds: 600 } }] } },
    ],
  });
  await w.until(async () => (await w.phase()) === "Running");
  const token = () => readFileSync(join(volume("projected", "own"), "token"), "utf8");
  const first = token();
  await w.server.clock.advance(460_000);
  assert.equal(token(), first);
  await w.until(() => token() !== first);
});

test("a volume goes when its pod has ended, though the pod stays", async () => {
  await using w = await world();
  const { volume } = await w.running({ volumes: [{ name: "work", emptyDir: {} }], restartPolicy: "Never" });
  await w.until(async () => (await w.phase()) === "Running");
  assert.ok(existsSync(volume("empty-dir", "work")));
  await w.until(async () => (await w.phase()) === "Succeeded");
  await w.until(() => !existsSync(volume("empty-dir", "work")));
});
