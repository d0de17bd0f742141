// What the server itself writes into an object on its way in: identity, times, generation, and what a client may not change here.
import { equal, own, setOwn } from "#base/collections.ts";
import type { Random } from "#base/random.ts";
import { keepTimes } from "#schema/apply/keep-times.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { timeOf } from "#schema/time.ts";
import type { PartStrategy, Strategy, StrategyContext } from "./strategy.ts";

/** Without vowels and look-alikes, so that no word arises and none is misread. */
const alphabet = "bcdfghjklmnpqrstvwxz2456789";
const longestPrefix = 58;

export function generatedName(prefix: string, random: Random): string {
  const suffix = Array.from({ length: 5 }, () => alphabet[random.below(alphabet.length)]).join("");
  return prefix.slice(0, longestPrefix) + suffix;
}

export function prepareForCreate(
  kind: AnyKind,
  strategy: Strategy,
  object: DraftObject,
  context: StrategyContext,
): void {
  const { metadata } = object;
  wipeSystemFields(object);
  if (metadata.resourceVersion !== undefined) delete metadata.resourceVersion;
  metadata.uid = context.random.uuid();
  metadata.creationTimestamp = timeOf(context.clock.now());
  if (strategy.countsGenerations) metadata.generation = 1;
  if (kind.subresources?.status && !strategy.keepsStatusOnCreate) object.status = {};
  strategy.prepareForCreate?.(object, context);
}

export function prepareForUpdate(
  kind: AnyKind,
  strategy: Strategy,
  object: DraftObject,
  old: ApiObject,
  context: StrategyContext,
): void {
  keepIdentity(object, old);
  if (kind.subresources?.status) takeFrom(object, old, "status");
  strategy.prepareForUpdate?.(object, old, context);
  countGeneration(strategy, object, old);
}

export function prepareForPartUpdate(
  strategy: Strategy,
  part: PartStrategy,
  object: DraftObject,
  old: ApiObject,
  context: StrategyContext,
): void {
  keepIdentity(object, old);
  part.prepare(object, old, context);
  countGeneration(strategy, object, old);
}

function countGeneration(strategy: Strategy, object: DraftObject, old: ApiObject): void {
  if (strategy.countsGenerations && !equal(wanted(strategy, object as ApiObject), wanted(strategy, old)))
    object.metadata.generation = (old.metadata.generation ?? 0) + 1;
}

/** Through `status` only the status changes, and of metadata what a controller may note there. */
export function prepareForStatusUpdate(
  kind: AnyKind,
  strategy: Strategy,
  object: DraftObject,
  old: ApiObject,
  context: StrategyContext,
): void {
  keepIdentity(object, old);
  for (const field of kind.model.fieldsOf(object, old)) if (field !== "status") takeFrom(object, old, field);
  for (const kept of strategy.statusKeeps ?? [])
    for (const field of kept === "metadata" ? clientMetadata : [kept.slice("metadata.".length)])
      takeFrom(object.metadata, old.metadata, field);
  strategy.prepareForStatusUpdate?.(object, old, context);
}

/**
 * What a patch has left as it was becomes the very same, so that all who compare it with what is stored see that at once: most
 * patches change metadata or the status, and to compare the spec again and again is a fifth of what one costs. To be called once
 * nothing is changed any more.
 */
export function shareUnchanged(object: DraftObject, old: ApiObject): void {
  for (const field in object) {
    const [before, after] = [old[field], object[field]];
    if (field !== "metadata" && typeof before === "object" && before !== after && equal(before, after))
      object[field] = before;
  }
}

/** Whether a write makes another object; that someone wrote again what they own does not. */
export const isChanged = (old: ApiObject, object: DraftObject): boolean => !equal(keepTimes(old, object), old);

const clientMetadata = ["labels", "annotations", "finalizers", "ownerReferences"];

/** What a client leaves out of an update stays; what it may not change is left to validation, which names it. */
function keepIdentity(object: DraftObject, old: ApiObject): void {
  const { metadata } = object;
  metadata.uid ||= old.metadata.uid;
  delete metadata.selfLink;
  takeFrom(metadata, old.metadata, "generation");
  takeFrom(metadata, old.metadata, "creationTimestamp");
  if (old.metadata.deletionTimestamp !== undefined) metadata.deletionTimestamp = old.metadata.deletionTimestamp;
  metadata.deletionGracePeriodSeconds ??= old.metadata.deletionGracePeriodSeconds;
  if (metadata.deletionGracePeriodSeconds === undefined) delete metadata.deletionGracePeriodSeconds;
}

/** What a client says of these when it creates an object is not even looked at, so nobody owns it either. */
export function wipeSystemFields({ metadata }: DraftObject): void {
  for (const field of systemFields) if (metadata[field] !== undefined) delete metadata[field];
}

/** Most clients send none of them, and to delete what is not there takes twice as long as to see that. */
const systemFields = [
  "uid",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "selfLink",
] as const;

/** Undoes a change of one field. */
export function takeFrom(
  target: Record<string, unknown>,
  source: Readonly<Record<string, unknown>>,
  field: string,
): void {
  const value = own(source, field);
  if (value === undefined) delete target[field];
  else setOwn(target, field, value);
}

function wanted(strategy: Strategy, object: ApiObject): unknown {
  if (strategy.wanted) return strategy.wanted(object);
  const { metadata: _metadata, status: _status, ...rest } = object;
  return rest;
}
