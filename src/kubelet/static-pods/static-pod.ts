// Static pods, which come from files of the node and not from the API, and their mirror pods there.
//
// A static pod is known by a checksum of what its file says: a file that was changed is another pod. The API sees it through a mirror
// pod of the same name, which carries that checksum. The mirror is only looked at: to delete it ends nothing, and it is made again.
// Upstream: pkg/kubelet/config/common.go.
import { Pod } from "#api/core/v1/pod.ts";
import { hex } from "#base/hex.ts";
import { sha256 } from "#base/sha256.ts";
import { applyDefaults } from "#schema/defaults.ts";
import type { Draft } from "#schema/infer.ts";
import { timeOf } from "#schema/time.ts";
import { validateObject } from "#schema/validate.ts";
import { yamlCodec } from "#wire/yaml.ts";
import { fileReferences } from "../inputs/references.ts";

export const configAnnotations = {
  hash: "kubernetes.io/config.hash",
  mirror: "kubernetes.io/config.mirror",
  seen: "kubernetes.io/config.seen",
  source: "kubernetes.io/config.source",
} as const;

/** Where static pods come from. */
export interface StaticPodSource {
  read(): Promise<readonly Pod[]>;
  /** Called when it is worth reading again. */
  changed: () => void;
}

/** What came from the API is not told so. */
export const staticSources = ["file", "http"] as const;

export interface StaticSource {
  /** Path of the file, or the address it was read from. */
  readonly path: string;
  /** Defaults to file. */
  readonly source?: (typeof staticSources)[number];
  readonly node: string;
  readonly now: number;
}

/** The pod that a file describes. Throws for what is no pod, is not valid, or needs the API. */
export function staticPod(content: Uint8Array, { path, node, now, source = "file" }: StaticSource): Pod {
  const { object } = yamlCodec.decode(Pod, content);
  if (object.kind !== "Pod" || object.apiVersion !== "v1") throw new Error(`${path} describes no Pod of v1`);
  const { metadata = {}, spec = {} } = object;
  const uid =
    metadata.uid ??
    hex(sha256(`${JSON.stringify(object)} host:${node} ${source === "file" ? "file" : "url"}:${path}`)).slice(0, 32);
  const draft: Draft<Pod> = {
    ...object,
    metadata: {
      ...metadata,
      name: `${metadata.name ?? ""}-${node.toLowerCase()}`,
      namespace: metadata.namespace ?? "default",
      uid,
      annotations: {
        ...metadata.annotations,
        [configAnnotations.hash]: uid,
        [configAnnotations.seen]: timeOf(now),
        [configAnnotations.source]: source,
      },
    },
    spec: {
      ...spec,
      nodeName: node,
      tolerations: [...(spec.tolerations ?? []), { operator: "Exists", effect: "NoExecute" }],
    },
    status: { phase: "Pending" },
  };
  const pod = applyDefaults(Pod, draft) as Pod;
  const [problem] = validateObject(Pod, pod as object as Record<string, unknown>);
  if (problem) throw new Error(`${path}: ${problem.field}: ${problem.detail}`);
  const outside = apiReference(pod);
  if (outside) throw new Error(`${path}: a static pod may not refer to ${outside}`);
  return pod;
}

/** Of what only the API could give, what the pod needs first. */
function apiReference(pod: Pod): string | undefined {
  const { spec } = pod;
  if (spec.serviceAccountName) return "serviceaccounts";
  const [object] = fileReferences(pod);
  const sources = [...(spec.initContainers ?? []), ...spec.containers].flatMap(({ env = [], envFrom = [] }) => [
    ...env.map(({ valueFrom }) => ({ secret: valueFrom?.secretKeyRef, configMap: valueFrom?.configMapKeyRef })),
    ...envFrom.map(({ secretRef, configMapRef }) => ({ secret: secretRef, configMap: configMapRef })),
  ]);
  if (object?.kind === "Secret" || spec.imagePullSecrets?.length || sources.some(({ secret }) => secret))
    return "secrets";
  if (object?.kind === "ConfigMap" || sources.some(({ configMap }) => configMap)) return "configmaps";
  if (spec.resourceClaims?.length) return "resourceclaims";
  for (const { persistentVolumeClaim, ephemeral, projected } of spec.volumes ?? []) {
    if (persistentVolumeClaim ?? ephemeral) return "persistentvolumeclaims";
    if (projected?.sources.some(({ serviceAccountToken }) => serviceAccountToken)) return "serviceaccounts";
  }
  return undefined;
}

/** The checksum of the static pod that a pod of the API stands for; undefined for one that stands for itself. */
export const mirroredHash = ({ metadata }: Pod): string | undefined => metadata.annotations?.[configAnnotations.mirror];

export const isStatic = ({ metadata }: Pod): boolean =>
  staticSources.some((source) => metadata.annotations?.[configAnnotations.source] === source);

/** The pod that stands for a static pod in the API. Its owner is the node. */
export function mirrorOf({ metadata, spec }: Pod, node: { readonly name: string; readonly uid: string }): Draft<Pod> {
  const { name, namespace, labels, annotations } = metadata;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace,
      labels,
      annotations: { ...annotations, [configAnnotations.mirror]: annotations?.[configAnnotations.hash] ?? "" },
      ownerReferences: [{ apiVersion: "v1", kind: "Node", controller: true, ...node }],
    },
    spec,
  };
}
