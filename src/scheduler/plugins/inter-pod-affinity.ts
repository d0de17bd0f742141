// Upstream: pkg/scheduler/framework/plugins/interpodaffinity/plugin.go.
import { Namespace } from "#api/core/v1/namespace.ts";
import type { Node } from "#api/core/v1/node.ts";
import type { Labels } from "#schema/selector.ts";
import type { AffinityTerm } from "../affinity-term.ts";
import { concerns } from "../affinity-term.ts";
import { type ObjectChange, type PluginContext, type Refusal, schedulerPlugin } from "../framework.ts";
import type { NodeState } from "../node-state.ts";
import { PlaceCounts } from "../place-counts.ts";
import type { PodView } from "../pod-view.ts";
import type { Topology } from "../topology.ts";
import { countedByAll, type MeantPods, meantPods } from "./meant-pods.ts";

export interface InterPodAffinityArgs {
  /** How much a pod that must be near others counts when one of those is placed; 0 to 100. */
  readonly hardPodAffinityWeight?: number;
  /** Whether preferences of existing pods are ignored for pods without preferences of their own. */
  readonly ignorePreferredTermsOfExistingPods?: boolean;
}

const notNear: Refusal = { reason: "node(s) didn't match pod affinity rules", stuck: true };
const notApart: Refusal = { reason: "node(s) didn't match pod anti-affinity rules", stuck: false };
const unwelcome: Refusal = { reason: "node(s) didn't satisfy existing pods anti-affinity rules", stuck: false };

/** Where pods are that matter to the pod, by label of nodes. */
interface Neighbours {
  readonly near: readonly MeantPods[];
  readonly apart: readonly MeantPods[];
  readonly labelsOfNamespace: Labels | undefined;
  readonly topology: (key: string) => Topology;
  /** Pods that its affinity terms select, all of them together. */
  readonly wanted: Map<string, PlaceCounts>;
  /** Pods it must keep away from. */
  readonly avoided: Map<string, PlaceCounts>;
  /** Pods whose anti-affinity terms select this pod. */
  readonly averse: Map<string, PlaceCounts>;
  /** Whether the pod matches its own affinity terms, so that it may be the first of its group. */
  readonly isOneOfThem: boolean;
}

/** Puts pods near the pods they must be near to, and away from those they must not, now and as others come. */
export function interPodAffinity(args: InterPodAffinityArgs, { cache }: PluginContext) {
  const { hardPodAffinityWeight: hardWeight = 1, ignorePreferredTermsOfExistingPods = false } = args;
  const labelsOf = (namespace: string) => cache.get(Namespace, { name: namespace })?.metadata.labels;
  const meant = (terms: readonly AffinityTerm[]) => terms.map((term) => meantPods(term, cache));

  return schedulerPlugin({
    name: "InterPodAffinity",
    reads: [Namespace],
    wakes: [
      {
        kind: "Pod",
        on: ["add", "labels", "delete"],
        cures: (pod, change) => changeHelps(pod, change, meant, labelsOf(pod.namespace)),
      },
      { kind: "Node", on: ["add", "labels"], cures: nodeHelps },
    ],

    preFilter(pod, snapshot) {
      const labelsOfNamespace = labelsOf(pod.namespace);
      const averse = new Map<string, PlaceCounts>();
      if (snapshot.hasApart)
        for (const { term, apart } of snapshot.terms)
          if (apart.total > 0 && concerns(term, pod, labelsOfNamespace))
            placesOf(averse, term.topologyKey, snapshot).addAll(apart.values);
      const { affinities } = pod;
      if (averse.size === 0 && affinities.near.length === 0 && affinities.apart.length === 0) return undefined;
      const near = meant(affinities.near);
      const apart = meant(affinities.apart);
      const wanted = new Map<string, PlaceCounts>();
      if (near.length > 0) {
        const counts = snapshot.count(countedByAll(near));
        for (const key of new Set(affinities.near.map(({ topologyKey }) => topologyKey)))
          placesOf(wanted, key, snapshot).addAll(counts.values);
      }
      const avoided = new Map<string, PlaceCounts>();
      for (const one of apart) placesOf(avoided, one.term.topologyKey, snapshot).addAll(snapshot.count(one).values);
      const isOneOfThem = near.length > 0 && near.every((one) => one.means(pod));
      const topology = (key: string) => snapshot.topology(key);
      return { state: { near, apart, labelsOfNamespace, topology, wanted, avoided, averse, isOneOfThem } };
    },

    filter(_pod, node, { wanted, avoided, averse, isOneOfThem }: Neighbours) {
      let hasAll = true;
      for (const places of wanted.values()) {
        if (!places.has(node)) return notNear;
        if (places.at(node) <= 0) hasAll = false;
      }
      // The first of them has nobody to be near to.
      if (!hasAll && !(isOneOfThem && isNowhere(wanted))) return notNear;
      for (const places of avoided.values()) if (places.at(node) > 0) return notApart;
      for (const places of averse.values()) if (places.at(node) > 0) return unwelcome;
      return undefined;
    },

    whatIf: {
      copy: (state) => ({
        ...state,
        wanted: copied(state.wanted),
        avoided: copied(state.avoided),
        averse: copied(state.averse),
      }),
      add: (state, other, node, pod) => moved(state, other, node, pod, 1),
      remove: (state, other, node, pod) => moved(state, other, node, pod, -1),
    },

    preScore(pod, _nodes, snapshot) {
      const { ratherNear, ratherApart } = pod.affinities;
      const hasWishes = ratherNear.length > 0 || ratherApart.length > 0;
      if (!hasWishes && (ignorePreferredTermsOfExistingPods || !snapshot.hasTerms)) return undefined;
      const scores = new Map<string, PlaceCounts>();
      const wish = (term: AffinityTerm, weight: number) =>
        placesOf(scores, term.topologyKey, snapshot).addAll(snapshot.count(meantPods(term, cache)).values, weight);
      for (const { term, weight } of ratherNear) wish(term, weight);
      for (const { term, weight } of ratherApart) wish(term, -weight);
      const labelsOfNamespace = labelsOf(pod.namespace);
      for (const { term, near, rather } of snapshot.terms) {
        if (!concerns(term, pod, labelsOfNamespace)) continue;
        const places = placesOf(scores, term.topologyKey, snapshot);
        if (hardWeight > 0 && near.total > 0) places.addAll(near.values, hardWeight);
        places.addAll(rather.values);
      }
      return scores.size === 0 ? undefined : { state: [...scores.values()] };
    },
    score(_pod, node, scores: readonly PlaceCounts[]) {
      let sum = 0;
      for (const places of scores) sum += places.at(node);
      return sum;
    },
    normalize(scores, { length }) {
      let [least, most] = [Infinity, -Infinity];
      for (let i = 0; i < length; i++) {
        least = Math.min(least, scores[i] as number);
        most = Math.max(most, scores[i] as number);
      }
      const range = most - least;
      for (let i = 0; i < length; i++)
        scores[i] = range > 0 ? Math.trunc(100 * (((scores[i] as number) - least) / range)) : 0;
    },
  });
}

function placesOf(
  counts: Map<string, PlaceCounts>,
  key: string,
  places: { topology(key: string): Topology },
): PlaceCounts {
  const known = counts.get(key) ?? new PlaceCounts(places.topology(key));
  counts.set(key, known);
  return known;
}

const copied = (counts: ReadonlyMap<string, PlaceCounts>): Map<string, PlaceCounts> =>
  new Map([...counts].map(([key, places]) => [key, places.copy()]));

const isNowhere = (counts: ReadonlyMap<string, PlaceCounts>): boolean =>
  [...counts.values()].every(({ total }) => total === 0);

/** Another pod has come to a node, or has left it. */
function moved(state: Neighbours, other: PodView, node: NodeState, pod: PodView, by: 1 | -1): void {
  const { near, apart, wanted, avoided, averse, labelsOfNamespace } = state;
  for (const term of other.affinities.apart)
    if (concerns(term, pod, labelsOfNamespace)) placesOf(averse, term.topologyKey, state).add(node, by);
  if (near.length > 0 && near.every((one) => one.means(other)))
    for (const places of wanted.values()) places.add(node, by);
  for (const one of apart) if (one.means(other)) placesOf(avoided, one.term.topologyKey, state).add(node, by);
}

type Meant = (terms: readonly AffinityTerm[]) => readonly MeantPods[];

/** Whether a pod that came, went or got other labels may make room for this one, or be what it waits for. */
function changeHelps(
  pod: PodView,
  { old, now }: ObjectChange<PodView>,
  meant: Meant,
  labelsOfNamespace: Labels | undefined,
): boolean {
  if (now?.uid === pod.uid) return true;
  const isWanted = (other: PodView | undefined) => {
    const near = meant(pod.affinities.near);
    return other !== undefined && near.length > 0 && near.every((one) => one.means(other));
  };
  const isAvoided = (other: PodView) => meant(pod.affinities.apart).some((one) => one.means(other));
  if (now) return (isWanted(now) && !isWanted(old)) || (old !== undefined && isAvoided(old) && !isAvoided(now));
  if (!old) return false;
  return isAvoided(old) || old.affinities.apart.some((term) => concerns(term, pod, labelsOfNamespace));
}

/** Whether a node that is new, or at another place than before, may be one for the pod. */
function nodeHelps({ affinities }: PodView, { old, now }: ObjectChange<Node>): boolean {
  const value = (node: Node | undefined, key: string) => node?.metadata.labels?.[key];
  const hasMoved = ({ topologyKey }: AffinityTerm) => value(old, topologyKey) !== value(now, topologyKey);
  if (affinities.near.some((term) => value(now, term.topologyKey) !== undefined && hasMoved(term))) return true;
  if (!old) return true;
  return affinities.apart.some((term) => value(old, term.topologyKey) !== undefined && hasMoved(term));
}
