// What a node must read to run a pod or to mount a volume, by kind and name.
import type { ApiObject } from "#schema/object.ts";

/** `secrets web/tls`, `persistentvolumeclaims web/data` */
export type Reference = string;
export type ReferencedResource =
  | "secrets"
  | "configmaps"
  | "persistentvolumeclaims"
  | "serviceaccounts"
  | "resourceclaims";

export const reference = (resource: ReferencedResource, namespace: string, name: string): Reference =>
  `${resource} ${namespace}/${name}`;

interface NamedReference {
  readonly name?: string;
  readonly namespace?: string;
}
interface SourceOfEnv {
  readonly secretRef?: NamedReference;
  readonly configMapRef?: NamedReference;
}
interface Variable {
  readonly valueFrom?: { readonly secretKeyRef?: NamedReference; readonly configMapKeyRef?: NamedReference };
}
interface Container {
  readonly envFrom?: readonly SourceOfEnv[];
  readonly env?: readonly Variable[];
}
interface ProjectedSource {
  readonly secret?: NamedReference;
  readonly configMap?: NamedReference;
}
interface Volume {
  readonly name: string;
  readonly secret?: { readonly secretName?: string };
  readonly configMap?: NamedReference;
  readonly projected?: { readonly sources?: readonly ProjectedSource[] };
  readonly azureFile?: { readonly secretName?: string; readonly secretNamespace?: string };
  readonly csi?: { readonly nodePublishSecretRef?: NamedReference };
  readonly persistentVolumeClaim?: { readonly claimName?: string };
  readonly ephemeral?: object;
}
/** Kinds of volumes that name their secret in the same way. */
const withSecretRef = ["cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"] as const;
type SecretVolume = Volume & {
  readonly [Name in (typeof withSecretRef)[number]]?: { readonly secretRef?: NamedReference };
};

/** Copies of a node's own files on the server give it no access to anything. */
export const mirror = "kubernetes.io/config.mirror";

export function referencesOfPod(pod: ApiObject): readonly Reference[] {
  const { metadata, spec, status } = pod;
  if (metadata.annotations?.[mirror] !== undefined) return [];
  const found = new Set<Reference>();
  const add = (resource: ReferencedResource, name: string | undefined) => {
    if (name) found.add(reference(resource, metadata.namespace ?? "", name));
  };
  add("serviceaccounts", spec.serviceAccountName);
  for (const { name } of (spec.imagePullSecrets ?? []) as readonly NamedReference[]) add("secrets", name);
  const containers: readonly Container[] = [
    ...(spec.initContainers ?? []),
    ...(spec.containers ?? []),
    ...(spec.ephemeralContainers ?? []),
  ];
  for (const { envFrom = [], env = [] } of containers) {
    for (const { secretRef, configMapRef } of envFrom) {
      add("secrets", secretRef?.name);
      add("configmaps", configMapRef?.name);
    }
    for (const { valueFrom } of env) {
      add("secrets", valueFrom?.secretKeyRef?.name);
      add("configmaps", valueFrom?.configMapKeyRef?.name);
    }
  }
  for (const volume of (spec.volumes ?? []) as readonly SecretVolume[]) addVolume(volume, metadata.name ?? "", add);
  for (const claim of claimsOfPod(spec, status)) add("resourceclaims", claim);
  return [...found];
}

function addVolume(
  volume: SecretVolume,
  podName: string,
  add: (resource: ReferencedResource, name: string | undefined) => void,
): void {
  add("secrets", volume.secret?.secretName);
  add("secrets", volume.azureFile?.secretName);
  add("secrets", volume.csi?.nodePublishSecretRef?.name);
  for (const kind of withSecretRef) add("secrets", volume[kind]?.secretRef?.name);
  add("configmaps", volume.configMap?.name);
  for (const { secret, configMap } of volume.projected?.sources ?? []) {
    add("secrets", secret?.name);
    add("configmaps", configMap?.name);
  }
  add("persistentvolumeclaims", volume.persistentVolumeClaim?.claimName);
  if (volume.ephemeral) add("persistentvolumeclaims", `${podName}-${volume.name}`);
}

/** A claim is named in the pod, or made for it from a template and then named in its status. */
function claimsOfPod(spec: ApiObject["spec"], status: ApiObject["status"]): readonly (string | undefined)[] {
  const made: readonly { name: string; resourceClaimName?: string }[] = status?.resourceClaimStatuses ?? [];
  const wanted: readonly { name: string; resourceClaimName?: string }[] = spec.resourceClaims ?? [];
  return [
    ...wanted.map(
      ({ name, resourceClaimName }) => resourceClaimName ?? made.find((one) => one.name === name)?.resourceClaimName,
    ),
    status?.extendedResourceClaimStatus?.resourceClaimName,
  ];
}

/** Secrets that a node must read to mount a volume; those of controllers are not for nodes. */
export function secretsOfVolume({ spec }: ApiObject): readonly Reference[] {
  const claimNamespace: string = spec.claimRef?.namespace ?? "";
  const { csi } = spec;
  const references: readonly (NamedReference | undefined)[] = [
    spec.azureFile && { name: spec.azureFile.secretName, namespace: spec.azureFile.secretNamespace },
    ...withSecretRef.map((kind) => spec[kind]?.secretRef),
    csi?.nodePublishSecretRef,
    csi?.nodeStageSecretRef,
    csi?.nodeExpandSecretRef,
  ];
  return references.flatMap((one) =>
    one?.name ? [reference("secrets", one.namespace || claimNamespace, one.name)] : [],
  );
}
