// Makes resource claims of templates for pods, and says in the pods' statuses which ones.
// Upstream: pkg/controller/resourceclaim/controller.go.
import { Pod } from "#api/core/v1/pod.ts";
import type { PodResourceClaim } from "#api/core/v1/pod-spec.ts";
import { ResourceClaim } from "#api/resource/v1/resource-claim.ts";
import { ResourceClaimTemplate } from "#api/resource/v1/resource-claim-template.ts";
import { explain } from "#base/errors.ts";
import { index } from "#client/cache.ts";
import { controller, type Reconcile, watching } from "#client/controller.ts";
import {
  canBeReserved,
  consumerOf,
  isDone,
  isMadeFor,
  isReservedFor,
  podClaimAnnotation,
  podClaimNames,
} from "#rules/devices/resource-claims.ts";
import { controlledBy } from "#rules/owners.ts";

const fieldManager = "ResourceClaimController";
/** Leaves room for what is appended, in a name of 63 characters. */
const longestPrefix = 57;

const isConcerned = ({ metadata, spec }: Pod): boolean =>
  metadata.deletionTimestamp === undefined && (spec.resourceClaims ?? []).length > 0;

/** Pods by the templates that their claims are made of. */
const podsByTemplate = index(Pod, ({ metadata, spec }) =>
  (spec.resourceClaims ?? []).flatMap(({ resourceClaimTemplateName: name }) =>
    name === undefined ? [] : [`${metadata.namespace}/${name}`],
  ),
);
export const podsByResourceClaim = index(Pod, (pod) =>
  podClaimNames(pod).flatMap(({ claim }) => (claim === undefined ? [] : [`${pod.metadata.namespace}/${claim}`])),
);

export const podResourceClaimController = controller({
  name: "resourceclaim",
  queue: "resource_claim",
  reportsAs: "resource_claim",
  for: Pod,
  concerns: isConcerned,
  owns: [ResourceClaim],
  watches: [
    watching(ResourceClaim, ({ metadata }, cache) =>
      cache.by(podsByResourceClaim, `${metadata.namespace}/${metadata.name}`).map((pod) => pod.metadata),
    ),
    watching(ResourceClaimTemplate, ({ metadata }, cache) =>
      cache.by(podsByTemplate, `${metadata.namespace}/${metadata.name}`).map((pod) => pod.metadata),
    ),
  ],
  workers: 50,

  async reconcile(pod, context) {
    if (!isConcerned(pod) || isDone(pod)) return;
    const made = new Map<string, string>();
    for (const entry of pod.spec.resourceClaims ?? []) {
      const name = await ensureClaim(pod, entry, context);
      if (name !== undefined) made.set(entry.name, name);
    }
    if (made.size > 0) await tellPod(pod, made, context);
    else if (pod.spec.nodeName) await reserve(pod, context);
  },
});

/** The name of a claim that the pod does not know of yet. */
async function ensureClaim(pod: Pod, entry: PodResourceClaim, context: Reconcile): Promise<string | undefined> {
  const { client, cache, event } = context;
  const { namespace, name: podName = "" } = pod.metadata;
  const known = podClaimNames(pod).find((one) => one.entry === entry.name);
  if (!known?.isMade || known.claim === undefined || entry.resourceClaimTemplateName === undefined) return undefined;
  const present = known.claim === "missing" ? undefined : cache.get(ResourceClaim, { namespace, name: known.claim });
  if (present && isMadeFor(present, pod)) return undefined;
  // It may have been made before the pod could be told.
  const orphan = cache
    .owned(ResourceClaim, pod)
    .find(({ metadata }) => metadata.annotations?.[podClaimAnnotation] === entry.name && !metadata.deletionTimestamp);
  if (orphan) return orphan.metadata.name;
  try {
    const template = cache.get(ResourceClaimTemplate, { namespace, name: entry.resourceClaimTemplateName });
    if (!template)
      throw new Error(
        `resource claim template ${JSON.stringify(entry.resourceClaimTemplateName)}: resourceclaimtemplate.resource.k8s.io ${JSON.stringify(entry.resourceClaimTemplateName)} not found`,
      );
    const { annotations = {}, labels } = template.spec.metadata ?? {};
    const claim = await client.create(ResourceClaim, {
      metadata: {
        namespace,
        generateName: prefixOf(podName, entry.name),
        ownerReferences: [{ ...controlledBy(Pod, pod), blockOwnerDeletion: undefined }],
        annotations: { ...annotations, [podClaimAnnotation]: entry.name },
        ...(labels && { labels }),
      },
      spec: template.spec.spec,
    });
    return claim.metadata.name;
  } catch (cause) {
    event("Warning", "FailedResourceClaimCreation", `PodResourceClaim ${entry.name}: ${explain(cause)}`);
    throw new Error(`pod ${namespace}/${podName}, PodResourceClaim ${entry.name}`, { cause });
  }
}

function prefixOf(pod: string, claim: string): string {
  const whole = `${pod}-${claim}-`;
  if (whole.length <= longestPrefix) return whole;
  const part = (text: string) => text.slice(0, Math.trunc((text.length * longestPrefix) / whole.length));
  return `${part(pod)}-${part(claim)}`;
}

/** All entries are told of, since what is applied replaces what was applied before. */
async function tellPod(pod: Pod, made: ReadonlyMap<string, string>, { client }: Reconcile): Promise<void> {
  const { namespace, name = "", uid } = pod.metadata;
  const before = (pod.status.resourceClaimStatuses ?? []).filter((one) => !made.has(one.name));
  const added = [...made].map(([entry, resourceClaimName]) => ({ name: entry, resourceClaimName }));
  const applied = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace, name, uid },
    status: { resourceClaimStatuses: [...before, ...added] },
  };
  await client.patch(Pod, { namespace, name }, "apply", applied, { subresource: "status", fieldManager, force: true });
}

/** A pod that got its node from someone else than the scheduler may use claims that have devices already. */
async function reserve(pod: Pod, { client, cache }: Reconcile): Promise<void> {
  for (const { claim: name, isMade } of podClaimNames(pod)) {
    const claim = name === undefined ? undefined : cache.get(ResourceClaim, { ...pod.metadata, name });
    if (!claim?.status.allocation || (isMade && !isMadeFor(claim, pod))) continue;
    if (isReservedFor(claim, pod) || !canBeReserved(claim)) continue;
    const reservedFor = [...(claim.status.reservedFor ?? []), consumerOf(pod)];
    await client.update(ResourceClaim, { ...claim, status: { ...claim.status, reservedFor } }, "status");
  }
}
