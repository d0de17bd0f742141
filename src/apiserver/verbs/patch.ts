import { turn } from "#base/breathe.ts";
import { applyDefaults } from "#schema/defaults.ts";
import type { ApiRequest, ApiResponse } from "#wire/api-request.ts";
import { badRequest, unsupportedMediaType } from "#wire/status.ts";
import { parseWriteOptions } from "../registry/options.ts";
import { patched } from "../registry/patching.ts";
import { plainPatchTypes } from "../request-body.ts";
import { answer, type ServedResource, type SubresourceHandler } from "../served-resource.ts";
import { fromStored } from "../versions.ts";
import { serverSideApply } from "./apply.ts";
import { checkPlace, decodeErrors, strictProblems } from "./body.ts";
import { tracked } from "./tracking.ts";

export const patch: SubresourceHandler = (request, served) =>
  request.body?.patchType === "apply" ? serverSideApply(request, served) : plainPatch(request, served);

async function plainPatch(request: ApiRequest, served: ServedResource): Promise<ApiResponse> {
  const { kind, registry } = served;
  const options = parseWriteOptions(request, "PatchOptions");
  const { body } = request;
  const type = body?.patchType;
  if (!body || !type || type === "apply") throw badRequest("the body of a patch is missing");
  if (type === "strategic" && !kind.model.publication.strategicPatch) throw unsupportedMediaType(plainPatchTypes);
  const patch = decodeErrors(
    () => body.value(kind),
    (why) => badRequest(type === "strategic" ? why : `error decoding patch: ${why}`),
  );
  request.audit?.sentPatch(patch);
  let warnings: readonly string[] = [];
  const key = registry.keyOf(request.namespace, request.name ?? "");
  const result = await registry.update(
    request,
    key,
    async (current, isLarge) => {
      const { object, strictErrors, invalid } = await patched(
        kind,
        type,
        await fromStored(kind, current),
        patch,
        isLarge,
      );
      warnings = strictProblems(strictErrors, options, invalid);
      object.metadata ??= {};
      checkPlace(request, kind, object);
      if (isLarge) await turn();
      const next = await tracked(served, request, current, applyDefaults(kind, object), options, isLarge);
      // A patch says what changes: it conflicts only if it names a resourceVersion itself.
      if (next.metadata.resourceVersion === current.metadata.resourceVersion) delete next.metadata.resourceVersion;
      return next;
    },
    options,
  );
  return answer(200, served, result, warnings);
}
