// The evaluator of each kind: some kinds count for more than their number, all others only by their number.
import type { AnyKind } from "#schema/kind.ts";
import { resourceClaimEvaluator, volumeClaimEvaluator } from "./claims.ts";
import { countName, type Evaluator, one } from "./evaluator.ts";
import { podEvaluator } from "./pods.ts";
import { serviceEvaluator } from "./services.ts";

const evaluators: Readonly<Record<string, Evaluator>> = {
  "/pods": podEvaluator,
  "/services": serviceEvaluator,
  "/persistentvolumeclaims": volumeClaimEvaluator,
  "resource.k8s.io/resourceclaims": resourceClaimEvaluator,
};
/** Counted by their bare name, too, since before all kinds could be counted. */
const aliases: ReadonlySet<string> = new Set(["/configmaps", "/replicationcontrollers", "/resourcequotas", "/secrets"]);
const uncounted: ReadonlySet<string> = new Set(["/bindings", "/componentstatuses", "/events", "events.k8s.io/events"]);

/** The evaluator of a kind, or undefined if no quota can limit it. */
export function evaluatorOf(kind: Pick<AnyKind, "group" | "plural" | "scope" | "stored">): Evaluator | undefined {
  const id = `${kind.group}/${kind.plural}`;
  if (kind.scope !== "Namespaced" || kind.stored === false || uncounted.has(id)) return undefined;
  return evaluators[id] ?? counter(aliases.has(id) ? [countName(kind), kind.plural] : [countName(kind)]);
}

function counter(names: readonly string[]): Evaluator {
  const usage = new Map(names.map((name) => [name, one]));
  return { counts: (name) => usage.has(name), usage: () => usage };
}
