import { Namespace } from "#api/core/v1/namespace.ts";
import { applyDefaults } from "#schema/defaults.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { badRequest, methodNotAllowed, notFound } from "#wire/status.ts";
import { parseWriteOptions } from "../registry/options.ts";
import type { SubresourceHandler } from "../served-resource.ts";

/** Takes finalizers of a namespace away: all that this subresource may change. The last one gone, so is the namespace. */
export const finalize: SubresourceHandler = async (request, { kind, registry }) => {
  if (request.verb !== "update") throw methodNotAllowed();
  if (!request.body) throw badRequest("the body of the request is missing");
  const { dryRun } = parseWriteOptions(request, "UpdateOptions");
  const sent = applyDefaults(Namespace, request.body.decode(Namespace).object) as DraftObject;
  const key = registry.keyOf(undefined, request.name ?? "");
  const old = (await registry.current(key, request.signal))?.object;
  if (!old) throw notFound(registry.resource, request.name ?? "");
  const call = { request, kind, operation: "update", old, dryRun } as const;
  await registry.options.admission.mutate(call, sent);
  await registry.options.admission.validate(call, sent as ApiObject);
  const stored = await registry.modify(request, key, dryRun, (current) => {
    const object = structuredClone(current) as DraftObject;
    object.spec = { ...object.spec, finalizers: sent.spec?.finalizers ?? [] };
    if (object.spec.finalizers.length === 0) delete object.spec.finalizers;
    const { deletionTimestamp, finalizers } = object.metadata;
    return deletionTimestamp !== undefined && !object.spec.finalizers && !finalizers ? undefined : object;
  });
  return { type: "object", code: 200, kind, stored };
};
