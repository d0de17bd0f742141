// Charges a disruption budget with one eviction.
// Upstream: pkg/registry/core/pod/storage/eviction.go.
import type { PodDisruptionBudget } from "#api/policy/v1/pod-disruption-budget.ts";
import { ApiError } from "#base/errors.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { forbidden } from "#wire/status.ts";

/** With more evictions that the disruption controller has not confirmed, the controller is taken to be down. */
const mostDisrupted = 2000;

/** The budget with one disruption less to allow. Throws ApiError if it allows none. */
export function mayDisrupt(budget: PodDisruptionBudget & ApiObject, pod: string, now: string): DraftObject {
  const { name = "", generation = 0 } = budget.metadata;
  const { observedGeneration = 0, disruptionsAllowed = 0, disruptedPods = {} } = budget.status;
  const refuse = (why: string) => forbidden({ group: "policy", resource: "poddisruptionbudget" }, name, why);
  if (observedGeneration < generation) throw tooManyRequests(name);
  if (disruptionsAllowed < 0) throw refuse("pdb disruptions allowed is negative");
  if (Object.keys(disruptedPods).length > mostDisrupted)
    throw refuse("DisruptedPods map too big - too many evictions not confirmed by PDB controller");
  if (disruptionsAllowed === 0) throw violation(whyNot(budget));
  const object = structuredClone(budget) as DraftObject;
  object.status.disruptionsAllowed = disruptionsAllowed - 1;
  object.status.disruptedPods = { ...disruptedPods, [pod]: now };
  if (disruptionsAllowed === 1) object.status.conditions = exhausted(budget, now);
  return object;
}

/** The budget does not know its pods yet: the client had better ask again. */
export const tooManyRequests = (budget: string): ApiError =>
  violation(`The disruption budget ${budget} is still being processed by the server.`, 10);

const violation = (message: string, retryAfterSeconds?: number): ApiError =>
  new ApiError({
    code: 429,
    reason: "TooManyRequests",
    message: "Cannot evict pod as it would violate the pod's disruption budget.",
    details: {
      causes: [{ reason: "DisruptionBudget", message }],
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    },
  });

function whyNot({ metadata: { name }, status }: PodDisruptionBudget): string {
  const { conditions = [], currentHealthy = 0, desiredHealthy = 0 } = status;
  const condition = conditions.find(({ type }) => type === "DisruptionAllowed");
  const said = condition?.status === "False" && condition.message ? condition : undefined;
  const not = `The disruption budget ${name} does not allow evicting pods currently`;
  // The counts are not to be trusted when the controller could not make them.
  if (said?.reason === "SyncFailed") return `${not} because it failed sync: ${said.message}`;
  if (currentHealthy <= desiredHealthy)
    return `The disruption budget ${name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`;
  return said ? `${not} (${said.reason}): ${said.message}` : not;
}

function exhausted({ status }: PodDisruptionBudget, now: string): readonly object[] {
  const { conditions = [], observedGeneration } = status;
  const before = conditions.find(({ type }) => type === "DisruptionAllowed");
  const condition = {
    type: "DisruptionAllowed",
    status: "False",
    reason: "InsufficientPods",
    message: "",
    lastTransitionTime: before?.status === "False" ? before.lastTransitionTime : now,
    ...(observedGeneration && { observedGeneration }),
  };
  return before ? conditions.map((one) => (one === before ? condition : one)) : [...conditions, condition];
}
