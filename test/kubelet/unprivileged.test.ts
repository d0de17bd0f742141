// What a container that does not run as root can do with what the kubelet made for it, on a real containerd.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Event } from "#api/core/v1/event.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { processes } from "#cluster/machine/processes.ts";
import { impossible } from "./containerd.ts";
import { isReady, MachineNode, namespace, shell } from "./machine-node.ts";

/** Masks that the kubelet may have been started with; the runtime has its own. */
for (const mask of [0, 0o077])
  test(`a container that is not root writes where it may, and its last words, under a mask of ${mask.toString(8)}`, {
    skip: impossible,
  }, async () => {
    await using node = await MachineNode.start();
    const before = process.umask(mask);
    try {
      await node.startKubelet();
      await node.client.create(ConfigMap, { metadata: { name: "conf", namespace }, data: { colour: "blue" } });
      const script = `set -e
        test "$(cat /conf/colour)" = blue; cat /etc/hosts > /dev/null
        for folder in /work /fast /part; do echo mine > $folder/file; done
        echo "last words" > /dev/termination-log`;
      await node.create("user", {
        ...shell(script, {
          securityContext: { runAsUser: 1000, runAsGroup: 1000 },
          volumeMounts: [
            { name: "conf", mountPath: "/conf" },
            { name: "work", mountPath: "/work" },
            { name: "work", mountPath: "/part", subPath: "part/inner" },
            { name: "fast", mountPath: "/fast" },
          ],
        }),
        restartPolicy: "Never",
        volumes: [
          { name: "conf", configMap: { name: "conf" } },
          { name: "work", emptyDir: {} },
          { name: "fast", emptyDir: { medium: "Memory" } },
        ],
      });
      const { status } = await node.untilPod("user", ({ status: { phase = "" } }) => /Succeeded|Failed/.test(phase));
      const { exitCode, message } = status.containerStatuses?.[0]?.state.terminated ?? {};
      assert.deepEqual([exitCode, message], [0, "last words\n"]);
      await node.remove("user");
    } finally {
      process.umask(before);
    }
  });

test("a part of a volume that is named by an annotation is waited for, and taken once the annotation is there", {
  skip: impossible,
}, async () => {
  await using node = await MachineNode.start();
  await node.startKubelet();
  const fieldRef = { fieldPath: "metadata.annotations['part']" };
  await node.create("late", {
    ...shell("test -e /whole/mine/web; exit $?", {
      env: [
        { name: "PART", valueFrom: { fieldRef } },
        { name: "NAME", value: "web" },
      ],
      volumeMounts: [
        { name: "work", mountPath: "/part", subPathExpr: "$(PART)/$(NAME)" },
        { name: "work", mountPath: "/whole" },
      ],
    }),
    restartPolicy: "Never",
    volumes: [{ name: "work", emptyDir: {} }],
  });
  const waiting = ({ status }: Pod) => status.containerStatuses?.[0]?.state.waiting;
  const isRefused = (pod: Pod) => waiting(pod)?.reason === "CreateContainerConfigError";
  const refused = await node.untilPod("late", isRefused);
  assert.equal(waiting(refused)?.message, "missing value for PART");
  const annotate = (part: string) =>
    node.client.patch(Pod, { namespace, name: "late" }, "merge", { metadata: { annotations: { part } } });
  for (const [part, message] of [
    ["/tmp", "error SubPath `/tmp/web` must not be an absolute path"],
    ["..", "unable to provision SubPath `../web`: must not contain '..'"],
  ] as const) {
    await annotate(part);
    await node.untilPod("late", (pod) => waiting(pod)?.message === message);
    const { items } = await node.client.list(Event, { namespace });
    assert.ok(items.some((event) => event.reason === "Failed" && event.message === `Error: ${message}`));
  }
  await annotate("mine");
  await node.untilPod("late", ({ status }) => status.phase === "Succeeded");
  await node.remove("late");
});

test("the process of every sandbox is held by a filter, and its pod runs, ends and can be reached into", {
  skip: impossible,
}, async () => {
  await using node = await MachineNode.start();
  await node.startKubelet();
  const script = "trap 'exit 0' TERM; sleep 1000 & wait";
  for (const [name, more] of Object.entries({
    plain: {},
    shared: { shareProcessNamespace: true },
    user: { securityContext: { runAsUser: 1000, runAsNonRoot: true } },
    host: { hostPID: true, hostNetwork: true },
  })) {
    await node.create(name, { ...shell(script), ...more });
    await node.untilPod(name, isReady);
  }
  const sandboxes = processes().filter(
    ({ pid, args }) => args.join(" ") === "/bin/sleep 2147483647" && groupsOf(pid).includes(node.cgroupRoot),
  );
  assert.equal(sandboxes.length, 4);
  for (const { pid } of sandboxes)
    assert.match(readFileSync(`/proc/${pid}/status`, "utf8"), /^Seccomp:\s+2$/m, "it has a filter");
  for (const name of ["plain", "shared", "user", "host"]) await node.remove(name);
});

const groupsOf = (pid: number): string => readFileSync(`/proc/${pid}/cgroup`, "utf8");
