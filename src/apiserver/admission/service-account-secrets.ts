// Which secrets a pod uses, and which of them its service account does not know of.
import type { Container } from "#api/core/v1/container.ts";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";
import type { ServiceAccount } from "#api/core/v1/service-account.ts";
import { containersOf } from "./pod-containers.ts";

/** Every secret that a pod names, wherever it does. */
export function* secretNames(spec: PodSpec): Generator<string> {
  for (const { name } of spec.imagePullSecrets ?? []) if (name) yield name;
  for (const { container } of containersOf(spec)) for (const { secret } of environmentSecrets(container)) yield secret;
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
function* environmentSecrets({ env, envFrom }: Pick<Container, "env" | "envFrom">) {
  for (const { name, valueFrom } of env ?? []) {
    const secret = valueFrom?.secretKeyRef?.name;
    if (secret !== undefined) yield { secret, where: `envVar ${name}` };
  }
  for (const { secretRef } of envFrom ?? []) if (secretRef) yield { secret: secretRef.name ?? "", where: "envFrom" };
}

const places = [
  ["initContainers", "init container"],
  ["containers", "container"],
  ["ephemeralContainers", "ephemeral container"],
] as const;

/** Refuses the first secret that an account which lists its secrets does not list. */
export function unreferencedSecret(
  account: ServiceAccount,
  spec: Partial<Pick<PodSpec, "volumes" | "imagePullSecrets" | (typeof places)[number][0]>>,
): string | undefined {
  const known = new Set(account.secrets?.map(({ name }) => name));
  const owner = account.metadata.name;
  const reason = `is not allowed because service account ${owner} does not reference that`;
  for (const { secret } of spec.volumes ?? [])
    if (secret && !known.has(secret.secretName))
      return `volume with secret.secretName="${secret.secretName ?? ""}" ${reason} secret`;
  for (const [list, words] of places)
    for (const container of spec[list] ?? [])
      for (const { secret, where } of environmentSecrets(container))
        if (!known.has(secret))
          return `${words} ${container.name} with ${where} referencing secret.secretName="${secret}" ${reason} secret`;
  const pulls = new Set(account.imagePullSecrets?.map(({ name }) => name));
  for (const [i, { name }] of (spec.imagePullSecrets ?? []).entries())
    if (!pulls.has(name)) return `imagePullSecrets[${i}].name="${name ?? ""}" ${reason} imagePullSecret`;
  return undefined;
}
