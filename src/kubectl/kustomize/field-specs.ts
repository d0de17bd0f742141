// Where kinds have names, labels and annotations that kustomizations change (upstream: kustomize/api/internal/konfig/builtinpluginconsts).

/** A field of some kinds. `/` leads into objects, and through lists into each of their items. */
export interface KustomizeField {
  readonly path: string;
  readonly kinds?: readonly string[];
  readonly group?: string;
  /** Whether what is missing on the way is made. */
  readonly create?: boolean;
}

const templated = ["Deployment", "ReplicaSet", "DaemonSet", "StatefulSet", "Job"];

/** Where the spec of a pod is. */
export const podSpecs: readonly KustomizeField[] = [
  { path: "spec", kinds: ["Pod"] },
  { path: "template/spec", kinds: ["PodTemplate"] },
  { path: "spec/template/spec", kinds: [...templated, "ReplicationController"] },
  { path: "spec/jobTemplate/spec/template/spec", kinds: ["CronJob"] },
];

export const metadataLabels: readonly KustomizeField[] = [{ path: "metadata/labels", create: true }];

export const templateLabels: readonly KustomizeField[] = [
  { path: "spec/template/metadata/labels", kinds: [...templated, "ReplicationController"], create: true },
  { path: "spec/volumeClaimTemplates/metadata/labels", kinds: ["StatefulSet"], create: true },
  { path: "spec/jobTemplate/metadata/labels", kinds: ["CronJob"], create: true },
  { path: "spec/jobTemplate/spec/template/metadata/labels", kinds: ["CronJob"], create: true },
];

const affinityTerms = ["podAffinity", "podAntiAffinity"].flatMap((affinity) =>
  [
    "preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm",
    "requiredDuringSchedulingIgnoredDuringExecution",
  ].map((term) => `spec/template/spec/affinity/${affinity}/${term}/labelSelector/matchLabels`),
);

export const selectorLabels: readonly KustomizeField[] = [
  { path: "spec/selector", kinds: ["Service", "ReplicationController"], create: true },
  { path: "spec/selector/matchLabels", kinds: ["Deployment", "ReplicaSet", "DaemonSet", "StatefulSet"], create: true },
  ...[...affinityTerms, "spec/template/spec/topologySpreadConstraints/labelSelector/matchLabels"].map((path) => ({
    path,
    group: "apps",
    kinds: ["Deployment", "StatefulSet"],
  })),
  { path: "spec/selector/matchLabels", kinds: ["Job", "PodDisruptionBudget"] },
  { path: "spec/jobTemplate/spec/selector/matchLabels", kinds: ["CronJob"] },
  ...["podSelector", "ingress/from/podSelector", "egress/to/podSelector"].map((path) => ({
    path: `spec/${path}/matchLabels`,
    kinds: ["NetworkPolicy"],
  })),
];

export const annotationFields: readonly KustomizeField[] = [
  { path: "metadata/annotations", create: true },
  { path: "spec/template/metadata/annotations", kinds: [...templated, "ReplicationController"], create: true },
  { path: "spec/jobTemplate/metadata/annotations", kinds: ["CronJob"], create: true },
  { path: "spec/jobTemplate/spec/template/metadata/annotations", kinds: ["CronJob"], create: true },
];

export const replicaFields: readonly KustomizeField[] = [
  { path: "spec/replicas", kinds: ["Deployment", "ReplicationController", "ReplicaSet", "StatefulSet"], create: true },
];

/** A kind that others name, and where they do. */
export interface KustomizeReference {
  readonly kind: string;
  readonly fields: readonly KustomizeField[];
}

const inPods = (...paths: readonly string[]): readonly KustomizeField[] =>
  podSpecs.flatMap((spec) => paths.map((path) => ({ ...spec, path: `${spec.path}/${path}` })));
const inContainers = (path: string): readonly KustomizeField[] =>
  inPods(`containers/${path}`, `initContainers/${path}`);
const webhooks = ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"];

export const nameReferences: readonly KustomizeReference[] = [
  ...["Deployment", "ReplicationController", "ReplicaSet", "StatefulSet"].map((kind) => ({
    kind,
    fields: [{ path: "spec/scaleTargetRef/name", kinds: ["HorizontalPodAutoscaler"] }],
  })),
  {
    kind: "ConfigMap",
    fields: [
      ...inPods("volumes/configMap/name", "volumes/projected/sources/configMap/name"),
      ...inContainers("env/valueFrom/configMapKeyRef/name"),
      ...inContainers("envFrom/configMapRef/name"),
      { path: "spec/configSource/configMap", kinds: ["Node"] },
      { path: "rules/resourceNames", kinds: ["Role", "ClusterRole"] },
      { path: "metadata/annotations/nginx.ingress.kubernetes.io\\/fastcgi-params-configmap", kinds: ["Ingress"] },
    ],
  },
  {
    kind: "Secret",
    fields: [
      ...inPods("volumes/secret/secretName", "volumes/projected/sources/secret/name", "imagePullSecrets/name"),
      ...inContainers("env/valueFrom/secretKeyRef/name"),
      ...inContainers("envFrom/secretRef/name"),
      { path: "spec/tls/secretName", kinds: ["Ingress"] },
      ...[
        "ingress.kubernetes.io\\/auth-secret",
        "nginx.ingress.kubernetes.io\\/auth-secret",
        "nginx.ingress.kubernetes.io\\/auth-tls-secret",
      ].map((name) => ({ path: `metadata/annotations/${name}`, kinds: ["Ingress"] })),
      { path: "imagePullSecrets/name", kinds: ["ServiceAccount"] },
      ...["secretName", "adminSecretName", "userSecretName", "secretRef"].map((name) => ({
        path: `parameters/${name}`,
        kinds: ["StorageClass"],
      })),
      { path: "rules/resourceNames", kinds: ["Role", "ClusterRole"] },
      { path: "spec/azureFile/secretName", kinds: ["PersistentVolume"] },
    ],
  },
  {
    kind: "Service",
    fields: [
      { path: "spec/serviceName", kinds: ["StatefulSet"] },
      { path: "spec/rules/http/paths/backend/serviceName", kinds: ["Ingress"] },
      { path: "spec/backend/serviceName", kinds: ["Ingress"] },
      { path: "spec/rules/http/paths/backend/service/name", kinds: ["Ingress"] },
      { path: "spec/defaultBackend/service/name", kinds: ["Ingress"] },
      { path: "spec/service/name", kinds: ["APIService"] },
      { path: "webhooks/clientConfig/service/name", kinds: webhooks },
    ],
  },
  { kind: "Role", fields: [{ path: "roleRef/name", kinds: ["RoleBinding"] }] },
  { kind: "ClusterRole", fields: [{ path: "roleRef/name", kinds: ["RoleBinding", "ClusterRoleBinding"] }] },
  {
    kind: "ServiceAccount",
    fields: [{ path: "subjects/name", kinds: ["RoleBinding", "ClusterRoleBinding"] }, ...inPods("serviceAccountName")],
  },
  { kind: "PersistentVolumeClaim", fields: inPods("volumes/persistentVolumeClaim/claimName") },
  {
    kind: "PersistentVolume",
    fields: [
      { path: "spec/volumeName", kinds: ["PersistentVolumeClaim"] },
      { path: "rules/resourceNames", kinds: ["ClusterRole"] },
    ],
  },
  {
    kind: "StorageClass",
    fields: [
      { path: "spec/storageClassName", kinds: ["PersistentVolume", "PersistentVolumeClaim"] },
      { path: "spec/volumeClaimTemplates/spec/storageClassName", kinds: ["StatefulSet"] },
    ],
  },
  { kind: "PriorityClass", fields: inPods("priorityClassName") },
  { kind: "IngressClass", fields: [{ path: "spec/ingressClassName", kinds: ["Ingress"] }] },
  {
    kind: "ValidatingAdmissionPolicy",
    fields: [{ path: "spec/policyName", kinds: ["ValidatingAdmissionPolicyBinding"] }],
  },
];
