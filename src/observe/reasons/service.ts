// Why a service leads nowhere.
import type { Event } from "#api/core/v1/event.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { Service } from "#api/core/v1/service.ts";
import type { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { formatLabels } from "#api/label-selection.ts";
import { hasEnded } from "#rules/pods.ts";
import { labelMatcher, requirementsOfLabels } from "#schema/selector.ts";
import { podReason } from "./pod.ts";
import type { PodFacts } from "./pod-facts.ts";
import {
  counted,
  type Evidence,
  eventEvidence,
  lastEvent,
  namesText,
  partsOf,
  type Reason,
  sinceOf,
  worst,
} from "./reason.ts";

export interface ServiceFacts {
  readonly service: Service;
  readonly slices: readonly EndpointSlice[];
  /** What is known of the pods it selects: see selectedPods. */
  readonly chosen: readonly PodFacts[];
  /** All pods of the namespace: with those that do not match, it can be said why. */
  readonly pods: readonly Pod[];
  readonly events: readonly Event[];
}

/** The pods that the service is for, if it has a selector. */
export function selectedPods({ spec }: Service, pods: readonly Pod[]): readonly Pod[] {
  const { selector = {} } = spec;
  if (Object.keys(selector).length === 0) return [];
  const matches = labelMatcher(requirementsOfLabels(selector));
  return pods.filter((pod) => matches(pod.metadata.labels) && !hasEnded(pod));
}

export function serviceReason(facts: ServiceFacts): Reason {
  const { spec } = facts.service;
  if (spec.type === "ExternalName")
    return {
      code: "ExternalName",
      state: "fine",
      says: `is another name for ${spec.externalName}, and has no endpoints`,
    };
  const selector = spec.selector ?? {};
  const endpoints = Object.keys(selector).length === 0 ? byHand(facts) : bySelector(facts, selector);
  const balancer = balancerReason(facts);
  if (!balancer || endpoints.state === "wrong") return endpoints;
  return { ...balancer, evidence: [...(balancer.evidence ?? []), { from: "endpoints", says: `it ${endpoints.says}` }] };
}

const endpointsIn = (slices: readonly EndpointSlice[]) => slices.flatMap(({ endpoints }) => endpoints ?? []);
const isReady = ({ conditions }: ReturnType<typeof endpointsIn>[number]): boolean => conditions.ready !== false;

function byHand({ slices }: ServiceFacts): Reason {
  const ready = endpointsIn(slices).filter(isReady).length;
  return ready > 0
    ? { code: "Endpoints", state: "fine", says: `leads to ${counted(ready, "endpoint")} that someone else keeps` }
    : {
        code: "NoSelector",
        state: "wrong",
        says: "leads nowhere: it has no selector, and nobody has made EndpointSlices for it",
        remedies: ["give it a selector, or create an EndpointSlice with the label kubernetes.io/service-name"],
      };
}

function bySelector(facts: ServiceFacts, selector: Readonly<Record<string, string>>): Reason {
  const { chosen } = facts;
  if (chosen.length === 0) return selectsNobody(facts, selector);
  const wrongPorts = portTrouble(facts.service, chosen);
  const leads = (reason: Reason): Reason => (wrongPorts ? withPortTrouble(reason, wrongPorts) : reason);
  const reasons = chosen.map((one) => ({ name: one.pod.metadata.name, reason: podReason(one) }));
  const parts = partsOf(reasons);
  const ready = endpointsIn(facts.slices).filter(isReady).length;
  if (wrongPorts && (ready === 0 || wrongPorts.isTotal)) return { ...wrongPorts.reason, parts };
  const states = reasons.map(({ reason }) => reason.state);
  const isPublished = facts.service.spec.publishNotReadyAddresses === true;
  const count = `${ready} of ${counted(chosen.length, "pod")}`;
  const [first] = parts;
  if (ready === 0 && !states.includes("fine") && !isPublished)
    return {
      code: "NoReadyEndpoints",
      state: worst(states),
      says: `leads nowhere: ${chosen.length === 1 ? "the pod it selects is not ready" : `none of the ${chosen.length} pods it selects is ready`}`,
      ...sinceOf(first?.reason.since),
      evidence: [{ from: "spec.selector", says: formatLabels(selector) }],
      remedies: first?.reason.remedies ?? [],
      parts,
    };
  if (ready < chosen.length && states.every((state) => state === "fine"))
    return {
      code: "EndpointsBehind",
      state: "underway",
      says: `leads to ${count} so far: the endpoints are being brought up to date`,
      evidence: wrongPorts?.reason.evidence ?? [],
      remedies: ["if this lasts, see whether the controller manager runs: knarr status"],
      parts,
    };
  return leads({
    code: ready === chosen.length ? "Endpoints" : "SomeEndpoints",
    state: worst(states),
    says: `leads to ${ready === chosen.length ? (ready === 1 ? "its pod" : `all ${ready} pods it selects`) : `${count} it selects`}`,
    remedies: states.includes("wrong") ? (first?.reason.remedies ?? []) : [],
    parts,
  });
}

/** Some ports lead somewhere, and others do not, or not to all pods. */
const withPortTrouble = (
  reason: Reason,
  { reason: { code, evidence = [], remedies = [] }, names }: PortTrouble,
): Reason => ({
  ...reason,
  code,
  state: "wrong",
  says: `${reason.says}, but not by ${names.length === 1 ? "its port" : "its ports"} ${names.join(", ")}, whose name ${names.length === 1 ? "is" : "are"} not a port of every pod`,
  evidence,
  remedies: [...remedies, ...(reason.remedies ?? [])],
});

/** Nobody has all labels; who has some of them is likely meant. */
function selectsNobody({ service, pods }: ServiceFacts, selector: Readonly<Record<string, string>>): Reason {
  const evidence = Object.entries(selector).map(([key, value]): Evidence => {
    const have = new Map<string, string[]>();
    for (const { metadata } of pods) {
      const own = metadata.labels?.[key];
      if (own !== undefined) have.set(own, [...(have.get(own) ?? []), metadata.name]);
    }
    const equal = have.get(value);
    const others = [...have].map(([own, names]) => `${key}=${own} (${namesText(names)})`).slice(0, 3);
    return {
      from: `label ${key}=${value}`,
      says: equal
        ? `is on ${namesText(equal)}`
        : others.length > 0
          ? `is on no pod; there are ${others.join(", ")}`
          : "is on no pod, nor is any other value of it",
    };
  });
  return {
    code: "NoPods",
    state: "wrong",
    says: `leads nowhere: no pod of its namespace has the labels ${formatLabels(selector)}`,
    evidence,
    remedies: [
      pods.length === 0
        ? `create the pods it is for: there are none in ${service.metadata.namespace}`
        : "correct the selector of the service, or the labels of the pods",
    ],
  };
}

interface PortTrouble {
  readonly reason: Reason;
  /** The target ports that some pods do not have. */
  readonly names: readonly string[];
  /** Whether no port of the service leads to any pod. */
  readonly isTotal: boolean;
}

/** A port by name has to be named so by a container of each pod. */
function portTrouble({ spec }: Service, chosen: readonly PodFacts[]): PortTrouble | undefined {
  const named = (spec.ports ?? []).filter(
    ({ targetPort }) => typeof targetPort === "string" && !/^\d+$/.test(targetPort),
  );
  const troubles = named.flatMap(({ targetPort, protocol }) => {
    const portsOf = ({ pod }: PodFacts) =>
      [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].flatMap(({ ports = [] }) => ports);
    const without = chosen.filter(
      (one) => !portsOf(one).some((port) => port.name === targetPort && port.protocol === protocol),
    );
    if (without.length === 0) return [];
    const offered = [...new Set(without.flatMap(portsOf).map(({ name, containerPort }) => name ?? `${containerPort}`))];
    const evidence: Evidence = {
      from: `targetPort ${targetPort}`,
      says: `no container of ${namesText(without.map(({ pod }) => pod.metadata.name))} has a ${protocol} port of that name; they have ${offered.join(", ") || "no ports"}`,
    };
    return [{ name: String(targetPort), evidence, isNobodys: without.length === chosen.length }];
  });
  if (troubles.length === 0) return undefined;
  return {
    names: troubles.map(({ name }) => name),
    isTotal: troubles.filter(({ isNobodys }) => isNobodys).length === spec.ports?.length,
    reason: {
      code: "PortName",
      state: "wrong",
      says: "leads nowhere: its pods have no port of the name it asks for",
      evidence: troubles.map(({ evidence }) => evidence),
      remedies: ["use the number of the port as targetPort, or give the container's port that name"],
    },
  };
}

function balancerReason({ service, events }: ServiceFacts): Reason | undefined {
  const { spec, status, metadata } = service;
  if (spec.type !== "LoadBalancer" || (status.loadBalancer.ingress?.length ?? 0) > 0) return undefined;
  const failure = lastEvent(events, ["SyncLoadBalancerFailed"]);
  return {
    code: "LoadBalancerPending",
    state: "wrong",
    says: "has no address from a load balancer yet",
    ...sinceOf(failure?.firstTimestamp ?? metadata.creationTimestamp),
    evidence: [
      ...eventEvidence(failure),
      ...(spec.loadBalancerClass
        ? [{ from: "spec.loadBalancerClass", says: `only the load balancer ${spec.loadBalancerClass} serves it` }]
        : []),
    ],
    remedies: [
      failure
        ? "give the load balancer more addresses, or free some"
        : spec.loadBalancerClass
          ? "see whether that load balancer is installed, or leave the class out"
          : "see whether the cluster has a load balancer; a NodePort of the service works without one",
    ],
  };
}
