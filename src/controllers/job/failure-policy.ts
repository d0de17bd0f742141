// What the failure of a pod means for its job, by the job's own rules.
// Upstream: pkg/controller/job/pod_failure_policy.go.
import type { PodFailurePolicy, PodFailurePolicyRule } from "#api/batch/v1/job.ts";
import type { Pod } from "#api/core/v1/pod.ts";

export interface Judgement {
  /** Whether it counts towards the back-off limit. */
  readonly counts: boolean;
  readonly action?: "Count" | "FailIndex" | "FailJob" | "Ignore";
  /** Why the job must fail, if it must. */
  readonly failsJob?: string;
}

/** The first rule that fits the pod decides. */
export function judge(policy: PodFailurePolicy | undefined, pod: Pod): Judgement {
  for (const [i, rule] of (policy?.rules ?? []).entries()) {
    const match = fits(rule, pod);
    if (match === undefined) continue;
    switch (rule.action) {
      case "Ignore":
        return { counts: false, action: "Ignore" };
      case "Count":
      case "FailIndex":
        return { counts: true, action: rule.action };
      case "FailJob":
        return { counts: true, action: "FailJob", failsJob: `${match} matching FailJob rule at index ${i}` };
      default: // an action of a later version: as if the rule were not there
    }
  }
  return { counts: true };
}

/** What of the pod the rule fits, in the words of the message; undefined if nothing. */
function fits({ onExitCodes, onPodConditions }: PodFailurePolicyRule, pod: Pod): string | undefined {
  const { namespace, name } = pod.metadata;
  const { containerStatuses = [], initContainerStatuses = [], conditions = [] } = pod.status;
  if (onExitCodes) {
    const { containerName, operator, values } = onExitCodes;
    for (const { name: container, state } of [...containerStatuses, ...initContainerStatuses]) {
      const code = state?.terminated?.exitCode ?? 0;
      if (code === 0 || (containerName !== undefined && containerName !== container)) continue;
      const isListed = values.includes(code);
      if ((operator === "In" && isListed) || (operator === "NotIn" && !isListed))
        return `Container ${container} for pod ${namespace}/${name} failed with exit code ${code}`;
    }
    return undefined;
  }
  const condition = conditions.find(({ type, status }) =>
    onPodConditions?.some((pattern) => pattern.type === type && pattern.status === status),
  );
  return condition && `Pod ${namespace}/${name} has condition ${condition.type}`;
}
