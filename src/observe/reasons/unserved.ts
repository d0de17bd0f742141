// Objects that no controller acts on. They are recognized by what is missing in their status, so that the same rules are right in clusters
// with such a controller.
import { own } from "#base/collections.ts";
import type { Reason } from "./reason.ts";

export interface UnservedFacts {
  readonly object: Readonly<Record<string, unknown>>;
  readonly creationTimestamp: string | undefined;
  /** The names of the cluster's IngressClasses. */
  readonly ingressClasses?: readonly string[];
  readonly now: number;
}

/** A controller that acts on such objects has written the status by then. */
const patienceMs = 30_000;

interface Rule {
  isServed(object: Json): boolean;
  readonly says: string;
  readonly remedies: (facts: UnservedFacts) => readonly string[];
}

// biome-ignore lint/suspicious/noExplicitAny: what others wrote into the status, of any kind
type Json = any;

const isTrue = ({ status }: Json, type: string): boolean =>
  status?.conditions?.some((one: Json) => one?.type === type && one?.status === "True") === true;
const hasConditions = ({ status }: Json): boolean => (status?.conditions?.length ?? 0) > 0;

const rules: Readonly<Record<string, Rule>> = {
  CustomResourceDefinition: {
    isServed: (object) => isTrue(object, "Established") || hasConditions(object),
    says: "is stored, but its resources are not served: no API server has looked at it",
    remedies: () => ["see what the API server logs about custom resource definitions: knarr logs"],
  },
  HorizontalPodAutoscaler: {
    isServed: (object) => hasConditions(object) || object.status?.observedGeneration !== undefined,
    says: "is stored, but nobody scales by it: no controller manager has looked at it",
    remedies: () => [
      "see whether a controller manager runs: knarr status",
      "set the number of replicas by hand: kubectl scale",
    ],
  },
  Ingress: {
    isServed: (object) => (object.status?.loadBalancer?.ingress?.length ?? 0) > 0,
    says: "has no address: no ingress controller has taken it up, and Knarr has none of its own",
    remedies: ({ object, ingressClasses = [] }) => ingressRemedies(object, ingressClasses),
  },
};

function ingressRemedies(object: Json, classes: readonly string[]): readonly string[] {
  const wanted: string | undefined =
    object.spec?.ingressClassName ?? object.metadata?.annotations?.["kubernetes.io/ingress.class"];
  if (classes.length === 0)
    return [
      "install an ingress controller: there is no IngressClass in the cluster",
      "or use a Service of type NodePort",
    ];
  if (wanted === undefined)
    return [`say which controller is to serve it: spec.ingressClassName, one of ${classes.join(", ")}`];
  if (!classes.includes(wanted))
    return [`correct spec.ingressClassName: there is no ${wanted}, but ${classes.join(", ")}`];
  return [`see whether the controller of the IngressClass ${wanted} runs, and what it logs`];
}

/** That nobody acts on the object, if that is so. */
export function unservedReason(kind: string, facts: UnservedFacts): Reason | undefined {
  const rule = own(rules, kind);
  if (!rule || rule.isServed(facts.object)) return undefined;
  const { creationTimestamp, now } = facts;
  if (creationTimestamp !== undefined && now - Date.parse(creationTimestamp) < patienceMs)
    return { code: "NotServedYet", state: "underway", says: "was made just now, and nobody has acted on it so far" };
  return {
    code: "NotServed",
    state: "wrong",
    says: rule.says,
    ...(creationTimestamp !== undefined && { since: creationTimestamp }),
    evidence: [{ from: "status", says: "says nothing: whoever acts on such an object would have written there" }],
    remedies: rule.remedies(facts),
  };
}
