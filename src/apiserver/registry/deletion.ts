// Deleting: at once, gracefully, or step by step while finalizers remain.

import type { ApiObject, DraftObject } from "#schema/object.ts";
import { timeOf } from "#schema/time.ts";
import { Conflict } from "#store/engine.ts";
import type { ApiRequest } from "#wire/api-request.ts";
import { conflict, notFound } from "#wire/status.ts";
import type { Stored } from "../stored.ts";
import type { DeletionOptions } from "./options.ts";
import { draftOf } from "./patching.ts";
import type { Registry } from "./registry.ts";

const orphanFinalizer = "orphan";
const foregroundFinalizer = "foregroundDeletion";

export interface Deletion {
  readonly stored: Stored;
  /** Whether nothing is left of the object. */
  readonly gone: boolean;
}

export async function deleteObject(
  registry: Registry,
  request: ApiRequest,
  key: string,
  options: DeletionOptions,
): Promise<Deletion> {
  const { admission, kind } = registry.options;
  return registry.inTurn(key, async () => {
    let current = await registry.current(key, request.signal);
    for (;;) {
      if (!current) throw notFound(registry.resource, request.name ?? "");
      refuseOther(registry, current.object, options);
      const call = { request, kind, operation: "delete", old: current.object, dryRun: options.dryRun } as const;
      if (!options.admitted) {
        await admission.mutate(call, undefined);
        await admission.validate(call, undefined);
      }
      try {
        return await deleteOnce(registry, request, current, options);
      } catch (error) {
        if (!(error instanceof Conflict)) throw error;
        current = error.present && registry.options.form.of(error.present);
      }
    }
  });
}

async function deleteOnce(
  registry: Registry,
  request: ApiRequest,
  current: Stored,
  options: DeletionOptions,
): Promise<Deletion> {
  const { strategy, clock } = registry.options;
  const object = draftOf(current.object) as DraftObject;
  const { metadata } = object;
  metadata.finalizers = finalizersAfter(current.object, options, strategy.orphansDependents ?? false);
  if (metadata.finalizers.length === 0) delete metadata.finalizers;
  const grace = strategy.graceSeconds?.(current.object, options.graceSeconds) ?? 0;
  const mayGo = strategy.mayGo?.(current.object) ?? true;

  if (metadata.deletionTimestamp === undefined) {
    if (grace === 0 && metadata.finalizers === undefined && mayGo)
      return { stored: await registry.remove(request, current, options.dryRun), gone: true };
    metadata.deletionTimestamp = timeOf(clock.now() + grace * 1000);
    metadata.deletionGracePeriodSeconds = grace;
    if (metadata.generation !== undefined) metadata.generation += 1;
    strategy.prepareForDeletion?.(object);
    return { stored: await registry.write(request, object, current, options.dryRun), gone: false };
  }

  // Already on its way: the time it was given may only become shorter.
  const given = metadata.deletionGracePeriodSeconds ?? 0;
  if (grace < given) {
    const began = Date.parse(metadata.deletionTimestamp) - given * 1000;
    metadata.deletionTimestamp = timeOf(Math.max(began + grace * 1000, clock.now()));
    metadata.deletionGracePeriodSeconds = grace;
  }
  const due = (metadata.deletionGracePeriodSeconds ?? 0) === 0;
  if (due && metadata.finalizers === undefined && mayGo)
    return { stored: await registry.remove(request, current, options.dryRun), gone: true };
  if (grace >= given && sameFinalizers(current.object, object)) return { stored: current, gone: false };
  return { stored: await registry.write(request, object, current, options.dryRun), gone: false };
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

function refuseOther(registry: Registry, { metadata }: ApiObject, { uid, resourceVersion }: DeletionOptions): void {
  const { group, kind } = registry.options.kind;
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
