import type { ApiError } from "#base/errors.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { conflict } from "#wire/status.ts";
import { parseWriteOptions } from "../registry/options.ts";
import { takeFrom } from "../registry/prepare.ts";
import type { Registry } from "../registry/registry.ts";
import { answer, type SubresourceHandler } from "../served-resource.ts";
import { registryPrefix } from "../store-follower.ts";
import { fromStored } from "../versions.ts";
import { checkPlace, decodeBody, isLargeBody } from "./body.ts";
import { tracked } from "./tracking.ts";

export const update: SubresourceHandler = async (request, served) => {
  const { kind, registry } = served;
  const options = parseWriteOptions(request, "UpdateOptions");
  const { object, warnings } = await decodeBody(request, kind, options);
  checkPlace(request, kind, object);
  const key = registry.keyOf(request.namespace, request.name ?? "");
  const { uid } = object.metadata;
  if (registry.strategy.createOnUpdate && !request.subresource && !(await registry.objects.current(key, request))) {
    if (uid) throw otherUid(registry, key, uid, "");
    delete object.metadata.resourceVersion;
    const stored = await tracked(served, request, undefined, object, options, isLargeBody(request));
    return answer(201, served, await registry.create(request, stored, options), warnings);
  }
  let decoded: DraftObject | undefined = object;
  const change = async (current: ApiObject, isLarge: boolean) => {
    const sent = decoded ?? (await decodeBody(request, kind, options)).object;
    decoded = undefined; // what is made of it is the registry's; another round begins with another
    checkPlace(request, kind, sent);
    if (uid && uid !== current.metadata.uid) throw otherUid(registry, key, uid, current.metadata.uid ?? "");
    if (request.subresource === "status") takeAllButStatus(kind, sent, await fromStored(kind, current));
    return tracked(served, request, current, sent, options, isLarge);
  };
  return answer(200, served, await registry.update(request, key, change, options), warnings);
};

/** A body that names another object than the one that is there, in the words of upstream's store. */
const otherUid = ({ resource, kind }: Registry, key: string, sent: string, present: string): ApiError =>
  conflict(
    resource,
    key.slice(key.lastIndexOf("/") + 1),
    `StorageError: invalid object, Code: 4, Key: ${kind.model.publication.isUnstructured ? key.slice(registryPrefix.length - 1) : key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${sent}, UID in object meta: ${present}`,
  );

/** Through `status` nothing else changes, whatever was sent. What is shared need not be compared. */
function takeAllButStatus(kind: AnyKind, object: DraftObject, live: ApiObject): void {
  for (const field of kind.model.fieldsOf(object, live)) if (field !== "status") takeFrom(object, live, field);
}
