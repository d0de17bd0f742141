import assert from "node:assert/strict";
import { test } from "node:test";
import { Node } from "#api/core/v1/node.ts";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";
import { applyDefaults } from "#schema/defaults.ts";
import type { Draft } from "#schema/infer.ts";
import { podOf } from "../testing.ts";
import { admitPod, admitWithoutAppArmor } from "./admit.ts";

const node = applyDefaults(Node, {
  apiVersion: "v1",
  kind: "Node",
  metadata: { name: "n1", labels: { zone: "a", cores: "8" } },
  spec: {
    taints: [
      { key: "gone", effect: "NoExecute" },
      { key: "soft", effect: "NoSchedule" },
    ],
  },
  status: {
    allocatable: { cpu: "2", memory: "4Gi", pods: "3", "example.com/gpu": "1" },
    nodeInfo: { operatingSystem: "linux" },
  },
}) as unknown as Node;

const tolerations = [{ key: "gone", operator: "Exists" as const }];
const asking = (requests: Readonly<Record<string, string>>, rest: Draft<PodSpec> = {}) =>
  podOf({ tolerations, containers: [{ name: "web", image: "nginx", resources: { requests } }], ...rest });
const terms = (...expressions: object[]): Draft<PodSpec> => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: expressions.map((expression) => ({ matchExpressions: [expression] })) as never,
      },
    },
  },
});

const sysctl = (name: string): Draft<PodSpec> => ({ securityContext: { sysctls: [{ name, value: "1" }] } });

test("a node that cannot confine processes takes no pods that want to be", () => {
  const profile = (type: "RuntimeDefault" | "Unconfined") => ({ securityContext: { appArmorProfile: { type } } });
  const of = (spec: Draft<PodSpec>, own = {}, phase: "Pending" | "Running" = "Pending") =>
    admitWithoutAppArmor(podOf({ containers: [{ name: "web", image: "i", ...own }], ...spec }, { status: { phase } }));
  assert.equal(of({}), undefined);
  assert.equal(of(profile("Unconfined")), undefined);
  assert.equal(of(profile("RuntimeDefault"), {}, "Running"), undefined);
  for (const rejection of [of(profile("RuntimeDefault")), of({}, profile("RuntimeDefault"))])
    assert.deepEqual(rejection, {
      reason: "AppArmor",
      message: "Cannot enforce AppArmor: AppArmor is not enabled on the host",
    });
});

test("a node takes what fits, and says why not", () => {
  const port = (hostPort: number): Draft<PodSpec> => ({
    containers: [{ name: "web", image: "nginx", ports: [{ containerPort: 80, hostPort }] }],
  });
  const others = [asking({ cpu: "500m", memory: "1Gi" }), asking({}, port(8080))];
  const table: readonly [string, ReturnType<typeof podOf>, string | undefined][] = [
    ["fits", asking({ cpu: "1500m", memory: "3Gi" }), undefined],
    [
      "cpu",
      asking({ cpu: "1501m" }),
      "OutOfcpu: Node didn't have enough resource: cpu, requested: 1501, used: 500, capacity: 2000",
    ],
    [
      "memory",
      asking({ memory: "4Gi" }),
      "OutOfmemory: Node didn't have enough resource: memory, requested: 4294967296, used: 1073741824, capacity: 4294967296",
    ],
    [
      "overhead counts",
      asking({ cpu: "1" }, { overhead: { cpu: "600m" } }),
      "OutOfcpu: Node didn't have enough resource: cpu, requested: 1600, used: 500, capacity: 2000",
    ],
    [
      "devices",
      asking({ "example.com/gpu": "2" }),
      "OutOfexample.com/gpu: Node didn't have enough resource: example.com/gpu, requested: 2, used: 0, capacity: 1",
    ],
    ["devices of the cluster", asking({ "example.com/other": "2" }), undefined],
    [
      "storage it does not tell of",
      asking({ "ephemeral-storage": "1" }),
      "OutOfephemeral-storage: Node didn't have enough resource: ephemeral-storage, requested: 1, used: 0, capacity: 0",
    ],
    ["selector", asking({}, { nodeSelector: { zone: "a" } }), undefined],
    [
      "other selector",
      asking({}, { nodeSelector: { zone: "b" } }),
      "NodeAffinity: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
    ],
    [
      "affinity",
      asking(
        {},
        terms({ key: "zone", operator: "In", values: ["b"] }, { key: "cores", operator: "Gt", values: ["4"] }),
      ),
      undefined,
    ],
    [
      "other affinity",
      asking({}, terms({ key: "zone", operator: "DoesNotExist" })),
      "NodeAffinity: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
    ],
    [
      "a port that is taken",
      asking({}, port(8080)),
      "NodePorts: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
    ],
    ["another port", asking({}, port(8081)), undefined],
    [
      "a taint that drives out",
      asking({}, { tolerations: [] }),
      "TaintToleration: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate",
    ],
    ["a parameter that may be set", asking({}, sysctl("net.ipv4.tcp_rmem")), undefined],
    ["the same with slashes", asking({}, sysctl("net/ipv4/tcp_rmem")), undefined],
    [
      "a parameter that may disturb others",
      asking({}, sysctl("net.core.somaxconn")),
      'SysctlForbidden: forbidden sysctl: "net.core.somaxconn" not allowlisted',
    ],
    [
      "a parameter of the node's own network",
      asking({}, { ...sysctl("net.ipv4.tcp_rmem"), hostNetwork: true }),
      'SysctlForbidden: forbidden sysctl: "net.ipv4.tcp_rmem" not allowed with host Net enabled',
    ],
    [
      "a parameter of the node's own messages",
      asking({}, { ...sysctl("kernel.shm_rmid_forced"), hostIPC: true }),
      'SysctlForbidden: forbidden sysctl: "kernel.shm_rmid_forced" not allowed with host IPC enabled',
    ],
    [
      "groups that its runtime cannot leave out",
      asking({}, { securityContext: { supplementalGroupsPolicy: "Strict" } }),
      "SupplementalGroupsPolicyNotSupported: SupplementalGroupsPolicy=Strict is not supported in this node",
    ],
    [
      "another system",
      asking({}, { os: { name: "windows" } }),
      "PodOSNotSupported: Failed to admit pod as the OS field doesn't match node OS",
    ],
  ];
  for (const [name, pod, expected] of table) {
    const rejection = admitPod(pod, node, others);
    assert.equal(rejection && `${rejection.reason}: ${rejection.message}`, expected, name);
  }
  const full = admitPod(asking({}), node, [...others, asking({})]);
  assert.equal(full?.message, "Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3");
});
