// Whether a container that has ended is restarted, and its back-off.
// Upstream: pkg/kubelet/container/helpers.go, pkg/api/v1/pod/util.go and pkg/kubelet/kuberuntime/kuberuntime_manager.go.
import type { Container, ContainerRestartRule } from "#api/core/v1/container.ts";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";

/** The rule that an exit code meets: the first that matches decides. */
export const matchingRule = (
  { restartPolicyRules = [] }: Container,
  exitCode: number,
): ContainerRestartRule | undefined =>
  restartPolicyRules.find(({ exitCodes }) => {
    if (!exitCodes) return false;
    const isListed = (exitCodes.values ?? []).includes(exitCode);
    return exitCodes.operator === "In" ? isListed : exitCodes.operator === "NotIn" && !isListed;
  });

/** Whether the exit of this container starts the whole pod anew. */
export const restartsAll = (container: Container, exitCode: number): boolean =>
  matchingRule(container, exitCode)?.action === "RestartAllContainers";

export const restartPolicyOf = (container: Container, { restartPolicy }: PodSpec): string =>
  container.restartPolicy ?? restartPolicy;

/** Whether a container that ended with this code is started again. Rules only count beside a policy of the container's own. */
export function restartsAfter(container: Container, spec: PodSpec, exitCode: number): boolean {
  const action = container.restartPolicy === undefined ? undefined : matchingRule(container, exitCode)?.action;
  if (action === "Restart" || action === "RestartAllContainers") return true;
  const policy = restartPolicyOf(container, spec);
  return policy === "OnFailure" ? exitCode !== 0 : policy !== "Never";
}

/** Whether a container that must be killed comes back. Rules do not count: there is no exit code yet. */
export const restartsWhenKilled = (container: Container, spec: PodSpec): boolean =>
  restartPolicyOf(container, spec) !== "Never";

/** How long the next start of a container waits, and when that was decided. */
export interface Delay {
  readonly ms: number;
  readonly at: number;
}

export interface DelayLimits {
  readonly firstMs: number;
  readonly maxMs: number;
}

export const crashDelays: DelayLimits = { firstMs: 10_000, maxMs: 300_000 };

/** A container that has run well for twice the longest wait begins anew. */
const isForgotten = (delay: Delay, at: number, { maxMs }: DelayLimits): boolean => at - delay.at > 2 * maxMs;

/** Until when a start has to wait after the container ended, or undefined if it may be started now. */
export function waitsUntil(
  delay: Delay | undefined,
  finishedAt: number,
  now: number,
  limits: DelayLimits,
): number | undefined {
  if (!delay || isForgotten(delay, finishedAt, limits)) return undefined;
  const until = finishedAt + delay.ms;
  return now < until ? until : undefined;
}

/** The wait after the next end. The first restart is free. */
export function nextDelay(delay: Delay | undefined, finishedAt: number, now: number, limits: DelayLimits): Delay {
  const ms = !delay || isForgotten(delay, finishedAt, limits) ? limits.firstMs : Math.min(delay.ms * 2, limits.maxMs);
  return { ms, at: now };
}

interface Run {
  readonly createdAt: number;
  readonly finishedAt: number;
}

/** The wait in force by what is there of a container, the newest run first: all that a kubelet has to go by that has just begun. */
export function observedDelay([current, previous]: readonly Run[], limits: DelayLimits): Delay | undefined {
  if (!current || !previous || previous.finishedAt === 0) return undefined;
  const waitedMs = current.createdAt - previous.finishedAt;
  let ms = limits.firstMs;
  while (ms <= waitedMs && ms < limits.maxMs) ms = Math.min(ms * 2, limits.maxMs);
  return { ms, at: current.createdAt };
}
