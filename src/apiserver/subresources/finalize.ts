import { Namespace } from "#api/core/v1/namespace.ts";
import type { DraftObject } from "#schema/object.ts";
import { badRequest, methodNotAllowed } from "#wire/status.ts";
import { parseWriteOptions } from "../registry/options.ts";
import type { SubresourceHandler } from "../served-resource.ts";

/** Takes finalizers of a namespace away: all that this subresource may change. The last one gone, so is the namespace. */
export const finalize: SubresourceHandler = async (request, { kind, registry }) => {
  if (request.verb !== "update") throw methodNotAllowed();
  if (!request.body) throw badRequest("the body of the request is missing");
  const { dryRun } = parseWriteOptions(request, "UpdateOptions");
  const sent = request.body.decode(Namespace).object;
  const key = registry.keyOf(undefined, request.name ?? "");
  const stored = await registry.modify(request, key, dryRun, (current) => {
    const object = structuredClone(current) as DraftObject;
    object.spec = { ...object.spec, finalizers: sent.spec?.finalizers ?? [] };
    if (object.spec.finalizers.length === 0) delete object.spec.finalizers;
    const { deletionTimestamp, finalizers } = object.metadata;
    return deletionTimestamp !== undefined && !object.spec.finalizers && !finalizers ? undefined : object;
  });
  return { type: "object", code: 200, kind, stored };
};
