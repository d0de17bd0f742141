import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import type { ApiRequest } from "#wire/api-request.ts";
import { parseWriteOptions } from "../registry/options.ts";
import type { Registry } from "../registry/registry.ts";
import { decodeBody } from "../verbs/body.ts";

/**
 * The body of a request to a subresource that takes an object of another kind, such as the Binding of a pod. The caller checks it and then
 * has it admitted.
 */
export async function sentObject(
  request: ApiRequest,
  kind: AnyKind,
): Promise<{ readonly object: DraftObject; readonly dryRun: boolean }> {
  const options = parseWriteOptions(request, "CreateOptions");
  return { object: (await decodeBody(request, kind, options)).object, dryRun: options.dryRun };
}

export async function admit(
  registry: Registry,
  request: ApiRequest,
  object: DraftObject,
  dryRun: boolean,
): Promise<void> {
  const call = registry.admissionCall(request, "create", dryRun);
  await registry.mutate(call, object);
  await registry.validate(call, object as ApiObject);
}
