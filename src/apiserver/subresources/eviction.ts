// Deletes a pod, unless a disruption budget forbids it just now. The budget is charged first, under the store's protection, so
// that of many evictions at once no more succeed than it allows; its controller sees to it that the charge does not last for ever.
// Upstream: pkg/registry/core/pod/storage/eviction.go.
import type { Pod } from "#api/core/v1/pod.ts";
import { selects } from "#api/label-selection.ts";
import { Eviction } from "#api/policy/v1/eviction.ts";
import { PodDisruptionBudget } from "#api/policy/v1/pod-disruption-budget.ts";
import { ApiError } from "#base/errors.ts";
import { isReady } from "#rules/conditions.ts";
import { hasEnded } from "#rules/pods.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { timeOf } from "#schema/time.ts";
import { type ApiRequest, type RequestBody, requestWith } from "#wire/api-request.ts";
import { badRequest, conflict, createdStatus, invalidObject, methodNotAllowed, notFound } from "#wire/status.ts";
import { type DeletionOptions, deletionOptions } from "../registry/options.ts";
import type { Registry } from "../registry/registry.ts";
import type { SubresourceHandler } from "../served-resource.ts";
import { deleteObject } from "../verbs/delete.ts";
import { mayDisrupt, tooManyRequests } from "./disruption.ts";
import type { Find } from "./list.ts";
import { admit, sentObject } from "./sent-object.ts";

const mostTries = 20;

interface Evicting {
  readonly pods: Registry;
  readonly budgets: Registry;
  readonly request: ApiRequest;
  readonly options: DeletionOptions;
}

export const eviction =
  (find: Find): SubresourceHandler =>
  async (request, { registry: pods }) => {
    if (request.verb !== "create") throw methodNotAllowed();
    const options = await optionsOf(request, pods);
    const evicting = { pods, budgets: find(PodDisruptionBudget).registry, request, options };
    for (let tries = 1; ; tries++) {
      const pod = await currentPod(pods, request);
      try {
        if (!isOffBudget(pod)) await evictGuarded(pod, evicting);
        else await evict(evicting, isEnding(pod) ? options : pinned(options, pod));
        return { type: "plain", code: 201, object: createdStatus() };
      } catch (error) {
        if (!isOff(error, options) || !isOffBudget(pod) || tries === mostTries) throw error;
      }
    }
  };

async function evictGuarded(pod: Pod, evicting: Evicting): Promise<void> {
  const { budgets, options } = evicting;
  const budget = budgetOf(pod, budgets);
  if (!budget) return evict(evicting, options);
  if (countsAsHealthy(pod, budget)) {
    await charge(budget, pod, evicting);
    return evict(evicting, options);
  }
  try {
    await evict(evicting, pinned(options, pod));
  } catch (error) {
    throw isOff(error, options) ? tooManyRequests(budget.metadata.name) : error;
  }
}

/** A pod that does not count may become ready meanwhile, and count: then it must not go as one that does not. */
const pinned = (options: DeletionOptions, { metadata }: Pod): DeletionOptions => ({
  ...options,
  resourceVersion: options.resourceVersion ?? metadata.resourceVersion,
});

/** Whether the pod has changed since we looked, which the client did not ask us to mind. */
const isOff = (error: unknown, { resourceVersion }: DeletionOptions): boolean =>
  error instanceof ApiError && error.reason === "Conflict" && resourceVersion === undefined;

async function optionsOf(request: ApiRequest, pods: Registry): Promise<DeletionOptions> {
  const { name = "" } = request;
  const { object, dryRun } = await sentObject(ofAnyVersion(request), Eviction);
  if ((object.metadata.name ?? "") !== name) throw badRequest("name in URL does not match name in Eviction object");
  if (object.deleteOptions?.ignoreStoreReadErrorWithClusterBreakingPotential)
    throw invalidObject(Eviction, name, [
      {
        type: "Invalid",
        field: "deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential",
        value: true,
        detail: "can not be set for pod eviction, try after removing the option",
      },
    ]);
  await admit(pods, request, object, dryRun);
  const options = deletionOptions(object.deleteOptions, new URLSearchParams());
  return { ...options, dryRun: options.dryRun || dryRun, admitted: true };
}

/** Old clients send `policy/v1beta1`, which says the same. */
function ofAnyVersion(request: ApiRequest): ApiRequest {
  const { body } = request;
  if (!body) return request;
  const decode: RequestBody["decode"] = (subject) => {
    const decoded = body.decode(subject);
    if (decoded.object.apiVersion === "policy/v1beta1") decoded.object.apiVersion = Eviction.apiVersion;
    return decoded;
  };
  return requestWith(request, { body: { ...body, decode } });
}

async function currentPod(pods: Registry, { namespace, name = "", signal }: ApiRequest): Promise<Pod & ApiObject> {
  const stored = await pods.objects.current(pods.keyOf(namespace, name), { signal });
  if (!stored) throw notFound(pods.resource, name);
  return stored.object as Pod & ApiObject;
}

const isEnding = (pod: Pod): boolean => hasEnded(pod) || pod.metadata.deletionTimestamp !== undefined;

/** Pods that have ended or never began are missed by nobody. */
const isOffBudget = (pod: Pod): boolean => isEnding(pod) || pod.status.phase === "Pending";

function budgetOf(pod: Pod, budgets: Registry): (PodDisruptionBudget & ApiObject) | undefined {
  const guards = budgets.objects
    .allInMemory(budgets.prefixOf(pod.metadata.namespace))
    .map(({ object }) => object as PodDisruptionBudget & ApiObject)
    .filter(({ spec }) => selects(spec.selector, pod.metadata.labels));
  if (guards.length > 1)
    throw new ApiError({
      code: 500,
      reason: "",
      message: "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
    });
  return guards[0];
}

/** A pod that is not ready is no loss, if the budget says so or is kept without it. */
function countsAsHealthy(pod: Pod, { spec, status }: PodDisruptionBudget): boolean {
  if (isReady(pod)) return true;
  if (spec.unhealthyPodEvictionPolicy === "AlwaysAllow") return false;
  const { currentHealthy = 0, desiredHealthy = 0 } = status;
  return !(currentHealthy >= desiredHealthy && desiredHealthy > 0);
}

async function charge(
  { metadata: { name } }: PodDisruptionBudget,
  pod: Pod,
  { budgets, request, options }: Evicting,
): Promise<void> {
  const key = budgets.keyOf(request.namespace, name);
  await budgets.modify(requestWith(request, { name }), key, options.dryRun, (current) =>
    mayDisrupt(current as PodDisruptionBudget & ApiObject, pod.metadata.name, timeOf(budgets.now())),
  );
}

/** Says in the pod's status why it ends, then deletes it. */
async function evict({ pods, request }: Evicting, options: DeletionOptions): Promise<void> {
  const key = pods.keyOf(request.namespace, request.name ?? "");
  let { resourceVersion } = options;
  if (!options.dryRun) {
    const marked = await pods.modify(request, key, false, (current) => {
      refuseOther(current, options);
      return withTarget(current, timeOf(pods.now()));
    });
    if (resourceVersion !== undefined) resourceVersion = String(marked.revision);
  }
  await deleteObject(pods, request, key, { ...options, resourceVersion });
}

function refuseOther({ metadata }: ApiObject, { uid, resourceVersion }: DeletionOptions): void {
  const refuse = (why: string) => conflict({ group: "", resource: "Pod" }, metadata.name ?? "", why);
  if (uid !== undefined && uid !== metadata.uid)
    throw refuse(
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
    );
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion)
    throw refuse(
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`,
    );
}

function withTarget(pod: ApiObject, now: string): DraftObject {
  const object = structuredClone(pod) as DraftObject;
  const conditions: readonly { type: string; status: string; lastTransitionTime?: string }[] =
    object.status.conditions ?? [];
  const before = conditions.find(({ type }) => type === "DisruptionTarget");
  const target = {
    type: "DisruptionTarget",
    status: "True",
    reason: "EvictionByEvictionAPI",
    message: "Eviction API: evicting",
    lastTransitionTime: before?.status === "True" ? (before.lastTransitionTime ?? now) : now,
  };
  object.status.conditions = before
    ? conditions.map((condition) => (condition === before ? target : condition))
    : [...conditions, target];
  return object;
}
