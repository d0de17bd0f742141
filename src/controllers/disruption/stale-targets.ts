// Resets the condition DisruptionTarget of pods that were not deleted after all.
// Upstream: pkg/controller/disruption/disruption.go.
import { Pod } from "#api/core/v1/pod.ts";
import { PodDisruptionBudget } from "#api/policy/v1/pod-disruption-budget.ts";
import { controller } from "#client/controller.ts";
import { isActive } from "#rules/pods.ts";
import { millisOf, timeOf } from "#schema/time.ts";
import { budgetsOf, reportsAs } from "./disruption.ts";

const staleAfterMs = 120_000;

export const staleDisruptionController = controller({
  name: "disruption-targets",
  queue: "stale_pod_disruption",
  reportsAs,
  for: Pod,
  concerns: (pod, cache) => announced(pod) !== undefined || budgetsOf(pod, cache).length > 1,
  reads: [PodDisruptionBudget],

  async reconcile(pod, { client, cache, clock, event }) {
    const budgets = budgetsOf(pod, cache);
    if (budgets.length > 1) {
      const { namespace, name } = pod.metadata;
      const which = `Chose ${JSON.stringify(budgets[0]?.metadata.name)} arbitrarily.`;
      const message = `Pod ${JSON.stringify(namespace)}/${JSON.stringify(name)} matches multiple PodDisruptionBudgets.  ${which}`;
      event("Warning", "MultiplePodDisruptionBudgets", message);
    }
    const target = announced(pod);
    if (!target) return undefined;
    const afterMs = millisOf(target.lastTransitionTime ?? timeOf(0)) + staleAfterMs - clock.now();
    if (afterMs > 0) return { afterMs };
    const { type } = target;
    const { generation } = pod.metadata;
    const over = { type, status: "False", lastTransitionTime: timeOf(clock.now()), observedGeneration: generation };
    const conditions = pod.status.conditions?.map((condition) => (condition === target ? over : condition));
    await client.update(Pod, { ...pod, status: { ...pod.status, conditions } }, "status");
    return undefined;
  },
});

/** A kubelet may take as long as it likes between announcing and ending a pod. */
const announced = (pod: Pod) =>
  isActive(pod)
    ? pod.status.conditions?.find(
        ({ type, status, reason }) =>
          type === "DisruptionTarget" && status === "True" && reason !== "TerminationByKubelet",
      )
    : undefined;
