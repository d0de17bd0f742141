// Which taints of a node a pod puts up with. A rule about API types, for all who place pods or move them away.
// Upstream: staging/src/k8s.io/api/core/v1/toleration.go and staging/src/k8s.io/component-helpers/scheduling/corev1/helpers.go.
import type { Toleration } from "#api/core/v1/affinity.ts";
import type { Taint } from "#api/core/v1/node.ts";

type TaintLike = Pick<Taint, "key" | "value" | "effect">;

/** Whether the toleration is about this taint. Gt and Lt are about none: upstream has them switched off. */
export function tolerates({ key, operator, value, effect }: Toleration, taint: TaintLike): boolean {
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  if (!operator || operator === "Equal") return (value ?? "") === (taint.value ?? "");
  return operator === "Exists";
}

export const isTolerated = (taint: TaintLike, tolerations: readonly Toleration[]): boolean =>
  tolerations.some((toleration) => tolerates(toleration, taint));

/** The first taint with one of the effects that none of the tolerations is about. */
export const untoleratedTaint = (
  taints: readonly Taint[] | undefined,
  tolerations: readonly Toleration[] | undefined,
  effects: readonly Taint["effect"][],
): Taint | undefined =>
  taints?.find((taint) => effects.includes(taint.effect) && !isTolerated(taint, tolerations ?? []));
