// Server-side apply: see schema/apply for what becomes of the fields.

import { inTurns, turn } from "#base/breathe.ts";
import { ApiError } from "#base/errors.ts";
import { type ApplyWrite, applyObject, applySteps } from "#schema/apply/apply.ts";
import { decodeValue } from "#schema/decode.ts";
import { applyDefaults } from "#schema/defaults.ts";
import { refuseManyValues } from "#schema/json.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import type { ApiRequest, ApiResponse } from "#wire/api-request.ts";
import { badRequest, conflict } from "#wire/status.ts";
import { refuseTooLarge } from "../registry/object-size.ts";
import { parseWriteOptions } from "../registry/options.ts";
import { mostValues } from "../request-body.ts";
import { answer, type ServedResource } from "../served-resource.ts";
import { fromStored, toStored } from "../versions.ts";
import { checkPlace, decodeErrors, isLargeBody, notOfKind, strictProblems } from "./body.ts";
import { ownable } from "./tracking.ts";

export async function serverSideApply(request: ApiRequest, served: ServedResource): Promise<ApiResponse> {
  const { kind, registry, versions } = served;
  const options = parseWriteOptions(request, "PatchOptions");
  const { body, name = "", namespace, subresource } = request;
  const configuration = configurationOf(
    decodeErrors(
      () => body?.value(kind),
      (why) => badRequest(`error decoding YAML: ${why}`),
    ),
  );
  request.audit?.sentPatch(configuration);
  const key = registry.keyOf(namespace, name);
  const now = registry.now();
  const apply = async (live: ApiObject | undefined, isLarge: boolean): Promise<DraftObject> => {
    const write: ApplyWrite = {
      kind,
      versions,
      live: live && (await fromStored(kind, live)),
      applied: configuration,
      manager: options.fieldManager,
      force: options.force,
      now,
      ...(subresource !== undefined && { subresource }),
      ...ownable(served, subresource),
    };
    const { object, managedFields } =
      isLarge || kind.peers?.isRemote ? await inTurns(applySteps(write)) : applyObject(write);
    if (isLarge) {
      await turn();
      refuseManyValues(object, mostValues);
      await turn();
    }
    const decoded = decodeErrors(() => decodeValue(kind, object));
    strictProblems(decoded.strictErrors, options, notOfKind(kind));
    if (isLarge) await turn();
    const next = await toStored(kind, applyDefaults(kind, decoded.object as DraftObject));
    if (isLarge) await turn();
    if (isLarge) refuseTooLarge(next);
    next.metadata.managedFields = managedFields as never;
    const { uid } = next.metadata;
    if (!live && uid)
      throw conflict(
        registry.resource,
        name,
        `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
      );
    checkPlace(request, kind, next);
    // Applying says what is wanted: it conflicts only if it names a resourceVersion itself.
    if (next.metadata.resourceVersion === live?.metadata.resourceVersion) delete next.metadata.resourceVersion;
    return next;
  };
  return written(request, served, { key, options, apply });
}

interface Application {
  readonly key: string;
  readonly options: ReturnType<typeof parseWriteOptions>;
  /** What becomes of the object as it is. */
  readonly apply: (live: ApiObject | undefined, isLarge: boolean) => Promise<DraftObject>;
}

const mostTries = 5;

/** Creates the object or changes it. */
async function written(
  request: ApiRequest,
  served: ServedResource,
  { key, options, apply }: Application,
): Promise<ApiResponse> {
  const { registry } = served;
  const { subresource } = request;
  for (let tries = 1; ; tries++) {
    const isThere = subresource !== undefined || (await registry.objects.current(key, request)) !== undefined;
    try {
      if (isThere) return answer(200, served, await registry.update(request, key, apply, options));
      const object = await apply(undefined, isLargeBody(request));
      delete object.metadata.resourceVersion;
      return answer(201, served, await registry.create(request, object, options));
    } catch (error) {
      // Somebody has deleted or made the object meanwhile, which is none of the client's business.
      const race = isThere ? "NotFound" : "AlreadyExists";
      if (subresource || tries === mostTries || !(error instanceof ApiError && error.reason === race)) throw error;
    }
  }
}

/** Nothing at all reads as an empty object, which is then refused for not saying what it is. */
export function configurationOf(value: unknown): Readonly<Record<string, unknown>> {
  if (value === undefined || value === null) return {};
  if (typeof value === "object" && !Array.isArray(value)) return value as Readonly<Record<string, unknown>>;
  const type = Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value;
  throw badRequest(
    `error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${type} into Go value of type map[string]interface {}`,
  );
}
