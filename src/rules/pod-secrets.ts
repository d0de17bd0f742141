// Which secrets a pod uses.
// Upstream: pkg/api/v1/pod/util.go.
import type { Container } from "#api/core/v1/container.ts";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";

/** Every secret that a pod names, wherever it does. */
export function* secretNames(spec: PodSpec): Generator<string> {
  for (const { name } of spec.imagePullSecrets ?? []) if (name) yield name;
  const { initContainers = [], containers = [], ephemeralContainers = [] } = spec;
  for (const container of [...initContainers, ...containers, ...ephemeralContainers])
    for (const { secret } of environmentSecrets(container)) yield secret;
  for (const volume of spec.volumes ?? []) {
    const { azureFile, cephfs, cinder, flexVolume, projected, rbd, scaleIO, secret, iscsi, storageos, csi } = volume;
    if (azureFile?.secretName) yield azureFile.secretName;
    for (const source of [cephfs, cinder, flexVolume, rbd, scaleIO, iscsi, storageos])
      if (source?.secretRef?.name) yield source.secretRef.name;
    for (const source of projected?.sources ?? []) if (source.secret?.name) yield source.secret.name;
    if (secret?.secretName) yield secret.secretName;
    if (csi?.nodePublishSecretRef?.name) yield csi.nodePublishSecretRef.name;
  }
}

/** With the words that say where a container uses it. */
export function* environmentSecrets({ env, envFrom }: Pick<Container, "env" | "envFrom">) {
  for (const { name, valueFrom } of env ?? []) {
    const secret = valueFrom?.secretKeyRef?.name;
    if (secret !== undefined) yield { secret, where: `envVar ${name}` };
  }
  for (const { secretRef } of envFrom ?? []) if (secretRef) yield { secret: secretRef.name ?? "", where: "envFrom" };
}
