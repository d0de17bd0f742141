// Which of the secrets that a pod uses its service account does not know of.
// Upstream: plugin/pkg/admission/serviceaccount/admission.go.
import type { PodSpec } from "#api/core/v1/pod-spec.ts";
import type { ServiceAccount } from "#api/core/v1/service-account.ts";
import { environmentSecrets } from "#rules/pod-secrets.ts";

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
