// The sets of pods that policies speak of: those that a selector means, and those that have a port of some name. A set is there for as
// long as a rule names it, and follows pods and namespaces: a pod that comes or goes is one element of each set that it is in.
import { type Labels, SelectorError, type SelectorStruct, selectorMatcher } from "#schema/selector.ts";
import type { NftTable } from "./nft-table.ts";
import { isSamePolicyPod, type PolicyPod } from "./policy-pod.ts";
import { addressFamilies, type NamedPolicyPort, namedPortsName, type PeerSelector, peersName } from "./policy-rules.ts";

/** A set of the table in each family, whose elements may be there for several pods. */
interface PodSet {
  /** How many chains name it. */
  users: number;
  /** The only namespace that its pods are in, if there is one. */
  readonly namespace: string | undefined;
  readonly isNamespaceMeant: (labels: Labels | undefined) => boolean;
  readonly elementsOf: (pod: PolicyPod) => readonly PodElement[];
  readonly counts: Map<string, number>;
}

interface PodElement {
  readonly set: string;
  readonly element: string;
}

export class PodSets {
  readonly #table: NftTable;
  readonly #pods = new Map<string, PolicyPod>();
  readonly #podsByNamespace = new Map<string, Map<string, PolicyPod>>();
  readonly #namespaces = new Map<string, Labels>();
  readonly #sets = new Map<string, PodSet>();
  /** The sets of one namespace only, by that; under undefined those of several. */
  readonly #setsByNamespace = new Map<string | undefined, Set<PodSet>>();

  constructor(table: NftTable) {
    this.#table = table;
  }

  podsIn(namespace: string): ReadonlyMap<string, PolicyPod> {
    return this.#podsByNamespace.get(namespace) ?? noPods;
  }

  get(key: string): PolicyPod | undefined {
    return this.#pods.get(key);
  }

  /** Undefined for one that is gone. Says whether anything of it has changed. */
  setPod(key: string, pod: PolicyPod | undefined): boolean {
    const before = this.#pods.get(key);
    if (isSamePolicyPod(before, pod)) return false;
    for (const set of this.#setsFor(before)) this.#leave(set, before);
    if (before) {
      this.#pods.delete(key);
      const others = this.#podsByNamespace.get(before.namespace);
      others?.delete(key);
      if (others?.size === 0) this.#podsByNamespace.delete(before.namespace);
    }
    if (pod) {
      this.#pods.set(key, pod);
      const others = this.#podsByNamespace.get(pod.namespace);
      if (others) others.set(key, pod);
      else this.#podsByNamespace.set(pod.namespace, new Map([[key, pod]]));
    }
    for (const set of this.#setsFor(pod)) this.#join(set, pod);
    return true;
  }

  /** Undefined for one that is gone: its pods are in no set that selects namespaces. */
  setNamespace(name: string, labels: Labels | undefined): void {
    const before = this.#namespaces.get(name);
    for (const set of this.#setsByNamespace.get(undefined) ?? []) {
      const [was, is] = [set.isNamespaceMeant(before), set.isNamespaceMeant(labels)];
      if (was === is) continue;
      for (const pod of this.podsIn(name).values())
        if (is) this.#join(set, pod);
        else this.#leave(set, pod);
    }
    if (labels) this.#namespaces.set(name, labels);
    else this.#namespaces.delete(name);
  }

  usePeers(id: string, { namespace, namespaceSelector, podSelector }: PeerSelector): void {
    const isPodMeant = podSelector ? matcherOf(podSelector) : () => true;
    const isSelected = matcherOf(namespaceSelector);
    this.#use(id, "type ipv4_addr;", "type ipv6_addr;", peersName, {
      namespace,
      isNamespaceMeant: (labels) => namespace !== undefined || (labels !== undefined && isSelected(labels)),
      elementsOf: ({ labels, addresses }) =>
        isPodMeant(labels) ? addresses.map(({ family, text }) => ({ set: peersName(id, family), element: text })) : [],
    });
  }

  releasePeers(id: string): void {
    this.#release(id, peersName);
  }

  /** All pods count that have a port of the name: which of them may be reached, rules say besides. */
  useNamedPort(id: string, { name, protocol }: NamedPolicyPort): void {
    this.#use(id, "type ipv4_addr . inet_service;", "type ipv6_addr . inet_service;", namedPortsName, {
      namespace: undefined,
      isNamespaceMeant: () => true,
      elementsOf: ({ addresses, ports }) =>
        ports
          .filter((port) => port.name === name && port.protocol === protocol)
          .flatMap(({ port }) =>
            addresses.map(({ family, text }) => ({
              set: namedPortsName(id, family),
              element: `${text} . ${port}`,
            })),
          ),
    });
  }

  releaseNamedPort(id: string): void {
    this.#release(id, namedPortsName);
  }

  #use(
    id: string,
    declaration4: string,
    declaration6: string,
    nameOf: typeof peersName,
    parts: Omit<PodSet, "users" | "counts">,
  ): void {
    const key = nameOf(id, 4);
    const present = this.#sets.get(key);
    if (present) {
      present.users++;
      return;
    }
    this.#table.addSet(nameOf(id, 4), declaration4);
    this.#table.addSet(nameOf(id, 6), declaration6);
    const set: PodSet = { ...parts, users: 1, counts: new Map() };
    this.#sets.set(key, set);
    const same = this.#setsByNamespace.get(set.namespace);
    if (same) same.add(set);
    else this.#setsByNamespace.set(set.namespace, new Set([set]));
    const namespaces = set.namespace === undefined ? this.#podsByNamespace.keys() : [set.namespace];
    for (const namespace of namespaces)
      if (set.isNamespaceMeant(this.#namespaces.get(namespace)))
        for (const pod of this.podsIn(namespace).values()) this.#join(set, pod);
  }

  #release(id: string, nameOf: typeof peersName): void {
    const set = this.#sets.get(nameOf(id, 4));
    if (!set || --set.users > 0) return;
    this.#sets.delete(nameOf(id, 4));
    const same = this.#setsByNamespace.get(set.namespace);
    same?.delete(set);
    if (same?.size === 0) this.#setsByNamespace.delete(set.namespace);
    for (const family of addressFamilies) this.#table.removeSet(nameOf(id, family));
  }

  /** The sets that the pod may be in, as its namespace is by now. */
  #setsFor(pod: PolicyPod | undefined): readonly PodSet[] {
    if (!pod) return [];
    const labels = this.#namespaces.get(pod.namespace);
    return [
      ...(this.#setsByNamespace.get(pod.namespace) ?? []),
      ...[...(this.#setsByNamespace.get(undefined) ?? [])].filter((set) => set.isNamespaceMeant(labels)),
    ];
  }

  #join({ counts, elementsOf }: PodSet, pod: PolicyPod | undefined): void {
    for (const { set, element } of pod ? elementsOf(pod) : []) {
      const id = `${set} ${element}`;
      const count = counts.get(id) ?? 0;
      counts.set(id, count + 1);
      if (count === 0) this.#table.addElement(set, element);
    }
  }

  #leave({ counts, elementsOf }: PodSet, pod: PolicyPod | undefined): void {
    for (const { set, element } of pod ? elementsOf(pod) : []) {
      const id = `${set} ${element}`;
      const count = counts.get(id) ?? 0;
      if (count > 1) counts.set(id, count - 1);
      else {
        counts.delete(id);
        this.#table.removeElement(set, element);
      }
    }
  }
}

const noPods: ReadonlyMap<string, PolicyPod> = new Map();

/** A selector that has no meaning, which the API server does not store, selects nothing. */
export function matcherOf(selector: SelectorStruct | undefined): (labels: Labels | undefined) => boolean {
  try {
    return selectorMatcher(selector);
  } catch (error) {
    if (error instanceof SelectorError) return () => false;
    throw error;
  }
}
