import assert from "node:assert/strict";
import { test } from "node:test";
import type { Container } from "#api/core/v1/container.ts";
import type { Draft } from "#schema/infer.ts";
import { podOf } from "../testing.ts";
import { criContainer, criResources, criSandbox } from "./cri-config.ts";
import { containerSecurity } from "./cri-security.ts";

const settings = { logsDirectory: "/var/log/pods", seccompDirectory: "/seccomp", memoryBytes: 4 * 2 ** 30 };
const one = (container: Draft<Container>, spec: object = {}) =>
  podOf({ ...spec, containers: [{ name: "web", image: "nginx", ...container }] });

test("resources become shares, quotas and scores", () => {
  const table: readonly [Draft<Container["resources"]>, object][] = [
    [{}, { cpuQuota: 0, cpuShares: 2, memoryLimitInBytes: 0, oomScoreAdj: 1000 }],
    [{ requests: { cpu: "500m" } }, { cpuQuota: 0, cpuShares: 512, memoryLimitInBytes: 0, oomScoreAdj: 999 }],
    [
      { requests: { memory: "1Gi" }, limits: { cpu: "2", memory: "2Gi" } },
      { cpuQuota: 200_000, cpuShares: 2048, memoryLimitInBytes: 2 ** 31, oomScoreAdj: 750 },
    ],
    [
      { requests: { cpu: "1m", memory: "1Mi" }, limits: { cpu: "1m", memory: "1Mi" } },
      { cpuQuota: 1000, cpuShares: 2, memoryLimitInBytes: 2 ** 20, oomScoreAdj: -997 },
    ],
    [
      { requests: { memory: "1536Mi" }, limits: { "hugepages-2Mi": "64Mi" } },
      {
        cpuQuota: 0,
        cpuShares: 2,
        memoryLimitInBytes: 0,
        oomScoreAdj: 625,
        hugepageLimits: [{ pageSize: "2MB", limit: 2 ** 26 }],
      },
    ],
  ];
  for (const [resources, expected] of table) {
    const pod = one({ resources });
    const [container] = pod.spec.containers;
    const { cpuPeriod, ...rest } = criResources(pod, container!, settings);
    assert.equal(cpuPeriod, 100_000);
    assert.deepEqual(rest, { hugepageLimits: [], ...expected });
  }
});

test("a sandbox has the pod's name, ports and namespaces", () => {
  const ports = [{ containerPort: 80, hostPort: 8080, protocol: "UDP" as const }, { containerPort: 81 }];
  const { labels, portMappings, linux, logDirectory, hostname } = criSandbox(
    { pod: one({ ports }), attempt: 2 },
    settings,
  );
  assert.equal(hostname, "web");
  assert.equal(logDirectory, "/var/log/pods/default_web_u1");
  assert.equal(labels["io.kubernetes.pod.uid"], "u1");
  assert.deepEqual(portMappings, [{ protocol: 1, containerPort: 80, hostPort: 8080, hostIp: "" }]);
  assert.deepEqual(linux.securityContext.namespaceOptions, { network: 0, pid: 1, ipc: 0 });
  const host = criSandbox(
    { pod: one({ ports }, { hostNetwork: true, hostPID: true, hostIPC: true }), attempt: 0 },
    settings,
  );
  assert.equal(host.hostname, "");
  assert.deepEqual(host.portMappings, []);
  assert.deepEqual(host.linux.securityContext.namespaceOptions, { network: 2, pid: 2, ipc: 2 });
});

test("every sandbox is held by a filter: the node's own, or the runtime's", () => {
  for (const spec of [{}, { shareProcessNamespace: true }, { hostPID: true }, { hostNetwork: true, hostIPC: true }]) {
    const filterOf = (more: object) =>
      criSandbox({ pod: one({}, spec), attempt: 0 }, { ...settings, ...more }).linux.securityContext.seccomp;
    assert.deepEqual(filterOf({}), { profileType: 0, localhostRef: "" });
    assert.deepEqual(filterOf({ sandboxProfile: "/f.json" }), { profileType: 2, localhostRef: "/f.json" });
  }
});

test("a container gets its command with variables, its rights and its places", () => {
  const pod = one(
    {
      command: ["run", "$(A)", "$(B)"],
      env: [{ name: "A", value: "1" }],
      volumeMounts: [{ name: "data", mountPath: "/data", readOnly: true }],
      securityContext: { runAsUser: 7, allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
    },
    { volumes: [{ name: "data", hostPath: { path: "/srv" } }], securityContext: { runAsUser: 5, runAsGroup: 6 } },
  );
  const [container] = pod.spec.containers;
  const config = { pod, container: container!, kind: "app", attempt: 3, imageId: "sha256:1" } as const;
  const mounts = [{ containerPath: "/data", hostPath: "/srv", readonly: true, propagation: 0 }];
  const inputs = { env: [{ name: "A", value: "1" }], mounts };
  const described = criContainer(config, inputs, settings);
  assert.deepEqual(described.command, ["run", "1", "$(B)"]);
  assert.deepEqual(described.mounts, mounts);
  assert.equal(described.logPath, "web/3.log");
  const { runAsUser, runAsGroup, noNewPrivs, capabilities, privileged } = described.linux.securityContext;
  assert.deepEqual(
    [runAsUser, runAsGroup, noNewPrivs, capabilities.drop, privileged],
    [{ value: 7 }, { value: 6 }, true, ["ALL"], false],
  );
});

test("a pod and a container say what it may do, the container last", () => {
  const securityContext = {
    fsGroup: 2000,
    supplementalGroups: [3000],
    supplementalGroupsPolicy: "Strict" as const,
    seLinuxOptions: { level: "s0:c1,c2" },
    appArmorProfile: { type: "RuntimeDefault" as const },
    seccompProfile: { type: "Localhost" as const, localhostProfile: "strict.json" },
  };
  const pod = one({}, { securityContext });
  const ofSandbox = criSandbox({ pod, attempt: 0 }, settings).linux.securityContext;
  assert.deepEqual(ofSandbox.supplementalGroups, [2000, 3000]);
  assert.equal(ofSandbox.supplementalGroupsPolicy, 1);
  const selinuxOptions = { user: "", role: "", type: "", level: "s0:c1,c2" };
  const inherited = containerSecurity(pod, pod.spec.containers[0]!, settings);
  assert.deepEqual(inherited.supplementalGroups, [2000, 3000]);
  assert.deepEqual(inherited.seccomp, { profileType: 2, localhostRef: "/seccomp/strict.json" });
  const { selinuxOptions: label, apparmor, apparmorProfile } = { selinuxOptions: undefined, ...inherited };
  assert.deepEqual(label, selinuxOptions);
  assert.deepEqual([apparmor, apparmorProfile], [{ profileType: 0, localhostRef: "" }, "runtime/default"]);

  const own = one(
    {
      securityContext: {
        appArmorProfile: { type: "Localhost", localhostProfile: "mine" },
        seccompProfile: { type: "RuntimeDefault" },
      },
    },
    { securityContext },
  );
  const chosen = containerSecurity(own, own.spec.containers[0]!, { ...settings, target: "c9" });
  assert.deepEqual(chosen.seccomp, { profileType: 0, localhostRef: "" });
  assert.deepEqual(
    [chosen.apparmor, chosen.apparmorProfile],
    [{ profileType: 2, localhostRef: "mine" }, "localhost/mine"],
  );
  assert.deepEqual(chosen.namespaceOptions, { network: 0, pid: 3, ipc: 0, targetId: "c9" });
});

test("a container sees neither what upstream hides of the kernel nor the heat of processors, unless it sees all", () => {
  const heat = "/sys/devices/system/cpu/cpu0/thermal_throttle";
  const pathsOf = (securityContext: object) => {
    const pod = one({ securityContext });
    return containerSecurity(pod, pod.spec.containers[0]!, { ...settings, throttleFolders: [heat] });
  };
  const hidden = [
    "interrupts",
    "kcore",
    "keys",
    "latency_stats",
    "timer_list",
    "sched_debug",
    "scsi",
    "acpi",
    "asound",
  ];
  const { maskedPaths, readonlyPaths } = pathsOf({});
  for (const path of [...hidden.map((name) => `/proc/${name}`), "/sys/firmware", "/sys/devices/virtual/powercap", heat])
    assert.ok(maskedPaths.includes(path), path);
  assert.deepEqual(readonlyPaths, ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]);
  for (const bare of [{ privileged: true }, { procMount: "Unmasked" }])
    assert.deepEqual([pathsOf(bare).maskedPaths, pathsOf(bare).readonlyPaths], [[], []]);
});

test("devices of claims are named to the runtime", () => {
  const pod = one({});
  const [container] = pod.spec.containers;
  const config = { pod, container: container!, kind: "app" as const, attempt: 0, imageId: "sha" };
  const inputs = { env: [], mounts: [] };
  const cdiDevices = ["gpu.example.com/device=gpu-0"];
  assert.deepEqual(criContainer(config, { ...inputs, cdiDevices }, settings).cdiDevices, [{ name: cdiDevices[0] }]);
  assert.equal(criContainer(config, inputs, settings).cdiDevices, undefined);
});
