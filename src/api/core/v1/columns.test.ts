import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnyKind } from "#schema/index.ts";
import { changed, defaulted } from "../../testing/rules.ts";
import { ConfigMap } from "./config-map.ts";
import { Endpoints } from "./endpoints.ts";
import { Event } from "./event.ts";
import { Node } from "./node.ts";
import { PersistentVolume } from "./persistent-volume.ts";
import { PersistentVolumeClaim } from "./persistent-volume-claim.ts";
import { Pod } from "./pod.ts";
import { ResourceQuota } from "./resource-quota.ts";
import { Service } from "./service.ts";

type Json = Record<string, unknown>;
const now = Date.parse("2026-01-01T01:00:00Z");
const metadata = { name: "x", namespace: "default", creationTimestamp: "2026-01-01T00:55:00Z" };

/** The cells of an object by the names of their columns. */
const cells = (kind: AnyKind, given: Json): Json => {
  const object = defaulted(kind, { ...given, metadata: { ...metadata, ...(given.metadata as Json | undefined) } });
  return Object.fromEntries((kind.columns ?? []).map(({ name, cell }) => [name, cell(object as never, now)]));
};

const base = {
  spec: {
    containers: [
      { name: "a", image: "a" },
      { name: "b", image: "b" },
    ],
  },
};
const running = (name: string, more: Json = {}) => ({ name, ready: true, state: { running: {} }, ...more });
const ended = (name: string, terminated: Json) => ({ name, state: { terminated } });
const init = {
  "spec.initContainers": [
    { name: "i", image: "i" },
    { name: "s", image: "s", restartPolicy: "Always" },
  ],
};

const pods: [name: string, change: Json, ready: string, status: string, restarts: string][] = [
  ["pending", { "status.phase": "Pending" }, "0/2", "Pending", "0"],
  [
    "running",
    { "status.phase": "Running", "status.containerStatuses": [running("a"), running("b")] },
    "2/2",
    "Running",
    "0",
  ],
  [
    "restarted",
    {
      "status.phase": "Running",
      "status.containerStatuses": [
        running("a", { restartCount: 2, lastState: { terminated: { finishedAt: "2026-01-01T00:58:00Z" } } }),
        running("b", { restartCount: 1 }),
      ],
    },
    "2/2",
    "Running",
    "3 (2m ago)",
  ],
  [
    "crashing",
    {
      "status.phase": "Running",
      "status.containerStatuses": [
        { name: "a", state: { waiting: { reason: "CrashLoopBackOff" } }, restartCount: 5 },
        running("b"),
      ],
    },
    "1/2",
    "CrashLoopBackOff",
    "5",
  ],
  [
    "failed without a reason",
    { "status.phase": "Failed", "status.containerStatuses": [ended("a", { exitCode: 3 })] },
    "0/2",
    "ExitCode:3",
    "0",
  ],
  [
    "killed by a signal",
    { "status.phase": "Failed", "status.containerStatuses": [ended("a", { exitCode: 137, signal: 9 })] },
    "0/2",
    "Signal:9",
    "0",
  ],
  [
    "half completed",
    {
      "status.phase": "Running",
      "status.containerStatuses": [ended("a", { exitCode: 0, reason: "Completed" }), running("b")],
    },
    "1/2",
    "NotReady",
    "0",
  ],
  [
    "completed after an error",
    {
      "status.phase": "Failed",
      "status.containerStatuses": [
        ended("a", { exitCode: 0, reason: "Completed" }),
        ended("b", { exitCode: 1, reason: "Error" }),
      ],
    },
    "0/2",
    "Error",
    "0",
  ],
  [
    "initializing",
    { ...init, "status.phase": "Pending", "status.initContainerStatuses": [{ name: "i", state: { running: {} } }] },
    "0/3",
    "Init:0/2",
    "0",
  ],
  [
    "failing to initialize",
    {
      ...init,
      "status.phase": "Pending",
      "status.initContainerStatuses": [
        { name: "i", state: { waiting: { reason: "CrashLoopBackOff" } }, restartCount: 4 },
      ],
    },
    "0/3",
    "Init:CrashLoopBackOff",
    "4",
  ],
  [
    "running with a sidecar",
    {
      ...init,
      "status.phase": "Running",
      "status.initContainerStatuses": [
        { ...ended("i", { exitCode: 0 }), restartCount: 7 },
        running("s", { started: true, restartCount: 1 }),
      ],
      "status.containerStatuses": [running("a"), running("b")],
    },
    "3/3",
    "Running",
    "1",
  ],
  [
    "gated",
    {
      "status.phase": "Pending",
      "status.conditions": [{ type: "PodScheduled", status: "False", reason: "SchedulingGated" }],
    },
    "0/2",
    "SchedulingGated",
    "0",
  ],
  [
    "terminating",
    {
      "metadata.deletionTimestamp": "2026-01-01T00:59:00Z",
      "status.phase": "Running",
      "status.containerStatuses": [running("a")],
    },
    "1/2",
    "Terminating",
    "0",
  ],
  [
    "lost",
    { "metadata.deletionTimestamp": "2026-01-01T00:59:00Z", "status.phase": "Running", "status.reason": "NodeLost" },
    "0/2",
    "Unknown",
    "0",
  ],
  ["evicted", { "status.phase": "Failed", "status.reason": "Evicted" }, "0/2", "Evicted", "0"],
];

for (const [name, change, ready, status, restarts] of pods)
  test(`a pod that is ${name} is shown as ${ready} ${status} ${restarts}`, () => {
    const { Ready, Status, Restarts, Age } = cells(Pod, changed(base, change));
    assert.deepEqual([Ready, Status, Restarts, Age], [ready, status, restarts, "5m"]);
  });

const cases: [kind: AnyKind, given: Json, expected: Json][] = [
  [
    Pod,
    changed(base, {
      "spec.nodeName": "n",
      "spec.readinessGates": [{ conditionType: "a" }, { conditionType: "b" }],
      "status.conditions": [{ type: "a", status: "True" }],
      "status.podIP": "10.0.0.1",
    }),
    { IP: "10.0.0.1", Node: "n", "Nominated Node": "<none>", "Readiness Gates": "1/2" },
  ],
  [
    Service,
    {
      spec: {
        ports: [{ port: 80 }, { port: 443, nodePort: 30443 }],
        clusterIP: "10.0.0.1",
        selector: { b: "2", a: "1" },
      },
    },
    {
      Type: "ClusterIP",
      "Cluster-IP": "10.0.0.1",
      "External-IP": "<none>",
      "Port(s)": "80/TCP,443:30443/TCP",
      Selector: "a=1,b=2",
    },
  ],
  [
    Service,
    { spec: { type: "LoadBalancer", ports: [{ port: 80 }] } },
    { "External-IP": "<pending>", Selector: "<none>" },
  ],
  [
    Service,
    {
      spec: { type: "LoadBalancer", externalIPs: ["9.9.9.9"] },
      status: {
        loadBalancer: { ingress: [{ ip: "2.2.2.2" }, { hostname: "lb" }, { ip: "1.1.1.1" }, { ip: "1.1.1.1" }] },
      },
    },
    { "External-IP": "1.1.1.1,2.2.2.2,lb,9.9.9.9", "Port(s)": "<none>" },
  ],
  [
    Node,
    {
      metadata: { labels: { "node-role.kubernetes.io/worker": "", "kubernetes.io/role": "control-plane" } },
      spec: { unschedulable: true },
      status: {
        conditions: [{ type: "Ready", status: "Unknown" }],
        addresses: [{ type: "InternalIP", address: "10.0.0.9" }],
        nodeInfo: { kernelVersion: "6.1", architecture: "amd64", kubeletVersion: "v1.36.4" },
      },
    },
    {
      Status: "NotReady,SchedulingDisabled",
      Roles: "control-plane,worker",
      Version: "v1.36.4",
      "Internal-IP": "10.0.0.9",
      "External-IP": "<none>",
      "OS-Image": "<unknown>",
      "Kernel-Version": "6.1 (amd64)",
    },
  ],
  [
    Endpoints,
    { subsets: [{ addresses: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }], ports: [{ port: 80 }, { port: 81 }] }] },
    { Endpoints: "10.0.0.1:80,[fd00::1]:80,10.0.0.1:81 + 1 more..." },
  ],
  [
    Event,
    {
      involvedObject: { kind: "Pod", name: "web" },
      lastTimestamp: "2026-01-01T00:59:30Z",
      message: " hello\n",
      source: { component: "kubelet", host: "n" },
    },
    {
      "Last Seen": "30s",
      Object: "pod/web",
      Message: "hello",
      Source: "kubelet, n",
      "First Seen": "<unknown>",
      Count: 1,
    },
  ],
  [ConfigMap, { data: { a: "1" }, binaryData: { b: "eA==" } }, { Data: 2 }],
  [
    PersistentVolume,
    {
      spec: {
        accessModes: ["ReadWriteMany", "ReadWriteOnce"],
        capacity: { storage: "1Gi" },
        claimRef: { namespace: "a", name: "b" },
        storageClassName: "fast",
      },
    },
    {
      Capacity: "1Gi",
      "Access Modes": "RWO,RWX",
      "Reclaim Policy": "Retain",
      Status: "Pending",
      Claim: "a/b",
      StorageClass: "fast",
      VolumeAttributesClass: "<unset>",
    },
  ],
  [
    PersistentVolumeClaim,
    { spec: {} },
    { Status: "Pending", Volume: "", Capacity: "", "Access Modes": "", VolumeMode: "Filesystem" },
  ],
  [
    ResourceQuota,
    { status: { hard: { pods: "4", "limits.cpu": "2", cpu: "1" }, used: { pods: "3" } } },
    { Request: "cpu: 0/1, pods: 3/4", Limit: "limits.cpu: 0/2" },
  ],
];

for (const [kind, given, expected] of cases)
  test(`a ${kind.kind} is shown as ${JSON.stringify(expected)}`, () => {
    const actual = cells(kind, given);
    for (const [name, value] of Object.entries(expected)) assert.deepEqual(actual[name], value, name);
  });
