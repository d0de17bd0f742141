// A whole kubelet on a real containerd.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Event } from "#api/core/v1/event.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { Secret } from "#api/core/v1/secret.ts";
import { podGroup } from "#kubelet/cgroups/tree.ts";
import { Hierarchy } from "#kubelet/host/cgroups/hierarchy.ts";
import { image, impossible } from "./containerd.ts";
import { fastClock, isReady, MachineNode, namespace, shell } from "./machine-node.ts";

const idOf = (pod: Pod) => pod.status.containerStatuses?.[0]?.containerID;

test("a kubelet takes over what runs, and leaves it alone", { skip: impossible }, async () => {
  await using node = await MachineNode.start();
  await node.startKubelet();
  const sleep = "trap 'exit 0' TERM; sleep 1000 & wait";
  const probe = { exec: { command: ["/bin/sh", "-c", "exit 0"] }, periodSeconds: 1 };
  await node.create("web", shell(sleep, { readinessProbe: probe, startupProbe: probe }));
  await node.create("crash", shell("exit 5"));
  const web = await node.untilPod("web", isReady);
  const crash = await node.untilPod("crash", (pod) => (pod.status.containerStatuses?.[0]?.restartCount ?? 0) >= 1);
  const { nodeInfo, images } = (await node.until(() => node.node(), "the node")).status;
  assert.match(nodeInfo.containerRuntimeVersion, /^containerd:\/\/\d/);
  assert.ok(images?.some(({ names }) => names.some((name) => name.includes("knarr.test/tools"))));

  await node.dropKubelet();
  await node.startKubelet();
  await node.until(async () => isReady((await node.pod("web")) as Pod));
  const crashed = await node.untilPod("crash", (pod) => pod.status.containerStatuses?.[0]?.state.waiting);
  assert.equal(crashed.status.containerStatuses?.[0]?.state.waiting?.reason, "CrashLoopBackOff");
  assert.ok((crashed.status.containerStatuses?.[0]?.restartCount ?? 0) <= 2, "the back-off goes on");
  const after = await node.pod("web");
  assert.equal(idOf(after as Pod), idOf(web));
  assert.equal(after?.status.containerStatuses?.[0]?.restartCount, 0);
  assert.equal(after?.status.startTime, web.status.startTime);
  const readySince = (pod: Pod | undefined) =>
    pod?.status.conditions?.find(({ type }) => type === "Ready")?.lastTransitionTime;
  assert.equal(readySince(after), readySince(web), "it was never called unready");
  assert.ok(crash);
  for (const name of ["web", "crash"]) await node.remove(name);
});

test("a hook that a kubelet did not run to its end is run by the next, and no other is", {
  skip: impossible,
}, async () => {
  await using node = await MachineNode.start();
  await node.startKubelet();
  const hooked = (hook: string) => ({
    ...shell("trap 'exit 0' TERM; sleep 1000 & wait", {
      volumeMounts: [{ name: "work", mountPath: "/work" }],
      lifecycle: { postStart: { exec: { command: ["/bin/sh", "-c", `echo ran >> /work/hooks; ${hook}`] } } },
    }),
    volumes: [{ name: "work", emptyDir: {} }],
  });
  const slow = await node.create("slow", hooked("until [ -e /work/go ]; do sleep 1; done"));
  const quick = await node.create("quick", hooked("true"));
  const work = ({ metadata }: Pod) =>
    `${node.containerd.folder}/kubelet/pods/${metadata.uid}/volumes/kubernetes.io~empty-dir/work`;
  const runs = (pod: Pod) =>
    existsSync(`${work(pod)}/hooks`) ? readFileSync(`${work(pod)}/hooks`, "utf8").match(/ran/g)?.length : 0;
  const started = await node.untilPod("quick", isReady);
  await node.until(async () => runs(slow) === 1, "the first run of the hook");
  assert.equal((await node.pod("slow"))?.status.phase, "Pending");

  await node.dropKubelet();
  await node.startKubelet();
  await node.until(async () => runs(slow) === 2, "the second run of the hook");
  assert.equal((await node.pod("slow"))?.status.phase, "Pending");
  writeFileSync(`${work(slow)}/go`, "");
  const after = await node.untilPod("slow", isReady);
  assert.equal(after.status.containerStatuses?.[0]?.restartCount, 0);
  assert.deepEqual([runs(slow), runs(quick)], [2, 1]);

  await node.dropKubelet();
  await node.startKubelet();
  await node.create("later", shell("exit 0"));
  await node.untilPod("later", (pod) => pod.status.containerStatuses?.[0]?.containerID);
  for (const pod of [after, started]) assert.equal(idOf((await node.pod(pod.metadata.name)) as Pod), idOf(pod));
  assert.deepEqual([runs(slow), runs(quick)], [2, 1], "what has run is not run again");
  for (const name of ["slow", "quick", "later"]) await node.remove(name);
});

test("the limits of a pod that runs are changed in the kernel, up and down", { skip: impossible }, async () => {
  await using node = await MachineNode.start();
  await node.startKubelet();
  const resources = { requests: { cpu: "50m", memory: "32Mi" }, limits: { cpu: "100m", memory: "64Mi" } };
  const pod = await node.create("web", shell("trap 'exit 0' TERM; sleep 1000 & wait", { resources }));
  const first = await node.untilPod("web", isReady);
  const resize = async (cpu: string, memory: string) => {
    const [container] = pod.spec.containers;
    const spec = { containers: [{ name: container?.name, resources: { limits: { cpu, memory } } }] };
    await node.client.patch(Pod, { namespace, name: "web" }, "strategic", { spec }, { subresource: "resize" });
    return node.untilPod("web", ({ status }) => {
      const { limits: given } = status.containerStatuses?.[0]?.resources ?? {};
      const isBusy = status.conditions?.some(({ type }) => type.startsWith("PodResize"));
      return given?.memory === memory && given.cpu === cpu && !isBusy;
    });
  };
  const hierarchy = new Hierarchy();
  const group = podGroup(node.cgroupRoot, pod);
  const [memoryFile, quotaFile] = hierarchy.isUnified
    ? ["memory.max", "cpu.max"]
    : ["memory.limit_in_bytes", "cpu.cfs_quota_us"];
  const limitsOf = (place: string) => [
    Number(readFileSync(`${hierarchy.folderOf("memory", place)}/${memoryFile}`, "utf8")) / 2 ** 20,
    Number.parseInt(readFileSync(`${hierarchy.folderOf("cpu", place)}/${quotaFile}`, "utf8"), 10) / 1000,
  ];
  for (const [cpu, memory, expected] of [
    ["300m", "96Mi", [96, 30]],
    ["80m", "48Mi", [48, 8]],
  ] as const) {
    const after = await resize(cpu, memory);
    const container = `${group}/${idOf(after)?.replace("containerd://", "")}`;
    assert.deepEqual([limitsOf(group), limitsOf(container)], [expected, expected]);
    assert.deepEqual([idOf(after), after.status.containerStatuses?.[0]?.restartCount], [idOf(first), 0]);
  }
  await node.remove("web");
});

test("a runtime that is killed or says nothing makes its node unready, and no pod", {
  skip: impossible,
}, async () => {
  await using node = await MachineNode.start();
  await node.startKubelet({ clock: fastClock(20) });
  await node.create("web", shell("trap 'exit 0' TERM; sleep 1000 & wait"));
  const web = await node.untilPod("web", isReady);
  const ready = async () => (await node.node())?.status.conditions?.find(({ type }) => type === "Ready");
  await node.until(async () => (await ready())?.status === "True", "a node that is ready");
  const breaks: readonly [string, () => Promise<void>, () => Promise<void>][] = [
    ["killed", () => node.containerd.kill(), () => node.containerd.startAgain()],
    ["frozen", async () => node.containerd.freeze(true), async () => node.containerd.freeze(false)],
  ];
  for (const [how, harm, heal] of breaks) {
    await harm();
    const bad = await node.until(async () => {
      const found = await ready();
      return found?.status === "False" ? found : undefined;
    }, `an unready node, ${how}`);
    assert.deepEqual([bad.reason, bad.message], ["KubeletNotReady", "container runtime is down"]);
    const meanwhile = await node.pod("web");
    assert.deepEqual([meanwhile?.status.phase, idOf(meanwhile as Pod)], ["Running", idOf(web)]);
    await heal();
    await node.until(async () => (await ready())?.status === "True", `a node that is ready again, ${how}`);
  }
  const reasons = (await node.client.list(Event, { namespace })).items.map(({ reason }) => reason);
  assert.ok(reasons.includes("NodeNotReady") && reasons.includes("NodeReady"));
  assert.ok(!reasons.includes("SandboxChanged"));
  const after = await node.pod("web");
  assert.deepEqual([idOf(after as Pod), after?.status.containerStatuses?.[0]?.restartCount], [idOf(web), 0]);
  await node.create("next", shell("exit 0", {}));
  await node.untilPod("next", (pod) => pod.status.containerStatuses?.[0]?.lastState.terminated);
});

test("a flood of logs is cut, and nothing of a pod is left", { skip: impossible }, async () => {
  await using node = await MachineNode.start();
  await node.startKubelet({ clock: fastClock(20) });
  const line = "x".repeat(4000);
  await node.create("flood", shell(`while :; do echo ${line}; done`));
  await node.create("job", { restartPolicy: "Never", ...shell("echo done") });
  const { uid } = (await node.untilPod("flood", isReady)).metadata;
  const at = (path: string) => readdirSync(`${node.containerd.folder}/kubelet/${path}`);
  const folder = `logs/default_flood_${uid}/web`;
  await node.until(async () => at(folder).some((name) => name.endsWith(".gz")), "a compressed part of the log");
  assert.ok(at(folder).length <= 5);
  assert.ok(at("container-logs").some((name) => name.startsWith("flood_default_web-")));
  await node.untilPod("job", ({ status }) => status.phase === "Succeeded");
  for (const name of ["flood", "job"]) await node.remove(name);
  await node.until(
    async () => ["logs", "container-logs", "pods"].every((path) => at(path).length === 0),
    "empty folders",
  );
});

test("limits bind, a fork bomb harms nobody, and no group is left", {
  skip: impossible,
}, async () => {
  await using node = await MachineNode.start();
  await node.startKubelet({ podPidsLimit: 40 });
  const hierarchy = new Hierarchy();
  const read = (controller: string, group: string, file: string) =>
    readFileSync(`${hierarchy.folderOf(controller, group)}/${file}`, "utf8").trim();
  const sleep = "trap 'exit 0' TERM; sleep 1000 & wait";
  await node.create("good", shell(sleep));
  const { uid: goodUid } = (await node.untilPod("good", isReady)).metadata;
  const resources = { requests: { cpu: "100m", memory: "32Mi" }, limits: { cpu: "500m", memory: "256Mi" } };
  await node.create("bomb", {
    restartPolicy: "Never",
    ...shell("b() { b | b & }; while :; do b; done", { resources }),
  });
  const { uid } = (await node.untilPod("bomb", ({ status }) => status.containerStatuses?.[0]?.containerID)).metadata;
  const group = `${node.cgroupRoot}/kubepods/burstable/pod${uid}`;
  assert.deepEqual(await hierarchy.below(`${node.cgroupRoot}/kubepods/besteffort`), [`pod${goodUid}`]);
  if (!hierarchy.isUnified) {
    assert.deepEqual(
      [
        read("memory", group, "memory.limit_in_bytes"),
        read("cpu", group, "cpu.shares"),
        read("cpu", group, "cpu.cfs_quota_us"),
        read("cpu", `${node.cgroupRoot}/kubepods/burstable`, "cpu.shares"),
        read("cpu", `${node.cgroupRoot}/kubepods/besteffort`, "cpu.shares"),
      ],
      [String(2 ** 28), "102", "50000", "102", "2"],
    );
  }
  assert.equal(read("pids", group, "pids.max"), "40");
  const log = `${node.containerd.folder}/kubelet/logs/default_bomb_${uid}/web/0.log`;
  await node.until(async () => readFileSync(log, "utf8").includes("Cannot fork"), "a bomb that has gone off");
  const good = await node.pod("good");
  assert.ok(isReady(good as Pod));
  await node.create("next", shell(sleep));
  await node.untilPod("next", isReady);
  for (const name of ["bomb", "good", "next"]) await node.remove(name);
  for (const place of ["", "/burstable", "/besteffort"])
    assert.deepEqual(
      (await hierarchy.below(`${node.cgroupRoot}/kubepods${place}`)).filter((name) => name.startsWith("pod")),
      [],
    );
});

test("a container that takes too much memory is killed alone", { skip: impossible }, async () => {
  await using node = await MachineNode.start();
  await node.startKubelet();
  const limits = { memory: "32Mi" };
  const hungry = 'a=x; while :; do a="$a$a$a$a"; done';
  await node.create("hungry", { restartPolicy: "Never", ...shell(hungry, { resources: { limits } }) });
  const { status } = await node.untilPod("hungry", (pod) => pod.status.phase === "Failed");
  const { reason, exitCode } = status.containerStatuses?.[0]?.state.terminated ?? {};
  assert.deepEqual([reason, exitCode], ["OOMKilled", 137]);
  await node.remove("hungry");
});

test("a node tells what its pods use, and ends one that fills its volume", {
  skip: impossible,
}, async () => {
  await using node = await MachineNode.start();
  const kubelet = await node.startKubelet({ clock: fastClock(20) });
  const busy = shell("trap 'exit 0' TERM; while :; do :; done", {
    volumeMounts: [{ name: "work", mountPath: "/work" }],
  });
  await node.create("busy", { ...busy, volumes: [{ name: "work", emptyDir: { sizeLimit: "1Mi" } }] });
  const { uid } = (await node.untilPod("busy", isReady)).metadata;
  const { signal } = new AbortController();
  const { whole: first, pod: second } = await node.until(async () => {
    const { node: whole, pods } = (await kubelet.stats?.("all", signal)) ?? assert.fail("it tells nothing");
    const pod = pods.find(({ podRef }) => podRef.uid === uid);
    return pod?.containers[0]?.cpu?.usageNanoCores && whole.cpu?.usageNanoCores ? { whole, pod } : undefined;
  }, "rates");
  assert.ok((first.fs?.capacityBytes ?? 0) > 0 && (first.memory?.availableBytes ?? 0) > 0);
  assert.ok((second.memory?.workingSetBytes ?? 0) > 0 && (second.cpu?.usageCoreNanoSeconds ?? 0) > 0);
  assert.ok((second.network?.interfaces.length ?? 0) > 0, "its interface is seen");
  assert.ok((second.process_stats?.process_count ?? 0) >= 2, "the sandbox's and its own");
  assert.equal(second.volume?.[0]?.name, "work");
  const answer = await kubelet.handle({ method: "GET", url: "/stats/summary", headers: {}, signal });
  assert.match(String(answer.body), /"nodeName":"n1"/);
  const path = `${node.containerd.folder}/kubelet/pods/${uid}/volumes/kubernetes.io~empty-dir/work/big`;
  writeFileSync(path, Buffer.alloc(2 * 2 ** 20));
  const { status } = await node.untilPod("busy", (pod) => pod.status.phase === "Failed");
  assert.deepEqual(
    [status.reason, status.message],
    ["Evicted", 'Usage of EmptyDir volume "work" exceeds the limit "1Mi". '],
  );
});

test("volumes of a real pod hold what they should, and a link in the way leads nowhere", {
  skip: impossible,
}, async () => {
  await using node = await MachineNode.start();
  await node.startKubelet();
  await node.client.create(ConfigMap, { metadata: { name: "conf", namespace }, data: { colour: "blue" } });
  await node.client.create(Secret, { metadata: { name: "hidden", namespace }, data: { word: btoa("geheim") } });
  const volumes = [
    { name: "conf", configMap: { name: "conf" } },
    { name: "hidden", secret: { secretName: "hidden" } },
    { name: "fast", emptyDir: { medium: "Memory", sizeLimit: "1Mi" } },
    { name: "work", emptyDir: {} },
  ];
  const mount = (name: string) => ({ name, mountPath: `/${name}` });
  const say =
    'echo "$(cat /conf/colour) $(cat /hidden/word)"; echo x > /fast/file && echo y > /conf/new; echo $?; sleep 1000 & wait';
  const mounts = ["conf", "hidden", "fast", "work"].map(mount);
  await node.create("web", { volumes, ...shell(say, { volumeMounts: mounts }) });
  const { uid } = (await node.untilPod("web", isReady)).metadata;
  const { folder } = node.containerd;
  const log = `${folder}/kubelet/logs/default_web_${uid}/web/0.log`;
  await node.until(async () => readFileSync(log, "utf8").includes("stdout F 2"), "the end of what it says");
  assert.match(readFileSync(log, "utf8"), /stdout F blue geheim\n/);
  assert.equal(readFileSync(`${folder}/memory/${uid}/volumes/kubernetes.io~secret/hidden/word`, "utf8"), "geheim");
  await node.client.patch(ConfigMap, { namespace, name: "conf" }, "merge", { data: { colour: "red" } });
  const colour = `${folder}/kubelet/pods/${uid}/volumes/kubernetes.io~configmap/conf/colour`;
  await node.until(async () => readFileSync(colour, "utf8") === "red", "the change");

  // One container swaps a folder and a link to the host's /etc, the other mounts what is there, again and again.
  const loop = 'while (1) { rename "x", "y"; symlink "/etc", "x"; unlink "x"; rename "y", "x" }';
  const swap = `exec perl -e 'chdir "/work"; mkdir "x"; ${loop}'`;
  const look = "cat /here/shadow && exit 7; exit 1";
  await node.create("attack", {
    volumes: [{ name: "work", emptyDir: {} }],
    containers: [
      { name: "bad", image, command: ["/bin/sh", "-c", swap], volumeMounts: [mount("work")] },
      {
        name: "victim",
        image,
        command: ["/bin/sh", "-c", look],
        volumeMounts: [{ name: "work", mountPath: "/here", subPath: "x" }],
      },
    ],
  });
  const { status } = await node.untilPod("attack", (pod) =>
    pod.status.containerStatuses?.some(
      ({ name, state, lastState }) =>
        name === "victim" && (lastState.terminated ?? state.waiting?.reason === "CreateContainerConfigError"),
    ),
  );
  const [bad, victim] = status.containerStatuses ?? [];
  assert.ok(bad?.state.running, "the attack goes on all the while");
  const { lastState, state } = victim ?? assert.fail("there is no victim");
  // It sees its own folder, or is not started.
  if (lastState.terminated) assert.equal(lastState.terminated.exitCode, 1);
  else
    assert.match(
      state.waiting?.message ?? "",
      /failed to prepare subPath for volumeMount "work" of container "victim"/,
    );
  for (const name of ["web", "attack"]) await node.remove(name);
  await node.until(async () => readdirSync(`${folder}/kubelet/pods`).length === 0, "empty folders");
  assert.deepEqual(readdirSync(`${folder}/memory`), []);
});
