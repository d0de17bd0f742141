// A small valid object of many kinds: what a fuzzer starts from, so that what it sends is refused late or not at all.

export interface Sample {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

const labels = { app: "web" };
const selector = { matchLabels: labels };
const podSpec = {
  containers: [
    {
      name: "c",
      image: "nginx:1",
      command: ["sh", "-c", "sleep 1"],
      env: [
        { name: "A", value: "1" },
        { name: "B", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
      ],
      ports: [{ containerPort: 80, name: "http" }],
      resources: { requests: { cpu: "10m", memory: "16Mi" }, limits: { memory: "1Gi" } },
      readinessProbe: { httpGet: { path: "/", port: "http" }, periodSeconds: 5 },
      volumeMounts: [{ name: "data", mountPath: "/data" }],
      securityContext: { runAsNonRoot: true, capabilities: { drop: ["ALL"] } },
    },
  ],
  volumes: [
    { name: "data", emptyDir: { sizeLimit: "1Gi" } },
    { name: "config", configMap: { name: "a", items: [{ key: "k", path: "k" }] } },
  ],
  tolerations: [{ key: "k", operator: "Exists", effect: "NoExecute", tolerationSeconds: 30 }],
  affinity: {
    podAntiAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [
        { weight: 1, podAffinityTerm: { labelSelector: selector, topologyKey: "kubernetes.io/hostname" } },
      ],
    },
  },
  topologySpreadConstraints: [
    { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "ScheduleAnyway", labelSelector: selector },
  ],
};
const template = { metadata: { labels }, spec: podSpec };
const rules = [{ apiGroups: ["apps"], resources: ["deployments"], verbs: ["get", "list"] }];
const subjects = [{ kind: "User", name: "jane", apiGroup: "rbac.authorization.k8s.io" }];
const webhook = {
  name: "w.example.com",
  clientConfig: { url: "https://127.0.0.1:1/x" },
  rules: [{ operations: ["CREATE"], apiGroups: ["none.example.com"], apiVersions: ["v1"], resources: ["things"] }],
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
};

export const samples: readonly Sample[] = [
  { apiVersion: "v1", kind: "ConfigMap", data: { k: "v" }, binaryData: { b: "AAEC" } },
  { apiVersion: "v1", kind: "Secret", type: "Opaque", data: { k: "djE=" }, stringData: { s: "text" } },
  { apiVersion: "v1", kind: "Pod", metadata: { labels }, spec: podSpec },
  { apiVersion: "v1", kind: "PodTemplate", template },
  {
    apiVersion: "v1",
    kind: "Service",
    spec: { type: "NodePort", selector: labels, ports: [{ name: "http", port: 80, targetPort: "http" }] },
  },
  { apiVersion: "v1", kind: "ServiceAccount", secrets: [{ name: "a" }], imagePullSecrets: [{ name: "b" }] },
  { apiVersion: "v1", kind: "Node", spec: { podCIDR: "10.0.0.0/24", podCIDRs: ["10.0.0.0/24"], taints: [] } },
  { apiVersion: "v1", kind: "Namespace", metadata: { labels } },
  { apiVersion: "v1", kind: "Endpoints", subsets: [{ addresses: [{ ip: "10.0.0.1" }], ports: [{ port: 80 }] }] },
  {
    apiVersion: "v1",
    kind: "Event",
    involvedObject: { kind: "Pod", name: "a", namespace: "default" },
    reason: "Started",
    type: "Normal",
    source: { component: "fuzz" },
  },
  {
    apiVersion: "v1",
    kind: "LimitRange",
    spec: { limits: [{ type: "Container", max: { cpu: "2" }, default: { cpu: "500m" } }] },
  },
  { apiVersion: "v1", kind: "ResourceQuota", spec: { hard: { pods: "1000", "requests.cpu": "1000" } } },
  {
    apiVersion: "v1",
    kind: "PersistentVolume",
    spec: { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], hostPath: { path: "/x" } },
  },
  {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  },
  { apiVersion: "v1", kind: "ReplicationController", spec: { replicas: 1, selector: labels, template } },
  { apiVersion: "apps/v1", kind: "Deployment", spec: { replicas: 1, selector, template } },
  { apiVersion: "apps/v1", kind: "ReplicaSet", spec: { replicas: 1, selector, template } },
  { apiVersion: "apps/v1", kind: "DaemonSet", spec: { selector, template } },
  { apiVersion: "apps/v1", kind: "StatefulSet", spec: { serviceName: "a", replicas: 1, selector, template } },
  { apiVersion: "apps/v1", kind: "ControllerRevision", data: { spec: { x: [1, "a", null] } }, revision: 3 },
  {
    apiVersion: "batch/v1",
    kind: "Job",
    spec: { template: { ...template, spec: { ...podSpec, restartPolicy: "Never" } } },
  },
  {
    apiVersion: "batch/v1",
    kind: "CronJob",
    spec: {
      schedule: "*/5 * * * *",
      jobTemplate: { spec: { template: { spec: { ...podSpec, restartPolicy: "OnFailure" } } } },
    },
  },
  {
    apiVersion: "autoscaling/v2",
    kind: "HorizontalPodAutoscaler",
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "a" },
      maxReplicas: 3,
      metrics: [
        { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 50 } } },
      ],
    },
  },
  {
    apiVersion: "autoscaling/v1",
    kind: "HorizontalPodAutoscaler",
    spec: { scaleTargetRef: { kind: "Deployment", name: "a" }, maxReplicas: 3, targetCPUUtilizationPercentage: 50 },
  },
  { apiVersion: "coordination.k8s.io/v1", kind: "Lease", spec: { holderIdentity: "x", leaseDurationSeconds: 15 } },
  {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    addressType: "IPv4",
    endpoints: [{ addresses: ["10.0.0.1"] }],
    ports: [{ name: "http", port: 80 }],
  },
  {
    apiVersion: "events.k8s.io/v1",
    kind: "Event",
    eventTime: "2026-01-02T03:04:05.000006Z",
    reportingController: "fuzz.example.com/x",
    reportingInstance: "i",
    action: "Do",
    reason: "Done",
    type: "Normal",
    regarding: { kind: "Pod", name: "a", namespace: "default" },
  },
  {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    spec: {
      rules: [
        {
          host: "a.example.com",
          http: {
            paths: [{ path: "/", pathType: "Prefix", backend: { service: { name: "a", port: { number: 80 } } } }],
          },
        },
      ],
    },
  },
  { apiVersion: "networking.k8s.io/v1", kind: "IngressClass", spec: { controller: "example.com/c" } },
  {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    spec: { podSelector: selector, ingress: [{ from: [{ ipBlock: { cidr: "10.0.0.0/8" } }], ports: [{ port: 80 }] }] },
  },
  { apiVersion: "policy/v1", kind: "PodDisruptionBudget", spec: { minAvailable: "50%", selector } },
  { apiVersion: "rbac.authorization.k8s.io/v1", kind: "Role", rules },
  { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", rules },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "a" },
    subjects,
  },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "a" },
    subjects,
  },
  { apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", value: 10, preemptionPolicy: "Never" },
  { apiVersion: "node.k8s.io/v1", kind: "RuntimeClass", handler: "runc" },
  { apiVersion: "storage.k8s.io/v1", kind: "StorageClass", provisioner: "example.com/p", parameters: { a: "b" } },
  { apiVersion: "storage.k8s.io/v1", kind: "CSIDriver", spec: { attachRequired: true } },
  { apiVersion: "storage.k8s.io/v1", kind: "CSINode", spec: { drivers: [{ name: "d", nodeID: "n" }] } },
  { apiVersion: "storage.k8s.io/v1", kind: "CSIStorageCapacity", storageClassName: "a", capacity: "1Gi" },
  {
    apiVersion: "storage.k8s.io/v1",
    kind: "VolumeAttachment",
    spec: { attacher: "d", nodeName: "n", source: { persistentVolumeName: "a" } },
  },
  {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "things.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "things", kind: "Thing" },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", properties: { spec: { type: "object" } } } },
        },
      ],
    },
  },
  {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name: "v1.example.com" },
    spec: {
      group: "example.com",
      version: "v1",
      groupPriorityMinimum: 10,
      versionPriority: 10,
      service: { name: "a", namespace: "default" },
      insecureSkipTLSVerify: true,
    },
  },
  { apiVersion: "admissionregistration.k8s.io/v1", kind: "ValidatingWebhookConfiguration", webhooks: [webhook] },
  { apiVersion: "admissionregistration.k8s.io/v1", kind: "MutatingWebhookConfiguration", webhooks: [webhook] },
  { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token: "x" } },
  { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
  {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: { user: "jane", resourceAttributes: { verb: "get", resource: "pods" } },
  },
  { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectRulesReview", spec: { namespace: "default" } },
];
