// Brings the roles and bindings that every cluster has up to date at start: what is missing is added, what people added stays, and
// what they marked with `rbac.authorization.kubernetes.io/autoupdate: "false"` is left alone.
import { equal, inBatches } from "#base/collections.ts";
import { ApiError } from "#base/errors.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import type { ApiRequest, ApiResponse, RequestVerb } from "#wire/api-request.ts";
import { type Rule, uncovered } from "../rules.ts";
import { bootstrapObjects } from "./objects.ts";

const group = "rbac.authorization.k8s.io";
const autoUpdate = "rbac.authorization.kubernetes.io/autoupdate";
const atOnce = 256;
const tries = 5;

export interface ReconcileOptions {
  /** Writes as any client does, as the server itself. */
  readonly request: (request: ApiRequest) => Promise<ApiResponse>;
  /** What is stored now. */
  readonly stored: (object: DraftObject) => ApiObject | undefined;
  readonly signal: AbortSignal;
}

export async function reconcileBootstrapPolicy(options: ReconcileOptions): Promise<void> {
  const objects = bootstrapObjects();
  const namespaces = new Set(objects.flatMap(({ metadata }) => metadata.namespace ?? []));
  for (const name of namespaces) await ensure(options, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  await inBatches(atOnce, objects, (object) => ensure(options, object));
}

async function ensure(options: ReconcileOptions, wanted: DraftObject): Promise<void> {
  for (let left = tries; ; left--) {
    try {
      return await ensureOnce(options, wanted);
    } catch (error) {
      // Another server, or a person, wrote the same object: look again.
      const again = error instanceof ApiError && ["Conflict", "AlreadyExists", "NotFound"].includes(error.reason);
      if (!again || left === 0) throw new Error(`reconcile ${wanted.kind} ${wanted.metadata.name}`, { cause: error });
    }
  }
}

async function ensureOnce({ request, stored, signal }: ReconcileOptions, wanted: DraftObject): Promise<void> {
  const send = async (verb: RequestVerb, object: DraftObject) => {
    await request(requestOf(verb, object, signal));
  };
  const present = stored(wanted);
  if (!present) return send("create", wanted);
  if (wanted.kind === "Namespace" || present.metadata.annotations?.[autoUpdate] === "false") return;
  if (wanted.roleRef && !equal(wanted.roleRef, present.roleRef)) {
    // Which role is bound cannot be changed, only made anew.
    await send("delete", wanted);
    return send("create", wanted);
  }
  const merged = merge(present, wanted);
  if (!equal(merged, present)) await send("update", merged);
}

/** What is stored, with all that is wanted. */
function merge(present: ApiObject, wanted: DraftObject): DraftObject {
  const merged = structuredClone(present) as DraftObject;
  for (const field of ["labels", "annotations"] as const)
    merged.metadata[field] = { ...wanted.metadata[field], ...present.metadata[field] };
  if (wanted.rules) {
    const missing = uncovered((present.rules ?? []) as readonly Rule[], wanted.rules as readonly Rule[]);
    if (missing.length > 0) merged.rules = [...(present.rules ?? []), ...missing];
    mergeAggregation(merged, wanted);
  }
  if (wanted.subjects) {
    const have: readonly object[] = present.subjects ?? [];
    const missing = wanted.subjects.filter((subject: object) => !have.some((one) => equal(one, subject)));
    if (missing.length > 0) merged.subjects = [...have, ...missing];
  }
  return merged;
}

function mergeAggregation(merged: DraftObject, wanted: DraftObject): void {
  if (!wanted.aggregationRule) {
    delete merged.aggregationRule;
    return;
  }
  const have: readonly object[] = merged.aggregationRule?.clusterRoleSelectors ?? [];
  const missing = wanted.aggregationRule.clusterRoleSelectors.filter(
    (selector: object) => !have.some((one) => equal(one, selector)),
  );
  merged.aggregationRule = { clusterRoleSelectors: [...have, ...missing] };
}

function requestOf(verb: RequestVerb, object: DraftObject, signal: AbortSignal): ApiRequest {
  const { name, namespace } = object.metadata;
  const isRbac = object.kind !== "Namespace";
  return {
    user: serverUser,
    verb,
    group: isRbac ? group : "",
    version: "v1",
    resource: `${(object.kind ?? "").toLowerCase()}s`,
    ...(namespace !== undefined && { namespace }),
    ...(verb !== "create" && { name: name ?? "" }),
    query: new URLSearchParams(),
    ...(verb !== "delete" && {
      body: {
        decode: () => ({ object: structuredClone(object), strictErrors: [] }),
        value: () => structuredClone(object),
      },
    }),
    userAgent: "kube-apiserver",
    signal,
  };
}

/** The server, when it acts on its own behalf. */
const serverUser = { name: "system:apiserver", groups: ["system:masters", "system:authenticated"] };
