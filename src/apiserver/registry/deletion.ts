// Deleting: at once, gracefully, or step by step while finalizers remain.

import type { ApiObject, DraftObject } from "#schema/object.ts";
import { timeOf } from "#schema/time.ts";
import { Conflict } from "#store/engine.ts";
import type { ApiRequest } from "#wire/api-request.ts";
import { conflict, notFound } from "#wire/status.ts";
import type { StoredObject } from "../stored.ts";
import type { DeletionOptions } from "./options.ts";
import { draftOf } from "./patching.ts";
import type { Registry } from "./registry.ts";

const orphanFinalizer = "orphan";
const foregroundFinalizer = "foregroundDeletion";

export interface Deletion {
  readonly stored: StoredObject;
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
    let current = await registry.current(key, request);
    for (;;) {
      if (!current) throw notFound(registry.resourceOf(request), request.name ?? "");
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
  current: StoredObject,
  options: DeletionOptions,
): Promise<Deletion> {
  const { strategy, clock } = registry.options;
  const object = draftOf(current.object) as DraftObject;
  const { metadata } = object;
  metadata.finalizers = finalizersAfter(current.object, options, strategy.orphansDependents ?? false);
  if (metadata.finalizers.length === 0) delete metadata.finalizers;
  const mayGo = (strategy.mayGo?.(current.object) ?? true) && metadata.finalizers === undefined;

  if (metadata.deletionTimestamp === undefined) {
    const grace = strategy.graceSeconds?.(current.object, options.graceSeconds) ?? 0;
    // What is never given time is gone without a last word; the rest says when it was deleted, if only for a moment.
    if (mayGo && !strategy.graceSeconds)
      return { stored: await registry.remove(request, current, object, options.dryRun), gone: true };
    metadata.deletionTimestamp = timeOf(clock.now() + grace * 1000);
    metadata.deletionGracePeriodSeconds = grace;
    if (metadata.generation) metadata.generation += 1;
    strategy.prepareForDeletion?.(object);
    if (mayGo && grace === 0)
      return { stored: await registry.remove(request, current, object, options.dryRun), gone: true };
    return { stored: await registry.write(request, object, current, options.dryRun), gone: false };
  }

  // Already on its way: the time it was given may only become shorter, and only if someone says so.
  const given = metadata.deletionGracePeriodSeconds ?? 0;
  const asked = options.graceSeconds ?? given;
  if (given > 0 && asked >= given) return { stored: current, gone: false };
  if (asked < given) shorten(metadata, asked, given, clock.now());
  if ((metadata.deletionGracePeriodSeconds ?? 0) === 0 && mayGo)
    return { stored: await registry.remove(request, current, object, options.dryRun), gone: true };
  if (asked >= given && sameFinalizers(current.object, object)) return { stored: current, gone: false };
  return { stored: await registry.write(request, object, current, options.dryRun), gone: false };
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
