// Upstream: plugin/pkg/admission/noderestriction/admission.go.
import type { PodSpec } from "#api/core/v1/pod-spec.ts";
import type { Volume } from "#api/core/v1/volume.ts";
import { secretNames } from "#rules/pod-secrets.ts";
import { containersOf } from "./pod-containers.ts";

const kubeletLabels: ReadonlySet<string> = new Set([
  "kubernetes.io/hostname",
  "kubernetes.io/os",
  "kubernetes.io/arch",
  "topology.kubernetes.io/zone",
  "topology.kubernetes.io/region",
  "failure-domain.beta.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region",
  "beta.kubernetes.io/instance-type",
  "node.kubernetes.io/instance-type",
  "beta.kubernetes.io/os",
  "beta.kubernetes.io/arch",
]);

type Labels = Readonly<Record<string, string>> | undefined;

/** Labels that a node has changed and may not: administrators keep pods off nodes with them. */
export function forbiddenLabels(now: Labels = {}, before: Labels = {}): readonly string[] {
  const changed = Object.keys({ ...now, ...before }).filter((key) => now[key] !== before[key]);
  return changed.filter(isForbidden).sort();
}

function isForbidden(label: string): boolean {
  const domain = label.includes("/") ? label.slice(0, label.indexOf("/")) : "";
  const within = (...domains: readonly string[]) => domains.some((one) => domain === one || domain.endsWith(`.${one}`));
  if (within("node-restriction.kubernetes.io")) return true;
  const isOurs = kubeletLabels.has(label) || within("kubelet.kubernetes.io", "node.kubernetes.io");
  return within("kubernetes.io", "k8s.io") && !isOurs;
}

/** What a pod needs from the API, in upstream's words; undefined if it stands on its own. */
export function outsideReference(spec: PodSpec): string | undefined {
  if (spec.serviceAccountName) return "serviceaccounts";
  if (secretNames(spec).next().done !== true) return "secrets";
  if (usesConfigMaps(spec)) return "configmaps";
  if ((spec.resourceClaims ?? []).length > 0) return "resourceclaims";
  for (const volume of spec.volumes ?? []) {
    const found = volumeReference(volume);
    if (found !== undefined) return found;
  }
  return undefined;
}

function usesConfigMaps(spec: PodSpec): boolean {
  const inContainers = [...containersOf(spec)].some(
    ({ container: { env, envFrom } }) =>
      (env ?? []).some(({ valueFrom }) => valueFrom?.configMapKeyRef?.name) ||
      (envFrom ?? []).some(({ configMapRef }) => configMapRef?.name),
  );
  return (
    inContainers ||
    (spec.volumes ?? []).some(
      ({ configMap, projected }) =>
        configMap?.name || (projected?.sources ?? []).some((source) => source.configMap?.name),
    )
  );
}

function volumeReference(volume: Volume): string | undefined {
  if (volume.configMap) return "configmaps (via configmap volumes)";
  if (volume.secret) return "secrets (via secret volumes)";
  if (volume.csi) return "csidrivers (via CSI volumes)";
  if (volume.glusterfs) return "endpoints (via glusterFS volumes)";
  if (volume.persistentVolumeClaim) return "persistentvolumeclaims";
  if (volume.ephemeral) return "persistentvolumeclaims (via ephemeral volumes)";
  if (volume.azureFile) return "secrets (via azureFile volumes)";
  for (const source of volume.projected?.sources ?? []) {
    if (source.configMap) return "configmaps (via projected volumes)";
    if (source.secret) return "secrets (via projected volumes)";
    if (source.serviceAccountToken) return "serviceaccounts (via projected volumes)";
    if (source.clusterTrustBundle) return "clustertrustbundles";
    if (source.podCertificate) return "podcertificates";
  }
  return undefined;
}
