// Deleting: at once, gracefully, or step by step while finalizers remain.
// Upstream: staging/src/k8s.io/apiserver/pkg/registry/rest/delete.go and
// staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go.
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { timeOf } from "#schema/time.ts";
import type { ApiRequest } from "#wire/api-request.ts";
import { conflict, successStatus } from "#wire/status.ts";
import { type DeletionOptions, parseDeleteOptions } from "../registry/options.ts";
import { draftOf } from "../registry/patching.ts";
import type { Registry } from "../registry/registry.ts";
import { answer, type ServedResource, type SubresourceHandler } from "../served-resource.ts";
import type { StoredObject } from "../stored.ts";

const orphanFinalizer = "orphan";
const foregroundFinalizer = "foregroundDeletion";

export const deleteOne: SubresourceHandler = async (request, served) => {
  const { kind, registry } = served;
  const key = registry.keyOf(request.namespace, request.name ?? "");
  const { stored, gone } = await deleteObject(registry, request, key, deleteOptions(request, served));
  if (!gone || kind.returnsDeleted) return answer(200, served, stored);
  const { name, uid } = stored.object.metadata;
  return {
    type: "plain",
    code: 200,
    object: successStatus({
      name: name ?? "",
      ...(kind.group && { group: kind.group }),
      kind: kind.plural,
      uid: uid ?? "",
    }),
  };
};

/** Warns a client that does not say what is to become of dependents, where the default may surprise it. */
export function deleteOptions(request: ApiRequest, { registry }: ServedResource): DeletionOptions {
  const options = parseDeleteOptions(request);
  const { deletionWarning } = registry.strategy;
  if (deletionWarning !== undefined && options.propagation === undefined) request.warn?.(deletionWarning);
  return options;
}

export interface Deletion {
  readonly stored: StoredObject;
  /** Whether nothing is left of the object. */
  readonly gone: boolean;
}

export function deleteObject(
  registry: Registry,
  request: ApiRequest,
  key: string,
  options: DeletionOptions,
): Promise<Deletion> {
  return registry.onCurrent(request, key, async (current) => {
    refuseOther(registry.kind, current.object, options);
    if (!options.admitted) {
      const call = registry.admissionCall(request, "delete", options.dryRun, current.object);
      await registry.mutate(call, undefined);
      await registry.validate(call, undefined);
    }
    return deleteOnce(registry, request, current, options);
  });
}

async function deleteOnce(
  registry: Registry,
  request: ApiRequest,
  current: StoredObject,
  options: DeletionOptions,
): Promise<Deletion> {
  const { strategy } = registry;
  const { dryRun } = options;
  const object = draftOf(current.object) as DraftObject;
  const { metadata } = object;
  metadata.finalizers = finalizersAfter(current.object, options, strategy.orphansDependents ?? false);
  if (metadata.finalizers.length === 0) delete metadata.finalizers;
  const mayGo = (strategy.mayGo?.(current.object) ?? true) && metadata.finalizers === undefined;
  const removed = async () => ({ stored: await registry.remove(request, current, object, dryRun), gone: true });
  const kept = async () => ({ stored: await registry.replace(request, current, object, dryRun), gone: false });

  if (metadata.deletionTimestamp === undefined) {
    const grace = strategy.graceSeconds?.(current.object, options.graceSeconds) ?? 0;
    // Kinds that are never given time are gone without a last word; the others say when they were deleted, if only for a moment.
    if (mayGo && !strategy.graceSeconds) return removed();
    metadata.deletionTimestamp = timeOf(registry.now() + grace * 1000);
    metadata.deletionGracePeriodSeconds = grace;
    if (metadata.generation) metadata.generation += 1;
    strategy.prepareForDeletion?.(object);
    return mayGo && grace === 0 ? removed() : kept();
  }

  // Already on its way: the time it was given may only become shorter, and only if someone says so.
  const given = metadata.deletionGracePeriodSeconds ?? 0;
  const asked = options.graceSeconds ?? given;
  if (given > 0 && asked >= given) return { stored: current, gone: false };
  if (asked < given) shorten(metadata, asked, given, registry.now());
  if ((metadata.deletionGracePeriodSeconds ?? 0) === 0 && mayGo) return removed();
  if (asked >= given && sameFinalizers(current.object, object)) return { stored: current, gone: false };
  return kept();
}

/** Where the time is over already, one second is left for whoever is to see the end, unless none is wanted. */
function shorten(metadata: DraftObject["metadata"], asked: number, given: number, now: number): void {
  const due = Date.parse(metadata.deletionTimestamp ?? "") + (asked - given) * 1000;
  metadata.deletionTimestamp = timeOf(Math.max(due, now));
  metadata.deletionGracePeriodSeconds = due < now && asked > 0 ? 1 : asked;
}

/** The propagation a client asks for becomes a finalizer, which the garbage collector removes when it has done its part. */
function finalizersAfter(
  { metadata }: ApiObject,
  { propagation }: DeletionOptions,
  orphansByDefault: boolean,
): string[] {
  const present = metadata.finalizers ?? [];
  const others = present.filter((finalizer) => finalizer !== orphanFinalizer && finalizer !== foregroundFinalizer);
  switch (propagation) {
    case "Orphan":
      return [...others, orphanFinalizer];
    case "Foreground":
      return [...others, foregroundFinalizer];
    case "Background":
      return others;
    default:
      if (present.length > others.length) return [...present];
      return orphansByDefault ? [...others, orphanFinalizer] : others;
  }
}

const sameFinalizers = (a: ApiObject, b: DraftObject): boolean =>
  (a.metadata.finalizers ?? []).join("\n") === (b.metadata.finalizers ?? []).join("\n");

function refuseOther(
  { group, kind }: AnyKind,
  { metadata }: ApiObject,
  { uid, resourceVersion }: DeletionOptions,
): void {
  const name = metadata.name ?? "";
  if (uid !== undefined && uid !== metadata.uid)
    throw conflict(
      { group, resource: kind },
      name,
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
    );
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion)
    throw conflict(
      { group, resource: kind },
      name,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`,
    );
}
