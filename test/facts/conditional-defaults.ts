// Defaults that depend on other fields: for each, an object that meets the condition, and what is found at the path then.

export interface Case {
  readonly of: string;
  readonly path: string;
  /** As the table words it; left out where the path has one default only. */
  readonly when?: string;
  readonly object: Readonly<Record<string, unknown>>;
  readonly expected: unknown;
}

/** Not found by filling in defaults: where else it happens. */
export const elsewhere: Readonly<Record<string, string>> = {
  "core/v1.ConfigMap data": "absent and empty are the same, and neither is written",
  "core/v1.ReplicationControllerSpec minReadySeconds": "absent and 0 are the same, and neither is written",
  "core/v1.LocalObjectReference name": "absent and empty are the same; zeroKey() says so",
  "resource/v1.DeviceTaint timeAdded": "needs the clock, so the server sets it on writing",
};

const labels = { app: "web" };
const template = { metadata: { labels } };

export const cases: readonly Case[] = [
  {
    of: "core/v1.ReplicationController",
    path: "spec.selector",
    object: { spec: { template } },
    expected: labels,
  },
  { of: "core/v1.ReplicationController", path: "metadata.labels", object: { spec: { template } }, expected: labels },
  { of: "core/v1.Volume", path: "emptyDir", object: { name: "v" }, expected: {} },
  {
    of: "core/v1.Volume",
    path: "image.pullPolicy",
    when: "empty and tag latest (or none)",
    object: { image: { reference: "registry.example/a" } },
    expected: "Always",
  },
  {
    of: "core/v1.Volume",
    path: "image.pullPolicy",
    when: "empty and other tag",
    object: { image: { reference: "registry.example/a:v1" } },
    expected: "IfNotPresent",
  },
  ...["core/v1.Container", "core/v1.EphemeralContainer"].flatMap((of) => [
    {
      of,
      path: "imagePullPolicy",
      when: "empty and image tag is latest or absent without digest",
      object: { image: "registry.example:5000/a" },
      expected: "Always",
    },
    {
      of,
      path: "imagePullPolicy",
      when: "empty and other tag/digest",
      object: { image: "a@sha256:0000000000000000000000000000000000000000000000000000000000000000" },
      expected: "IfNotPresent",
    },
  ]),
  {
    of: "core/v1.Service",
    path: "spec.sessionAffinityConfig",
    object: { spec: { sessionAffinity: "None", sessionAffinityConfig: { clientIP: { timeoutSeconds: 1 } } } },
    expected: undefined,
  },
  {
    of: "core/v1.Service",
    path: "spec.sessionAffinityConfig.clientIP.timeoutSeconds",
    object: { spec: { sessionAffinity: "ClientIP" } },
    expected: 10_800,
  },
  {
    of: "core/v1.Service",
    path: "spec.ports[].targetPort",
    object: { spec: { ports: [{ port: 80 }] } },
    expected: 80,
  },
  {
    of: "core/v1.Service",
    path: "spec.externalTrafficPolicy",
    object: { spec: { type: "ClusterIP", externalIPs: ["192.0.2.1"] } },
    expected: "Cluster",
  },
  { of: "core/v1.Service", path: "spec.internalTrafficPolicy", object: { spec: {} }, expected: "Cluster" },
  {
    of: "core/v1.Service",
    path: "spec.allocateLoadBalancerNodePorts",
    object: { spec: { type: "LoadBalancer" } },
    expected: true,
  },
  {
    of: "core/v1.Service",
    path: "status.loadBalancer.ingress[].ipMode",
    object: { spec: { type: "LoadBalancer" }, status: { loadBalancer: { ingress: [{ ip: "192.0.2.1" }] } } },
    expected: "VIP",
  },
  ...["containers", "initContainers"].map((list) => ({
    of: "core/v1.Pod",
    path: `spec.${list}[].resources.requests[k]`,
    object: { spec: { [list]: [{ resources: { limits: { cpu: "2" } } }] } },
    expected: "2",
  })),
  {
    of: "core/v1.Pod",
    path: "spec.resources.limits[hugepages-*]",
    object: {
      spec: {
        resources: { limits: { cpu: "1" } },
        containers: [{ name: "a", resources: { limits: { "hugepages-2Mi": "4Mi" } } }],
      },
    },
    expected: "4Mi",
  },
  {
    of: "core/v1.Pod",
    path: "spec.resources.requests[k]",
    object: { spec: { resources: { limits: { cpu: "3" } }, containers: [{ resources: { requests: { cpu: "2" } } }] } },
    expected: "2",
  },
  ...["containers", "initContainers"].map((list) => ({
    of: "core/v1.Pod",
    path: `spec.${list}[].ports[].hostPort`,
    object: { spec: { hostNetwork: true, [list]: [{ ports: [{ containerPort: 80 }] }] } },
    expected: 80,
  })),
  {
    of: "core/v1.Namespace",
    path: "metadata.labels[kubernetes.io/metadata.name]",
    object: { metadata: { name: "north" } },
    expected: "north",
  },
  { of: "core/v1.NodeStatus", path: "allocatable", object: { capacity: { cpu: "2" } }, expected: { cpu: "2" } },
  {
    of: "core/v1.LimitRangeItem",
    path: "default[k]",
    object: { type: "Container", max: { cpu: "2" } },
    expected: "2",
  },
  {
    of: "core/v1.LimitRangeItem",
    path: "defaultRequest[k]",
    object: { type: "Container", min: { cpu: "1" } },
    expected: "1",
  },
  ...["rollingUpdate.maxUnavailable", "rollingUpdate.maxSurge"].map((path) => ({
    of: "apps/v1.Deployment",
    path: `spec.strategy.${path}`,
    object: { spec: { strategy: { type: "RollingUpdate" } } },
    expected: "25%",
  })),
  {
    of: "apps/v1.Deployment",
    path: "spec.strategy.rollingUpdate",
    object: { spec: {} },
    expected: { maxUnavailable: "25%", maxSurge: "25%" },
  },
  {
    of: "apps/v1.DaemonSet",
    path: "spec.updateStrategy.rollingUpdate.maxUnavailable",
    object: { spec: {} },
    expected: 1,
  },
  { of: "apps/v1.DaemonSet", path: "spec.updateStrategy.rollingUpdate.maxSurge", object: { spec: {} }, expected: 0 },
  {
    of: "apps/v1.StatefulSet",
    path: "spec.updateStrategy.rollingUpdate",
    object: { spec: {} },
    expected: { partition: 0 },
  },
  {
    of: "apps/v1.StatefulSet",
    path: "spec.updateStrategy.rollingUpdate.partition",
    object: { spec: { updateStrategy: { type: "RollingUpdate", rollingUpdate: {} } } },
    expected: 0,
  },
  { of: "batch/v1.Job", path: "spec.completions", object: { spec: {} }, expected: 1 },
  {
    of: "batch/v1.Job",
    path: "spec.backoffLimit",
    when: "unset and backoffLimitPerIndex set",
    object: { spec: { backoffLimitPerIndex: 1 } },
    expected: 2_147_483_647,
  },
  { of: "batch/v1.Job", path: "metadata.labels", object: { spec: { template } }, expected: labels },
  {
    of: "batch/v1.Job",
    path: "spec.podReplacementPolicy",
    when: "unset and podFailurePolicy set",
    object: { spec: { podFailurePolicy: { rules: [] } } },
    expected: "Failed",
  },
  {
    of: "batch/v1.Job",
    path: "spec.podReplacementPolicy",
    when: "unset and no podFailurePolicy",
    object: { spec: {} },
    expected: "TerminatingOrFailed",
  },
  {
    of: "autoscaling/v2.HorizontalPodAutoscaler",
    path: "spec.metrics",
    object: { spec: {} },
    expected: [
      { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 80 } } },
    ],
  },
  {
    of: "autoscaling/v2.HorizontalPodAutoscaler",
    path: "spec.behavior.scaleUp",
    object: { spec: { behavior: {} } },
    expected: {
      stabilizationWindowSeconds: 0,
      selectPolicy: "Max",
      policies: [
        { type: "Pods", value: 4, periodSeconds: 15 },
        { type: "Percent", value: 100, periodSeconds: 15 },
      ],
    },
  },
  {
    of: "autoscaling/v2.HorizontalPodAutoscaler",
    path: "spec.behavior.scaleDown",
    object: { spec: { behavior: {} } },
    expected: { selectPolicy: "Max", policies: [{ type: "Percent", value: 100, periodSeconds: 15 }] },
  },
  {
    of: "networking/v1.NetworkPolicy",
    path: "spec.policyTypes",
    when: "empty and no egress rules",
    object: { spec: {} },
    expected: ["Ingress"],
  },
  {
    of: "networking/v1.NetworkPolicy",
    path: "spec.policyTypes",
    when: "empty and egress rules present",
    object: { spec: { egress: [{}] } },
    expected: ["Ingress", "Egress"],
  },
  {
    of: "networking/v1.IngressClass",
    path: "spec.parameters.scope",
    object: { spec: { parameters: { kind: "K", name: "n" } } },
    expected: "Cluster",
  },
  {
    of: "rbac/v1.Subject",
    path: "apiGroup",
    when: "kind ServiceAccount",
    object: { kind: "ServiceAccount", name: "a" },
    expected: undefined,
  },
  {
    of: "rbac/v1.Subject",
    path: "apiGroup",
    when: "empty and kind User|Group",
    object: { kind: "User", name: "a" },
    expected: "rbac.authorization.k8s.io",
  },
  ...["ExactDeviceRequest", "DeviceSubRequest"].map((name) => ({
    of: `resource/v1.${name}`,
    path: "count",
    object: { deviceClassName: "c" },
    expected: 1,
  })),
  {
    of: "apiextensions/v1.CustomResourceDefinition",
    path: "status.storedVersions",
    object: {
      spec: {
        names: { kind: "K" },
        versions: [
          { name: "v2", storage: false },
          { name: "v1", storage: true },
        ],
      },
    },
    expected: ["v1"],
  },
  {
    of: "apiextensions/v1.CustomResourceDefinitionSpec",
    path: "names.singular",
    object: { names: { kind: "CronTab" } },
    expected: "crontab",
  },
  {
    of: "apiextensions/v1.CustomResourceDefinitionSpec",
    path: "names.listKind",
    object: { names: { kind: "CronTab" } },
    expected: "CronTabList",
  },
];
