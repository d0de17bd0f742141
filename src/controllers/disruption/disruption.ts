// Keeps the status of disruption budgets, by which evictions are allowed or refused.
// Upstream: pkg/controller/disruption/disruption.go.
import { Pod } from "#api/core/v1/pod.ts";
import { PodDisruptionBudget } from "#api/policy/v1/pod-disruption-budget.ts";
import { equal } from "#base/collections.ts";
import { explain, isConflict } from "#base/errors.ts";
import { type CacheView, controller, type Reconcile, watching } from "#client/controller.ts";
import type { Discovery } from "#client/discovery.ts";
import { isReady } from "#rules/conditions.ts";
import { formatSelector, selectorMatcher } from "#schema/selector.ts";
import { podsSelected } from "../pods-by-label.ts";
import { desiredHealthy, disrupted, failedStatus, needsScale, statusOf } from "./budget.ts";
import { expectedScale, scaledKinds } from "./scale.ts";

export const reportsAs = "controllermanager";

/** `discovery` finds the scale subresource of controllers that are not built in. */
export const disruptionController = (discovery: Discovery) =>
  controller({
    name: "disruption",
    reportsAs,
    for: PodDisruptionBudget,
    reads: scaledKinds,
    watches: [
      watching(
        Pod,
        (pod, cache) => budgetsOf(pod, cache).map(({ metadata }) => metadata),
        (old, pod) =>
          isReady(old) !== isReady(pod) ||
          old.metadata.deletionTimestamp !== pod.metadata.deletionTimestamp ||
          !equal(old.metadata.labels, pod.metadata.labels) ||
          !equal(old.metadata.ownerReferences, pod.metadata.ownerReferences),
      ),
    ],
    batchMs: 50,

    async reconcile(budget, context) {
      const { client, clock } = context;
      const write = async (status: PodDisruptionBudget["status"]) => {
        if (!equal(status, budget.status)) await client.update(PodDisruptionBudget, { ...budget, status }, "status");
      };
      try {
        const { status, recheckMs } = await count(budget, discovery, context);
        await write(status);
        return recheckMs === undefined ? undefined : { afterMs: recheckMs };
      } catch (error) {
        if (isConflict(error)) throw error;
        await write(failedStatus(budget, explain(error), clock.now()));
        return undefined;
      }
    },
  });

/** The budgets that select a pod. Without a selector a budget selects none, with an empty one all of its namespace. */
export const budgetsOf = ({ metadata: { namespace, labels } }: Pod, cache: CacheView): readonly PodDisruptionBudget[] =>
  cache
    .list(PodDisruptionBudget, namespace ?? "")
    .filter(({ spec: { selector } }) => selector !== undefined && selectorMatcher(selector)(labels));

async function count(budget: PodDisruptionBudget, discovery: Discovery, context: Reconcile) {
  const { cache, clock, event } = context;
  const { namespace, name } = budget.metadata;
  const pods = podsSelected(namespace, budget.spec.selector, cache);
  if (pods.length === 0) event("Normal", "NoPods", "No matching pods found");
  const { expected, desired } = await expectation(budget, pods, discovery, context);
  const now = clock.now();
  const evicted = disrupted(budget, pods, now);
  for (const pod of evicted.spared)
    event("Warning", "NotDeleted", `Pod was expected by PDB ${namespace}/${name} to be deleted but it wasn't`, pod);
  const status = statusOf(budget, { pods, expected, desired, disrupted: evicted.pods, now });
  return { status, recheckMs: evicted.recheckMs };
}

async function expectation(
  budget: PodDisruptionBudget,
  pods: readonly Pod[],
  discovery: Discovery,
  context: Reconcile,
): Promise<{ expected: number; desired: number }> {
  const { event } = context;
  const { minAvailable, maxUnavailable, selector } = budget.spec;
  try {
    if (!needsScale(budget)) {
      const isUnlimited = minAvailable === undefined && maxUnavailable === undefined;
      return { expected: isUnlimited ? 0 : pods.length, desired: desiredHealthy(budget, pods.length) };
    }
    const { expected, unmanaged } = await expectedScale(pods, discovery, context);
    if (unmanaged.length > 0)
      event(
        "Warning",
        "UnmanagedPods",
        `Pods selected by this PodDisruptionBudget (selector: ${formatSelector(selector)}) were found to be unmanaged. ` +
          "As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. " +
          'To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.',
      );
    return { expected, desired: desiredHealthy(budget, expected) };
  } catch (error) {
    const message = `Failed to calculate the number of expected pods: ${explain(error)}`;
    event("Warning", "CalculateExpectedPodCountFailed", message);
    throw error;
  }
}
