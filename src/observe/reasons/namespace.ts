// Why a namespace that was deleted is still there.

import type { Namespace } from "#api/core/v1/namespace.ts";
import { own } from "#base/collections.ts";
import { finalizerEvidence } from "./deletion.ts";
import { conditionEvidence, type Reason } from "./reason.ts";

export interface NamespaceFacts {
  readonly namespace: Namespace;
  readonly now: number;
}

const cures: Readonly<Record<string, string>> = {
  NamespaceDeletionDiscoveryFailure:
    "an aggregated API does not answer: repair or delete its APIService (kubectl get apiservices)",
  NamespaceDeletionContentFailure: "see why the objects that the message names cannot be deleted",
  NamespaceContentRemaining: "see what is left: knarr why KIND/NAME for the kinds that the message names",
  NamespaceFinalizersRemaining: "see whether the controllers run that take these finalizers off",
};

/** How long a deletion with pods normally takes: their grace period. Finalizers are removed by programs, which need less. */
const patienceMs = 60_000;
const finalizerPatienceMs = 10_000;

export function namespaceReason({ namespace, now }: NamespaceFacts): Reason {
  const { deletionTimestamp, name } = namespace.metadata;
  if (deletionTimestamp === undefined)
    return { code: "Active", state: "fine", says: "is active", since: namespace.metadata.creationTimestamp };
  const conditions = (namespace.status.conditions ?? []).filter(({ status }) => status === "True");
  const failures = conditions.filter(({ type }) => type?.endsWith("Failure"));
  const isHeld = conditions.some(({ type }) => type === "NamespaceFinalizersRemaining");
  const isLate = now - Date.parse(deletionTimestamp) > (isHeld ? finalizerPatienceMs : patienceMs);
  const finalizers = namespace.spec.finalizers ?? [];
  const others = finalizers.filter((one) => one !== "kubernetes");
  return {
    code: failures[0]?.type ?? "NamespaceTerminating",
    state: failures.length > 0 || isLate ? "wrong" : "underway",
    says: `is being deleted, and ${
      conditions.length > 0
        ? "not empty yet"
        : others.length > 0
          ? `waits for ${others.join(", ")}`
          : "about to be gone"
    }`,
    since: deletionTimestamp,
    evidence: [...conditions.flatMap(conditionEvidence), ...finalizerEvidence(finalizers)],
    remedies: [
      ...new Set(conditions.flatMap(({ type }) => own(cures, type ?? "") ?? [])),
      ...(conditions.length > 0
        ? [
            `kubectl api-resources --verbs=list --namespaced -o name | xargs -n1 kubectl get -n ${name} --ignore-not-found`,
          ]
        : []),
    ],
  };
}
