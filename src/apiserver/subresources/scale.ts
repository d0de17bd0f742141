// The size of anything that has one, in the same form for all kinds. Who writes it is noted in the managedFields of the object, under
// the name of the subresource.
// Upstream: pkg/registry/apps/deployment/storage/storage.go and pkg/registry/apps/statefulset/storage/storage.go.
import { Scale } from "#api/autoscaling/v1/scale.ts";
import { applyObject, trackUpdate } from "#schema/apply/apply.ts";
import { parentManagedFields, type ReplicasPaths, scaleManagedFields } from "#schema/apply/scale.ts";
import { decodeValue } from "#schema/decode.ts";
import { applyDefaults } from "#schema/defaults.ts";
import type { ScalePaths } from "#schema/kind.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { formatRequirements, requirementsOf, requirementsOfLabels, type SelectorStruct } from "#schema/selector.ts";
import { validateObject, valueAt } from "#schema/validate.ts";
import type { ApiRequest, ApiResponse } from "#wire/api-request.ts";
import {
  badRequest,
  conflict,
  internalError,
  invalidObject,
  methodNotAllowed,
  unsupportedMediaType,
} from "#wire/status.ts";
import { parseWriteOptions, type WriteOptions } from "../registry/options.ts";
import { patched } from "../registry/patching.ts";
import type { AdmissionView } from "../registry/write-steps.ts";
import { plainPatchTypes } from "../request-body.ts";
import type { ServedResource, SubresourceHandler } from "../served-resource.ts";
import { configurationOf } from "../verbs/apply.ts";
import { checkPlace, decodeBody, decodeErrors, notOfKind, strictProblems } from "../verbs/body.ts";
import { getObject } from "../verbs/get.ts";
import { fromStored, toStored } from "../versions.ts";

export const scale =
  (paths: ScalePaths): SubresourceHandler =>
  async (request, served) => {
    const { kind, registry } = served;
    if (request.verb === "get")
      return plain(readScale(await fromStored(kind, (await getObject(registry, request)).object), paths));
    if (request.verb !== "update" && request.verb !== "patch") throw methodNotAllowed();
    if (request.body?.patchType === "strategic" && !kind.model.publication.strategicPatch)
      throw unsupportedMediaType(plainPatchTypes);
    const options = parseWriteOptions(request, request.verb === "update" ? "UpdateOptions" : "PatchOptions");
    const key = registry.keyOf(request.namespace, request.name ?? "");
    const shownAs: AdmissionView = {
      of: (object) => scaleOf(object, paths),
      apply(shown, object) {
        if (!paths.isWritten) refuseInvalid(shown, object.metadata.name ?? "");
        setAt(object, paths.replicas, shown.spec.replicas ?? 0);
      },
    };
    let warnings: readonly string[] = [];
    const change = async (stored: ApiObject, isLarge: boolean) => {
      const current = await fromStored(kind, stored);
      const replicas = replicasPaths(served, paths);
      const managedFields = scaleManagedFields(current.metadata.managedFields, replicas);
      const before = withManaged(scaleOf(current, paths), managedFields);
      const written = await drafted(request, before, options, registry.now(), isLarge);
      warnings = written.warnings;
      refuseUnset(written.scale, current, paths);
      return toStored(kind, merged(served, current, written, paths));
    };
    const stored = await registry.update(request, key, change, { ...options, shownAs });
    return {
      ...plain(scaleOf(await fromStored(kind, stored.object), paths)),
      ...(warnings.length > 0 && { warnings }),
    };
  };

const plain = (object: object): ApiResponse & { readonly type: "plain" } => ({
  type: "plain",
  code: 200,
  object,
  kind: Scale,
});

/** Where every version of the object keeps its size. */
const replicasPaths = ({ versions }: ServedResource, { replicas }: ScalePaths): ReplicasPaths =>
  Object.fromEntries(versions.map(({ apiVersion }) => [apiVersion, replicas]));

type ManagedFields = ReturnType<typeof scaleManagedFields>;

interface WrittenScale {
  readonly scale: ApiObject;
  readonly managedFields: ManagedFields;
  readonly warnings: readonly string[];
}

/** What the request makes of the Scale, and of who owns its size. */
async function drafted(
  request: ApiRequest,
  before: ApiObject,
  options: WriteOptions,
  now: number,
  isLarge: boolean,
): Promise<WrittenScale> {
  const write = { kind: Scale, live: before, manager: options.fieldManager, subresource: "scale", now };
  const { body } = request;
  if (body?.patchType === "apply") {
    const refuse = (why: string) => badRequest(`error decoding YAML: ${why}`);
    const applied = configurationOf(decodeErrors(() => body.value(), refuse));
    request.audit?.sentPatch(applied);
    const { object, managedFields } = applyObject({ ...write, applied, force: options.force });
    const { object: scale, strictErrors } = decodeErrors(() => decodeValue(Scale, object));
    const warnings = strictProblems(strictErrors, options, notOfKind(Scale));
    return { scale: withoutVersion(applyDefaults(Scale, scale as DraftObject)), managedFields, warnings };
  }
  const { scale, warnings } = await (body?.patchType
    ? patchedScale(request, before, options, isLarge)
    : sentScale(request, options));
  return { scale, managedFields: trackUpdate({ ...write, updated: scale }), warnings };
}

async function sentScale(request: ApiRequest, options: WriteOptions) {
  const { object, warnings } = await decodeBody(request, Scale, options);
  checkPlace(request, Scale, object);
  return { scale: object as ApiObject, warnings };
}

async function patchedScale({ body, audit }: ApiRequest, before: ApiObject, options: WriteOptions, isLarge: boolean) {
  const type = body?.patchType;
  if (!body || !type || type === "apply") throw badRequest("the body of a patch is missing");
  const patch = body.value();
  audit?.sentPatch(patch);
  const { object, strictErrors, invalid } = await patched(Scale, type, before, patch, isLarge);
  const scale: ApiObject = applyDefaults(Scale, object);
  // A patch says what changes: it conflicts only if it names a resourceVersion itself.
  const isSame = scale.metadata.resourceVersion === before.metadata.resourceVersion;
  return { scale: isSame ? withoutVersion(scale) : scale, warnings: strictProblems(strictErrors, options, invalid) };
}

/** The object with the size of the Scale. */
function merged(
  served: ServedResource,
  current: ApiObject,
  { scale, managedFields }: WrittenScale,
  paths: ScalePaths,
): DraftObject {
  const { kind, registry } = served;
  const { name = "", uid } = current.metadata;
  if (!paths.isWritten) refuseInvalid(scale, name);
  if (scale.metadata.uid && scale.metadata.uid !== uid)
    throw conflict(
      { ...registry.resource, resource: `${registry.resource.resource}/scale` },
      name,
      `Precondition failed: UID in precondition: ${scale.metadata.uid}, UID in object meta: ${uid}`,
    );
  const next = structuredClone(current) as DraftObject;
  setAt(next, paths.replicas, scale.spec.replicas ?? 0);
  next.metadata.resourceVersion = scale.metadata.resourceVersion || current.metadata.resourceVersion;
  const owners = parentManagedFields(
    current.metadata.managedFields,
    managedFields,
    replicasPaths(served, paths),
    kind.apiVersion,
  );
  if (owners.length > 0) next.metadata.managedFields = owners as never;
  else delete next.metadata.managedFields;
  return next;
}

function refuseInvalid(shown: ApiObject, name: string): void {
  const problems = validateObject(Scale, shown);
  if (problems.length > 0) throw invalidObject(Scale, name, problems);
}

const withManaged = (object: ApiObject, managedFields: ManagedFields): ApiObject => ({
  ...object,
  metadata: { ...object.metadata, ...(managedFields.length > 0 && { managedFields: managedFields as never }) },
});

function withoutVersion(object: ApiObject): ApiObject {
  const { resourceVersion: _version, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function scaleOf(object: ApiObject, { replicas, current, selector }: ScalePaths): ApiObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const selected = selector === undefined ? undefined : valueAt(object, selector);
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { ...(valueAt(object, replicas) ? { replicas: valueAt(object, replicas) } : {}) },
    status: { replicas: valueAt(object, current) ?? 0, ...(selected ? { selector: selectorText(selected) } : {}) },
  };
}

/** What a client reads: not of an object of which nobody has said how large it is to be. */
function readScale(object: ApiObject, paths: ScalePaths): ApiObject {
  if (paths.isWritten && valueAt(object, paths.replicas) === undefined)
    throw internalError(`the spec replicas field ".${paths.replicas}" does not exist`);
  return scaleOf(object, paths);
}

function refuseUnset(scale: ApiObject, current: ApiObject, { isWritten, replicas }: ScalePaths): void {
  if (isWritten && scale.spec?.replicas === undefined && valueAt(current, replicas) === undefined)
    throw badRequest(`the spec replicas field ".${replicas}" cannot be empty`);
}

/** Most kinds have a selector with expressions, replication controllers plain labels, and custom resources a text. */
function selectorText(selector: object | string): string {
  if (typeof selector === "string") return selector;
  const isStruct = "matchLabels" in selector || "matchExpressions" in selector;
  return formatRequirements(
    isStruct ? requirementsOf(selector as SelectorStruct) : requirementsOfLabels(selector as Record<string, string>),
  );
}

function setAt(object: DraftObject, path: string, value: unknown): void {
  const names = path.split(".");
  const last = names.pop() as string;
  const holder = names.reduce<Record<string, unknown>>((inner, name) => {
    inner[name] ??= {};
    return inner[name] as Record<string, unknown>;
  }, object);
  holder[last] = value;
}
