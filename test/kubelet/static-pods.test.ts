// Pods from a folder of the node, and their mirrors in the API.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Pod } from "#api/core/v1/pod.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { Client } from "#client/client.ts";
import { StaticFolder } from "#kubelet/host/static-folder.ts";
import { kubelet } from "#kubelet/kubelet.ts";
import { SimulatedRuntime } from "#kubelet/runtime/simulated.ts";
import { simulatedStreams } from "#kubelet/simulated/streams.ts";
import { testCluster } from "../controllers/cluster.ts";
import { testDescription } from "./description.ts";

const namespace = "kube-system";
const name = "proxy-n1";
const file = (image: string) => `apiVersion: v1
kind: Pod
metadata:
  name: proxy
  namespace: kube-system
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: web
    image: ${image}
`;

async function world() {
  const folder = mkdtempSync(join(tmpdir(), "knarr-static-"));
  let runtime: SimulatedRuntime | undefined;
  const cluster = await testCluster({
    controllers: [],
    server: { authorizers: ({ node, rbac }) => [node, rbac], bootstrapPolicy: true },
    components: ({ server }) => {
      const { clock } = server;
      const simulated = new SimulatedRuntime({ clock, allocate: () => ["10.244.0.9"], release: () => undefined });
      runtime = simulated;
      const answer = async () => ({ result: "success" as const, output: "" });
      const user = { name: "system:node:n1", groups: ["system:nodes", "system:authenticated"] };
      const { signal } = new AbortController();
      return [
        kubelet({
          description: testDescription,
          client: new Client({ transport: server.server.request, user, userAgent: "kubelet/1", signal }),
          runtime: simulated,
          probes: { http: answer, tcp: answer, grpc: answer },
          streams: simulatedStreams(simulated, () => undefined),
          spdyCompression: () => assert.fail("nobody speaks SPDY here"),
          staticPods: new StaticFolder({ folder, node: "n1", clock, log: silentLog }),
          clock,
          random: seededRandom(5),
          log: silentLog,
        }),
      ];
    },
  });
  assert.ok(runtime);
  const found = runtime;
  const mirror = () => cluster.client.find(Pod, { namespace, name });
  return {
    ...cluster,
    runtime: found,
    mirror,
    write: (text: string, to = "proxy.yaml") => writeFileSync(join(folder, to), text),
    removeFile: () => rmSync(join(folder, "proxy.yaml")),
    /** Files are read by other threads, which the clock of the test does not wait for. */
    untilMirror: async (isDone: (pod: Pod | undefined) => boolean) => {
      await cluster.until(async () => {
        await sleep(5);
        return isDone(await mirror());
      });
      return mirror();
    },
    async [Symbol.asyncDispose]() {
      await cluster[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const isRunning = (pod: Pod | undefined) => pod?.status.phase === "Running";
const hashOf = (pod: Pod | undefined) => pod?.metadata.annotations?.["kubernetes.io/config.hash"];

test("a file is a pod for as long as it is there, and the API sees it", async () => {
  await using w = await world();
  w.write(file("nginx:1"));
  const first = await w.untilMirror(isRunning);
  const annotations = first?.metadata.annotations ?? {};
  assert.equal(annotations["kubernetes.io/config.source"], "file");
  assert.equal(annotations["kubernetes.io/config.mirror"], annotations["kubernetes.io/config.hash"]);
  assert.ok(annotations["kubernetes.io/config.seen"]);
  assert.deepEqual(await w.runtime.pods(), [hashOf(first)], "it runs under the checksum of its file");
  assert.equal(first?.metadata.ownerReferences?.[0]?.kind, "Node");
  const id = first?.status.containerStatuses?.[0]?.containerID;

  await w.client.delete(Pod, { namespace, name });
  const second = await w.untilMirror((pod) => isRunning(pod) && pod?.metadata.uid !== first?.metadata.uid);
  assert.equal(second?.status.containerStatuses?.[0]?.containerID, id, "to delete its mirror ends nothing");

  w.write(`${file("nginx:2")}  - name: [`);
  await w.server.clock.advance(25_000);
  assert.equal(hashOf(await w.mirror()), hashOf(first), "a file that makes no sense changes nothing");

  w.write(file("nginx:2"));
  const third = await w.untilMirror((pod) => isRunning(pod) && hashOf(pod) !== hashOf(first));
  assert.equal(third?.spec.containers[0]?.image, "nginx:2");
  assert.deepEqual(await w.runtime.pods(), [hashOf(third)]);

  w.removeFile();
  await w.untilMirror((pod) => pod === undefined);
  assert.deepEqual(await w.runtime.pods(), []);
});

test("a file that needs the API is no static pod", async () => {
  await using w = await world();
  w.write(`${file("nginx")}  serviceAccountName: robot\n`, "bad.yaml");
  w.write("kind: ConfigMap\napiVersion: v1\n", "other.yaml");
  w.write(file("nginx"));
  await w.untilMirror(isRunning);
  assert.equal((await w.runtime.pods()).length, 1);
});
