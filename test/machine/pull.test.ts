// Pulling images: from a registry that asks who one is, and from the one that a cluster has itself.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Event } from "#api/core/v1/event.ts";
import { Pod } from "#api/core/v1/pod.ts";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";
import { Secret } from "#api/core/v1/secret.ts";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom } from "#base/random.ts";
import { Client } from "#client/client.ts";
import { imageArchive } from "#cluster/images/image.ts";
import { pauseProgram } from "#cluster/images/pause.ts";
import { serveRegistry, tellRegistry } from "#cluster/images/serve-registry.ts";
import { registriesIn } from "#cluster/machine/containerd-config.ts";
import { criStreams } from "#kubelet/host/cri/streams.ts";
import { probeHandlers } from "#kubelet/host/probe-handlers.ts";
import { kubelet } from "#kubelet/kubelet.ts";
import { podOf } from "#kubelet/testing.ts";
import type { Draft } from "#schema/infer.ts";
import { spdyCompression } from "#wire/host/streams/spdy-compression.ts";
import { testCluster } from "../controllers/cluster.ts";
import { testDescription } from "../kubelet/description.ts";
import { ImagesNode } from "./images-node.ts";
import { at, impossible } from "./machine.ts";
import { login, TestRegistry, withoutRegistry } from "./registry.ts";

const { signal } = new AbortController();
const image = { layers: [[{ name: "pause", mode: 0o755, content: pauseProgram() }]], entrypoint: ["/pause"] };

test("a node pulls from the registry of its cluster, also what is pulled at every start", {
  skip: impossible,
}, async () => {
  await using node = await ImagesNode.start();
  const { machine, runtime } = node;
  const archive = join(machine.root, "own.tar");
  writeFileSync(archive, imageArchive([{ ...image, references: ["knarr.local/app:latest"] }]));
  await using served = await serveRegistry({
    address: machine.network.hostAddress,
    archives: () => [archive],
    log: silentLog,
  });
  tellRegistry(registriesIn(join(machine.root, at(machine.network.nodes, 0).name)), served.url);
  const pulled = await runtime.pullImage("knarr.local/app", undefined, podOf(), signal);
  assert.match(pulled.names.join(" "), /knarr\.local\/app:latest/);
  await runtime.pullImage("knarr.local/app", undefined, podOf(), signal);
  await assert.rejects(
    runtime.pullImage("knarr.local/none:1", undefined, podOf(), signal),
    /^CriError: rpc error: code = NotFound desc = failed to pull and unpack image "knarr\.local\/none:1": .*not found$/,
  );
});

test("a kubelet pulls from registries, with the pod's secrets, and tells what went wrong as upstream does", {
  skip: impossible || withoutRegistry,
}, async () => {
  await using node = await ImagesNode.start();
  const { machine, runtime } = node;
  await using open = await TestRegistry.start(machine, 5000, false);
  await using closed = await TestRegistry.start(machine, 5001, true);
  const free = await open.push("team/app", "1", image, machine.root);
  const secret = await closed.push("team/app", "1", image, machine.root);
  await using cluster = await testCluster({
    controllers: [],
    components: ({ server }) => [
      kubelet({
        description: testDescription,
        client: new Client({
          transport: server.server.request,
          user: { name: "system:node:n1", groups: ["system:nodes"] },
          userAgent: "kubelet/1",
          signal,
        }),
        runtime,
        probes: probeHandlers(),
        streams: criStreams(runtime, systemClock),
        spdyCompression,
        clock: systemClock,
        random: seededRandom(2),
        log: silentLog,
      }),
    ],
  });
  const { client } = cluster;
  const create = (name: string, of: string, spec: Draft<PodSpec> = {}) =>
    client.create(Pod, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace: "default" },
      spec: {
        nodeName: "n1",
        terminationGracePeriodSeconds: 0,
        containers: [{ name: "main", image: of, imagePullPolicy: "Always" }],
        ...spec,
      },
    });
  const until = async (name: string, isDone: (pod: Pod) => boolean): Promise<Pod> => {
    for (;;) {
      const pod = await client.get(Pod, { namespace: "default", name });
      if (isDone(pod)) return pod;
      await systemClock.sleep(50, signal);
    }
  };
  const waiting = (pod: Pod) => pod.status.containerStatuses?.[0]?.state.waiting;
  const isRunning = (pod: Pod) => pod.status.containerStatuses?.[0]?.state.running !== undefined;

  await create("free", free);
  await until("free", isRunning);

  const auth = Buffer.from(`${login.username}:${login.password}`).toString("base64");
  const config = { auths: { [closed.host]: { auth } } };
  await client.create(Secret, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "login", namespace: "default" },
    type: "kubernetes.io/dockerconfigjson",
    data: { ".dockerconfigjson": Buffer.from(JSON.stringify(config)).toString("base64") },
  });
  await create("welcome", secret, { imagePullSecrets: [{ name: "login" }] });
  await until("welcome", isRunning);

  await create("stranger", secret);
  const stranger = await until("stranger", (pod) => waiting(pod)?.reason === "ImagePullBackOff");
  assert.match(
    waiting(stranger)?.message ?? "",
    /: ErrImagePull: failed to pull and unpack image .*(401 Unauthorized|authorization failed)/,
  );

  const unknown = `${open.host}/team/none:2`;
  await create("unknown", unknown);
  const reason = `rpc error: code = NotFound desc = failed to pull and unpack image "${unknown}": failed to resolve reference "${unknown}": ${unknown}: not found`;
  const later = await until("unknown", (pod) => waiting(pod)?.reason === "ImagePullBackOff");
  assert.equal(waiting(later)?.message, `Back-off pulling image "${unknown}": ErrImagePull: ${reason}`);
  const told = [
    `Normal Pulling Pulling image "${unknown}"`,
    `Warning Failed Failed to pull image "${unknown}": ${reason}`,
    "Warning Failed Error: ErrImagePull",
    "Warning Failed Error: ImagePullBackOff",
  ];
  for (;;) {
    const { items } = await client.list(Event, { namespace: "default" });
    const events = items.filter(({ involvedObject }) => involvedObject.name === "unknown");
    const texts = events.map((event) => `${event.type} ${event.reason} ${event.message}`);
    if (told.every((text) => texts.includes(text))) break;
    await systemClock.sleep(50, signal);
  }
});
