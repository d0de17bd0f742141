// How the owners of pods make and delete them, and what they report when they do.
// Upstream: pkg/controller/controller_utils.go.
import { Pod } from "#api/core/v1/pod.ts";
import type { PodTemplateSpec } from "#api/core/v1/pod-spec.ts";
import { ApiError, explain, isNotFound } from "#base/errors.ts";
import type { Reconcile } from "#client/controller.ts";
import { controlledBy } from "#rules/owners.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ObjectMeta } from "#schema/object-meta.ts";

export interface NewPod {
  readonly kind: AnyKind;
  readonly owner: { readonly metadata: ObjectMeta };
  readonly template: PodTemplateSpec | undefined;
  /** What its name begins with; defaults to that of the owner and a hyphen. */
  readonly generateName?: string;
}

/** Creates a pod. The refusal of a namespace that is being deleted is not a failure: the owner goes soon, too. */
export async function createPod(
  { kind, owner, template, generateName }: NewPod,
  { client, event }: Reconcile,
): Promise<void> {
  const { labels, annotations, finalizers } = template?.metadata ?? {};
  if (Object.keys(labels ?? {}).length === 0) throw new Error("unable to create pods, no labels");
  const { namespace, name } = owner.metadata;
  const metadata = {
    generateName: generateName ?? `${name}-`,
    namespace,
    labels,
    annotations,
    finalizers,
    ownerReferences: [controlledBy(kind, owner)],
  };
  try {
    const pod = await client.create(Pod, { metadata, spec: template?.spec });
    event("Normal", "SuccessfulCreate", `Created pod: ${pod.metadata.name}`);
  } catch (error) {
    if (isNamespaceTerminating(error)) return;
    event("Warning", "FailedCreate", `Error creating: ${explain(error)}`);
    throw error;
  }
}

/** Deletes a pod, unless it is gone already. */
export async function deletePod({ metadata }: Pod, { client, event }: Reconcile): Promise<void> {
  const { namespace, name = "" } = metadata;
  try {
    await client.delete(Pod, { namespace, name });
    event("Normal", "SuccessfulDelete", `Deleted pod: ${name}`);
  } catch (cause) {
    if (isNotFound(cause)) return;
    event("Warning", "FailedDelete", `Error deleting: ${explain(cause)}`);
    throw new Error("unable to delete pods", { cause });
  }
}

/** The server refuses to create anything in a namespace that is being deleted, and says so in a cause. */
export const isNamespaceTerminating = (error: unknown): boolean =>
  error instanceof ApiError && error.details?.causes?.some(({ reason }) => reason === "NamespaceTerminating") === true;
