// A pod as the scheduler sees it: what is compared again and again is read from the object once.
import type { PodAffinityTerm, WeightedPodAffinityTerm } from "#api/core/v1/affinity.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { equal } from "#base/collections.ts";
import { keyOf } from "#client/object-key.ts";
import type { Labels } from "#schema/selector.ts";
import { type AffinityTerm, affinityTerm, type WeightedTerm } from "./affinity-term.ts";
import { type HostPort, hostPortsOf } from "./host-ports.ts";
import { isSameRequest, type PodRequest, podRequest } from "./resources.ts";

export interface Affinities {
  readonly near: readonly AffinityTerm[];
  readonly apart: readonly AffinityTerm[];
  readonly ratherNear: readonly WeightedTerm[];
  readonly ratherApart: readonly WeightedTerm[];
}

const noAffinities: Affinities = { near: [], apart: [], ratherNear: [], ratherApart: [] };

export class PodView {
  readonly pod: Pod;
  readonly key: string;
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly labels: Labels | undefined;
  readonly priority: number;
  #request: PodRequest | undefined;
  #ports: readonly HostPort[] | undefined;
  #affinities: Affinities | undefined;
  #claims: readonly string[] | undefined;

  constructor(pod: Pod) {
    const { namespace = "", name = "", uid = "", labels } = pod.metadata;
    this.pod = pod;
    this.key = keyOf({ namespace, name });
    this.uid = uid;
    this.namespace = namespace;
    this.name = name;
    this.labels = labels;
    this.priority = pod.spec.priority ?? 0;
  }

  /** Whether nothing but the status has changed. Then the parsed parts of the old view are reused. */
  isLike(before: PodView): boolean {
    if (this.uid !== before.uid || this.isEnding !== before.isEnding) return false;
    if (!equal(this.labels ?? {}, before.labels ?? {}) || !isSameRequest(this.request, before.request)) return false;
    // All else that counts cannot change.
    this.#ports = before.#ports;
    this.#affinities = before.#affinities;
    this.#claims = before.#claims;
    return true;
  }

  get isEnding(): boolean {
    return this.pod.metadata.deletionTimestamp !== undefined;
  }

  get request(): PodRequest {
    this.#request ??= podRequest(this.pod);
    return this.#request;
  }

  get ports(): readonly HostPort[] {
    this.#ports ??= hostPortsOf(this.pod);
    return this.#ports;
  }

  get affinities(): Affinities {
    this.#affinities ??= affinitiesOf(this.pod, this.namespace);
    return this.#affinities;
  }

  /** Keys of the volume claims it mounts, those made for it included. */
  get claims(): readonly string[] {
    this.#claims ??= claimsOf(this.pod, this.namespace, this.name);
    return this.#claims;
  }
}

function affinitiesOf({ spec: { affinity } }: Pod, namespace: string): Affinities {
  const { podAffinity, podAntiAffinity } = affinity ?? {};
  if (!podAffinity && !podAntiAffinity) return noAffinities;
  const must = (terms: readonly PodAffinityTerm[] = []) => terms.map((term) => affinityTerm(term, namespace));
  const may = (terms: readonly WeightedPodAffinityTerm[] = []) =>
    terms.map(({ weight, podAffinityTerm }) => ({ weight, term: affinityTerm(podAffinityTerm, namespace) }));
  return {
    near: must(podAffinity?.requiredDuringSchedulingIgnoredDuringExecution),
    apart: must(podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution),
    ratherNear: may(podAffinity?.preferredDuringSchedulingIgnoredDuringExecution),
    ratherApart: may(podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution),
  };
}

const claimsOf = ({ spec: { volumes = [] } }: Pod, namespace: string, name: string): readonly string[] =>
  volumes.flatMap((volume) => {
    if (volume.persistentVolumeClaim) return [`${namespace}/${volume.persistentVolumeClaim.claimName}`];
    return volume.ephemeral ? [`${namespace}/${name}-${volume.name}`] : [];
  });
