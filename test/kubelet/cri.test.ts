// The CRI runtime on a real containerd.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Pod } from "#api/core/v1/pod.ts";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";
import { systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { seededRandom, systemRandom } from "#base/random.ts";
import { Client } from "#client/client.ts";
import { world } from "#client/testing.ts";
import { processes } from "#cluster/machine/processes.ts";
import { containerInputs } from "#kubelet/host/container-inputs.ts";
import { CriRuntime } from "#kubelet/host/cri/runtime.ts";
import { criStreams } from "#kubelet/host/cri/streams.ts";
import { probeHandlers } from "#kubelet/host/probe-handlers.ts";
import { Volumes } from "#kubelet/host/volumes/volumes.ts";
import type { InputSources } from "#kubelet/inputs/sources.ts";
import { type Kubelet, kubelet } from "#kubelet/kubelet.ts";
import type { ContainerState } from "#kubelet/runtime.ts";
import { podOf } from "#kubelet/testing.ts";
import type { Draft } from "#schema/infer.ts";
import { spdyCompression } from "#wire/host/streams/spdy-compression.ts";
import { isStream } from "#wire/http.ts";
import { testCluster } from "../controllers/cluster.ts";
import { image, impossible, TestContainerd } from "./containerd.ts";
import { testDescription } from "./description.ts";

const { signal } = new AbortController();

const settings = world().have(ConfigMap, {
  metadata: { name: "settings", namespace: "default" },
  data: { colour: "blue" },
});
const sources: InputSources = {
  configMap: async (_, name) => (name === "settings" ? settings : undefined),
  secret: async () => undefined,
  services: async () => [],
  knownServices: () => [],
  token: async () => "a token",
  claim: async () => undefined,
  persistentVolume: async () => undefined,
};

const connect = (containerd: TestContainerd) =>
  CriRuntime.connect(
    {
      endpoint: containerd.endpoint,
      clock: systemClock,
      logsDirectory: `${containerd.folder}/logs`,
      podsDirectory: `${containerd.folder}/pods`,
      memoryBytes: 4 * 2 ** 30,
      seccompDirectory: `${containerd.folder}/seccomp`,
      clusterDomain: "cluster.local",
      runtimeHandler: async (name) => name,
      inputs: containerInputs({
        sources,
        volumes: new Volumes({ podsDirectory: `${containerd.folder}/pods`, sources, stamp: () => systemRandom.uuid() }),
        hostIps: ["192.0.2.1"],
        allocatable: { cpu: "2", memory: "4Gi" },
      }),
    },
    signal,
  );

const shell = (script: string, rest: object = {}): Draft<PodSpec> => ({
  containers: [{ name: "web", image, command: ["/bin/sh", "-c", script], ...rest }],
});

async function start(runtime: CriRuntime, pod: Pod, sandbox: string, attempt = 0): Promise<string> {
  const [container] = pod.spec.containers;
  const found = await runtime.findImage(image, signal);
  assert.ok(container && found);
  const id = await runtime.createContainer(
    sandbox,
    { pod, container, kind: "app", attempt, imageId: found.id },
    signal,
  );
  await runtime.startContainer(id, signal);
  return id;
}

/** The container as it is when it has ended, by the runtime's own telling. */
async function ended(runtime: CriRuntime, uid: string, id: string): Promise<ContainerState> {
  const stop = new AbortController();
  const look = async () => (await runtime.observe(uid, signal)).containers.find((one) => one.id === id);
  try {
    const first = await look();
    if (first?.phase === "exited") return first;
    for await (const uids of runtime.changes(stop.signal)) {
      const state = uids.includes(uid) ? await look() : undefined;
      if (state?.phase === "exited") return state;
    }
  } finally {
    stop.abort(new Error("seen"));
  }
  return assert.fail("the runtime stopped telling");
}

test("containers of a real runtime", { skip: impossible }, async (t) => {
  await using containerd = await TestContainerd.start();
  const runtime = await connect(containerd);
  await using _ = { [Symbol.asyncDispose]: () => clear(runtime) };
  assert.equal(runtime.name, "containerd");

  await t.test("another process has the connection, too", () => {
    const path = containerd.endpoint.replace("unix://", "");
    assert.equal(processes().filter(({ args }) => args[0] === "sh" && args.includes(path)).length, 1);
  });

  await t.test("a container has its variables, its volumes and its name in the hosts file", async () => {
    const script = 'echo "$COLOUR $(cat /conf/colour) $IP"; echo kept > /work/file; cat /work/file /etc/hosts';
    const pod = podOf(
      {
        ...shell(script, {
          env: [
            { name: "COLOUR", valueFrom: { configMapKeyRef: { name: "settings", key: "colour" } } },
            { name: "IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
          ],
          volumeMounts: [
            { name: "conf", mountPath: "/conf" },
            { name: "work", mountPath: "/work", subPath: "sub" },
          ],
          terminationMessagePolicy: "FallbackToLogsOnError",
        }),
        volumes: [
          { name: "conf", configMap: { name: "settings" } },
          { name: "work", emptyDir: {} },
        ],
      },
      { metadata: { uid: "u-inputs", name: "inputs" } },
    );
    const sandbox = await runtime.runSandbox({ pod, attempt: 0 }, signal);
    const [ip = ""] = (await runtime.observe("u-inputs", signal)).sandboxes[0]?.ips ?? [];
    const id = await start(runtime, pod, sandbox);
    assert.equal((await ended(runtime, "u-inputs", id)).exitCode, 0);
    const log = readFileSync(`${containerd.folder}/logs/default_inputs_u-inputs/web/0.log`, "utf8");
    const said = log.replace(/^\S+ stdout F /gm, "").split("\n");
    assert.deepEqual(said.slice(0, 2), [`blue blue ${ip}`, "kept"]);
    assert.ok(said.includes(`${ip}\tinputs`), log);
    await runtime.stopSandbox(sandbox, signal);
    await runtime.removeSandbox(sandbox, signal);
  });

  await t.test("a container runs as whom it is told, with the groups of its pod, and knows its full name", async () => {
    const script = "cat /proc/self/status /proc/sys/kernel/hostname";
    const pod = podOf(
      {
        ...shell(script, { securityContext: { runAsUser: 1000, allowPrivilegeEscalation: false } }),
        securityContext: { runAsUser: 5, runAsGroup: 6, fsGroup: 2000, supplementalGroups: [3000, 4000] },
        hostname: "one",
        subdomain: "many",
        setHostnameAsFQDN: true,
      },
      { metadata: { uid: "u-who", name: "who" } },
    );
    const sandbox = await runtime.runSandbox({ pod, attempt: 0 }, signal);
    const id = await start(runtime, pod, sandbox);
    await ended(runtime, "u-who", id);
    const log = readFileSync(`${containerd.folder}/logs/default_who_u-who/web/0.log`, "utf8");
    const said = log
      .replace(/^\S+ stdout F /gm, "")
      .trim()
      .split("\n");
    const told = said.map((line) => line.trim().replaceAll(/\s+/g, " "));
    assert.deepEqual(
      told.filter((line) => /^(Uid|Gid|Groups|NoNewPrivs):|cluster/.test(line)),
      [
        "Uid: 1000 1000 1000 1000",
        "Gid: 6 6 6 6",
        "Groups: 6 2000 3000 4000",
        "NoNewPrivs: 1",
        "one.many.default.svc.cluster.local",
      ],
    );
    await runtime.stopSandbox(sandbox, signal);
    await runtime.removeSandbox(sandbox, signal);
  });

  await t.test("a container for a while sees the processes of the one it is aimed at", async () => {
    const ephemeralContainers = ["web", "nobody"].map((targetContainerName) => ({
      name: `look-at-${targetContainerName}`,
      image,
      command: ["/bin/sh", "-c", "cat /proc/1/cmdline; echo"],
      targetContainerName,
    }));
    const pod = podOf(
      { ...shell("exec sleep 1234"), ephemeralContainers },
      { metadata: { uid: "u-aim", name: "aim" } },
    );
    const sandbox = await runtime.runSandbox({ pod, attempt: 0 }, signal);
    await start(runtime, pod, sandbox);
    const imageId = (await runtime.findImage(image, signal))?.id ?? "";
    const make = (name: string) => {
      const container = pod.spec.ephemeralContainers?.find((one) => one.name === name);
      assert.ok(container);
      return runtime.createContainer(sandbox, { pod, container, kind: "ephemeral", attempt: 0, imageId }, signal);
    };
    const id = await make("look-at-web");
    await runtime.startContainer(id, signal);
    await ended(runtime, "u-aim", id);
    const log = readFileSync(`${containerd.folder}/logs/default_aim_u-aim/look-at-web/0.log`, "utf8");
    assert.ok(log.includes("sleep\x001234"), log);
    await assert.rejects(make("look-at-nobody"), { message: "unable to find target container nobody" });
    await runtime.stopSandbox(sandbox, signal);
    await runtime.removeSandbox(sandbox, signal);
  });

  await t.test("what the runtime cannot give is refused, not left out", async () => {
    const metadata = { uid: "u-not", name: "not" };
    const users = podOf({ ...shell("true"), hostUsers: false }, { metadata });
    await assert.rejects(
      runtime.runSandbox({ pod: users, attempt: 0 }, signal),
      /runtime does not support user namespaces/,
    );
    const other = podOf({ ...shell("true"), runtimeClassName: "gvisor" }, { metadata });
    await assert.rejects(runtime.runSandbox({ pod: other, attempt: 1 }, signal), /no runtime for "gvisor"/);
  });

  await t.test("a pod has a sandbox with an address", async () => {
    assert.equal(await runtime.notReady(signal), undefined);
    const pod = podOf(shell("exec sleep 1000"), { metadata: { uid: "u-run", name: "run" } });
    const sandbox = await runtime.runSandbox({ pod, attempt: 0 }, signal);
    const id = await start(runtime, pod, sandbox);
    const state = await runtime.observe("u-run", signal);
    assert.match(state.sandboxes[0]?.ips[0] ?? "", /^10\.202\.\d+\.\d+$/);
    assert.deepEqual(
      state.containers.map(({ name, phase, image: from, attempt }) => [name, phase, from, attempt]),
      [["web", "running", image, 0]],
    );
    assert.deepEqual(await runtime.pods(signal), ["u-run"]);

    const said = await runtime.exec(id, ["/bin/sh", "-c", "echo hello; exit 3"], signal);
    assert.deepEqual([said.exitCode, Buffer.from(said.output).toString()], [3, "hello\n"]);
    assert.ok(((await runtime.usage([id], signal)).get(id)?.memoryBytes ?? 0) > 0);

    await runtime.stopContainer(id, 2000, signal);
    const over = await ended(runtime, "u-run", id);
    assert.equal(over.exitCode, 137, "sleep as the first process hears no SIGTERM");
    await runtime.removeContainer(id, signal);
    await runtime.removeContainer(id, signal);
    await runtime.stopSandbox(sandbox, signal);
    await runtime.removeSandbox(sandbox, signal);
    await runtime.removeSandbox(sandbox, signal);
    assert.deepEqual(await runtime.observe("u-run", signal), { sandboxes: [], containers: [] });
  });

  await t.test("what a container says when it ends is heard", async () => {
    const pod = podOf(shell("echo $WHO > /dev/termination-log; exit 7", { env: [{ name: "WHO", value: "me" }] }), {
      metadata: { uid: "u-end", name: "end" },
    });
    const sandbox = await runtime.runSandbox({ pod, attempt: 0 }, signal);
    const over = await ended(runtime, "u-end", await start(runtime, pod, sandbox));
    assert.deepEqual([over.exitCode, over.reason, over.message], [7, "Error", "me\n"]);
    assert.ok(over.startedAt > 0 && over.finishedAt >= over.startedAt);
    const loud = podOf(shell("echo broken; exit 1", { terminationMessagePolicy: "FallbackToLogsOnError" }), {
      metadata: { uid: "u-end", name: "end" },
    });
    const last = await ended(runtime, "u-end", await start(runtime, loud, sandbox, 1));
    assert.deepEqual([last.message, last.attempt], ["broken", 1]);
    const { containers } = await runtime.observe("u-end", signal);
    assert.deepEqual(
      containers.map(({ attempt }) => attempt),
      [1, 0],
    );
    await runtime.removeSandbox(sandbox, signal);
  });

  await t.test("a container whose start is cut off runs, or is known never to have run", async () => {
    const pod = podOf(shell("sleep 1000"), { metadata: { uid: "u-cut", name: "cut" } });
    const [container] = pod.spec.containers;
    const found = await runtime.findImage(image, signal);
    assert.ok(container && found);
    const sandbox = await runtime.runSandbox({ pod, attempt: 0 }, signal);
    const stateOf = async (id: string) =>
      (await runtime.observe("u-cut", signal)).containers.find((one) => one.id === id);
    const cutOff = async (attempt: number) => {
      const config = { pod, container, kind: "app", attempt, imageId: found.id } as const;
      const id = await runtime.createContainer(sandbox, config, signal);
      const killed = new AbortController();
      const starting = runtime.startContainer(id, killed.signal).catch(() => undefined); // it is cut off, or was not in time
      await systemClock.sleep(attempt * 15, signal);
      killed.abort(new Error("as if the kubelet were killed"));
      await starting;
      for (let state = await stateOf(id); ; state = await stateOf(id)) {
        if (state?.phase !== "created") return state;
        await systemClock.sleep(100, signal);
        await runtime.startContainer(id, signal).catch(() => undefined); // refused while the first start goes on, or is being undone
      }
    };
    for (const state of await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(cutOff))) {
      assert.ok(state?.phase === "running" || state?.phase === "aborted", `${state?.phase}: ${state?.message}`);
      if (state.phase === "aborted") await runtime.removeContainer(state.id, signal);
    }
    await runtime.stopSandbox(sandbox, signal);
    for (const { id } of (await runtime.observe("u-cut", signal)).containers) await runtime.removeContainer(id, signal);
    await runtime.removeSandbox(sandbox, signal);
    assert.deepEqual(await runtime.observe("u-cut", signal), { sandboxes: [], containers: [] });
  });

  await t.test("what cannot be run is refused with the runtime's reason", async () => {
    const pod = podOf(
      { containers: [{ name: "web", image, command: ["/bin/none"] }] },
      { metadata: { uid: "u-bad", name: "bad" } },
    );
    const sandbox = await runtime.runSandbox({ pod, attempt: 0 }, signal);
    await assert.rejects(start(runtime, pod, sandbox), /\/bin\/none/);
    assert.equal(await runtime.findImage("knarr.test/none:1", signal), undefined);
    await runtime.removeSandbox(sandbox, signal);
  });
});

test("a kubelet on a real runtime", { skip: impossible }, async () => {
  await using containerd = await TestContainerd.start();
  const runtime = await connect(containerd);
  await using _ = { [Symbol.asyncDispose]: () => clear(runtime) };
  let made: Kubelet | undefined;
  await using cluster = await testCluster({
    controllers: [],
    components: ({ server }) => {
      made = kubelet({
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
      });
      return [made];
    },
  });
  const { client } = cluster;
  const create = (name: string, spec: Draft<PodSpec>) =>
    client.create(Pod, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace: "default" },
      spec: { nodeName: "n1", ...spec },
    });
  const until = async (name: string, isDone: (pod: Pod | undefined) => boolean) => {
    for (;;) {
      const pod = await client.find(Pod, { namespace: "default", name });
      if (isDone(pod)) return pod;
      await systemClock.sleep(50, signal);
    }
  };
  const ready = (pod: Pod | undefined) =>
    pod?.status.conditions?.find(({ type }) => type === "Ready")?.status === "True";

  const probe = { exec: { command: ["/bin/cat", "/ready"] }, periodSeconds: 1 };
  await create("web", {
    initContainers: [{ name: "setup", image, command: ["/bin/sh", "-c", "exit 0"] }],
    ...shell("trap 'exit 0' TERM; echo hello; echo > /ready; sleep 1000 & wait", { readinessProbe: probe }),
  });
  const web = await until("web", ready);
  assert.match(web?.status.podIP ?? "", /^10\.202\./);
  assert.match(web?.status.containerStatuses?.[0]?.containerID ?? "", /^containerd:\/\//);
  assert.equal(web?.status.initContainerStatuses?.[0]?.state.terminated?.reason, "Completed");

  const streams = criStreams(runtime, systemClock);
  const id = web?.status.containerStatuses?.[0]?.containerID?.slice("containerd://".length) ?? "";
  const log = await made?.handle({ method: "GET", url: "/containerLogs/default/web/web", headers: {}, signal });
  assert.ok(log && isStream(log.body));
  const lines: string[] = [];
  for await (const part of log.body) lines.push(Buffer.from(part).toString());
  assert.deepEqual(lines, ["hello\n"]);

  let said = "";
  const options = { stdin: true, stdout: true, stderr: false, tty: false };
  const status = await streams.exec(
    { id, options },
    ["/bin/sh", "-c", "cat; exit 4"],
    {
      stdin: (async function* () {
        yield Buffer.from("through and through");
      })(),
      stdout: async (bytes) => {
        said += Buffer.from(bytes).toString();
      },
      stderr: undefined,
      resizes: (async function* () {
        yield* [];
      })(),
    },
    signal,
  );
  assert.equal(said, "through and through");
  assert.deepEqual(status.details?.causes, [{ reason: "ExitCode", message: "4" }]);

  await create("job", { restartPolicy: "Never", ...shell("exit 0") });
  await until("job", (pod) => pod?.status.phase === "Succeeded");

  await create("crash", shell("exit 5"));
  const crash = await until(
    "crash",
    (pod) => pod?.status.containerStatuses?.[0]?.state.waiting?.reason === "CrashLoopBackOff",
  );
  assert.equal(crash?.status.containerStatuses?.[0]?.restartCount, 1);
  assert.equal(crash?.status.containerStatuses?.[0]?.lastState.terminated?.exitCode, 5);

  for (const name of ["web", "job", "crash"]) {
    await client.delete(Pod, { namespace: "default", name });
    await until(name, (pod) => pod === undefined);
  }
  while ((await runtime.pods(signal)).length > 0) await systemClock.sleep(50, signal);
});

/** Network namespaces of pods outlive a containerd that is killed. */
async function clear(runtime: CriRuntime): Promise<void> {
  for (const uid of await runtime.pods(signal))
    for (const { id } of (await runtime.observe(uid, signal)).sandboxes) await runtime.removeSandbox(id, signal);
  runtime.close();
}
