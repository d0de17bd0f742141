import type { ApiRequest } from "#wire/api-request.ts";
import { successStatus } from "#wire/status.ts";
import { deleteObject } from "../registry/deletion.ts";
import { type DeletionOptions, parseDeleteOptions } from "../registry/options.ts";
import { answer, type ServedResource, type SubresourceHandler } from "../served-resource.ts";

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
  const { deletionWarning } = registry.options.strategy;
  if (deletionWarning !== undefined && options.propagation === undefined) request.warn?.(deletionWarning);
  return options;
}
