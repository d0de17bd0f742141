// Notes in managedFields what a write owns, in the version that was sent, and turns the object into the stored version.
import { inTurns, turn } from "#base/breathe.ts";
import { type Soon, soon } from "#base/soon.ts";
import { trackSteps, trackUpdate, type UpdateWrite } from "#schema/apply/apply.ts";
import { excluding, type Filter } from "#schema/apply/filter.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { validateObject } from "#schema/validate.ts";
import type { ApiRequest } from "#wire/api-request.ts";
import { invalidObject } from "#wire/status.ts";
import { refuseTooLarge } from "../registry/object-size.ts";
import type { WriteOptions } from "../registry/options.ts";
import type { Strategy } from "../registry/strategy.ts";
import type { ServedResource } from "../served-resource.ts";
import { fromStored, toStored } from "../versions.ts";

/** Which fields a writer can own: through the main resource all but the status, through `status` nothing else. */
export function ownable({ kind, registry }: ServedResource, subresource: string | undefined) {
  const part = subresource === undefined ? undefined : registry.strategy.parts?.[subresource];
  if (part) return { resetFields: part.owned };
  if (!kind.subresources?.status) return {};
  return { resetFields: resetFieldsOf(registry)[subresource === "status" ? "status" : "object"] };
}

interface ResetFields {
  readonly object: Filter;
  readonly status: Filter;
}

const resetFields = new WeakMap<object, ResetFields>();

/** What writers of the whole object can own, and those who write through `status`. */
function resetFieldsOf(registered: { readonly kind: AnyKind; readonly strategy: Strategy }): ResetFields {
  const known = resetFields.get(registered);
  if (known) return known;
  const { kind, strategy } = registered;
  const { unowned, statusKeeps = [] } = strategy;
  const others = kind.model.fieldNames.filter((field) => field !== "status");
  const made = {
    object: excluding("status", ...(unowned?.object ?? [])),
    status: excluding(...others, ...statusKeeps, ...(unowned?.status ?? [])),
  };
  resetFields.set(registered, made);
  return made;
}

/** The object in the stored version, with what this write owns noted in managedFields. */
export function tracked(
  served: ServedResource,
  request: ApiRequest,
  current: ApiObject | undefined,
  object: DraftObject,
  options: WriteOptions,
  isLarge: boolean,
): Soon<DraftObject> {
  const { kind } = served;
  const live = current && fromStored(kind, current);
  return soon(live, (shown) => trackedFrom(served, request, shown, object, options, isLarge));
}

function trackedFrom(
  served: ServedResource,
  request: ApiRequest,
  live: ApiObject | undefined,
  object: DraftObject,
  options: WriteOptions,
  isLarge: boolean,
): Soon<DraftObject> {
  const { kind } = served;
  const update = () => updateOf(served, request, live, object, options);
  if (!isLarge && !kind.peers?.isRemote) return owned(kind, object, trackUpdate(update()));
  const inSeveralTurns = async () => {
    if (isLarge) await turn();
    if (isLarge) refuseTooLarge(object);
    if (isLarge) await turn();
    const managedFields = await inTurns(trackSteps(update()));
    if (isLarge) await turn();
    return owned(kind, object, managedFields);
  };
  return inSeveralTurns();
}

function owned(kind: AnyKind, object: DraftObject, managedFields: readonly object[]): Soon<DraftObject> {
  if (managedFields.length > 0) object.metadata.managedFields = managedFields as never;
  else delete object.metadata.managedFields;
  return toStored(kind, object);
}

/** What is to be tracked, once it is known to be worth it. */
function updateOf(
  served: ServedResource,
  { subresource }: ApiRequest,
  live: ApiObject | undefined,
  object: DraftObject,
  options: WriteOptions,
): UpdateWrite {
  const { kind, registry, versions } = served;
  if (kind.convert) refuseInvalid(kind, object, live);
  if (subresource === undefined) registry.strategy.prepareForTracking?.(object);
  return {
    kind,
    versions,
    live,
    updated: object as ApiObject,
    manager: options.fieldManager,
    now: registry.now(),
    ...(subresource !== undefined && { subresource }),
    ...ownable(served, subresource),
  };
}

/** The registry checks the stored version; a version with rules of its own is checked before it is converted. */
function refuseInvalid(kind: AnyKind, object: DraftObject, live: ApiObject | undefined): void {
  if (!kind.check || !kind.convert) return;
  const problems = validateObject(kind.struct, object, live);
  // Upstream knows the object by its stored kind only.
  if (problems.length > 0) throw invalidObject(kind.convert.to(), object.metadata.name ?? "", problems);
}
