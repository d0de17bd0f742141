// Whether a pod bears a taint.
import type { Toleration } from "#api/core/v1/affinity.ts";
import type { Taint } from "#api/core/v1/node.ts";

export const isTolerated = (
  taint: Pick<Taint, "key" | "value" | "effect">,
  tolerations: readonly Toleration[],
): boolean => tolerations.some((toleration) => tolerates(toleration, taint));

function tolerates({ key, value = "", effect, operator }: Toleration, taint: Pick<Taint, "key" | "value" | "effect">) {
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  switch (operator || "Equal") {
    case "Exists":
      return true;
    case "Equal":
      return value === (taint.value ?? "");
    default:
      return false; // Gt and Lt are behind a feature gate that is off by default
  }
}
