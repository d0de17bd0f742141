// The volumes that a claim could have, found once for a pod, so that each node looks only at those that it may reach.
// Upstream: pkg/scheduler/framework/plugins/volumebinding/binder.go.
import type { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import type { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import type { Selectable } from "#rules/node-selection.ts";
import { fitFor, isReachable, volumeBytes } from "#rules/volumes.ts";

const hostname = "kubernetes.io/hostname";

export class VolumeCandidates {
  /** The one that insists on the claim: it is that one or none. */
  readonly #insisting: PersistentVolume | undefined;
  /** Those that many nodes may reach, the smallest first. */
  readonly #shared: PersistentVolume[] = [];
  /** Those of single nodes, by the node's name for itself, the smallest first. */
  readonly #ofHosts = new Map<string, PersistentVolume[]>();

  constructor(claim: PersistentVolumeClaim, volumes: Iterable<PersistentVolume>) {
    const fitOf = fitFor(claim);
    for (const volume of volumes) {
      const fit = fitOf(volume);
      if (fit === "insists") this.#insisting ??= volume;
      else if (fit !== undefined) this.#add(volume);
    }
    this.#shared.sort(bySize);
    for (const list of this.#ofHosts.values()) if (list.length > 1) list.sort(bySize);
  }

  #add(volume: PersistentVolume): void {
    const hosts = hostsOf(volume);
    if (!hosts) this.#shared.push(volume);
    for (const host of hosts ?? []) {
      const list = this.#ofHosts.get(host);
      if (list) list.push(volume);
      else this.#ofHosts.set(host, [volume]);
    }
  }

  /** Whether it is plain that the node reaches none. */
  areElsewhere({ labels }: Selectable): boolean {
    return !this.#insisting && this.#shared.length === 0 && !this.#ofHosts.has(labels[hostname] ?? "\n");
  }

  /** The smallest that the node reaches and that is not taken. */
  smallestOn(node: Selectable, taken: ReadonlySet<string>): PersistentVolume | undefined {
    const isUsable = (volume: PersistentVolume) => !taken.has(volume.metadata.name) && isReachable(volume, node);
    if (this.#insisting) return isUsable(this.#insisting) ? this.#insisting : undefined;
    const own = this.#ofHosts.get(node.labels[hostname] ?? "\n")?.find(isUsable);
    const shared = this.#shared.find(isUsable);
    if (!own || !shared) return own ?? shared;
    return volumeBytes(own) <= volumeBytes(shared) ? own : shared;
  }
}

const bySize = (a: PersistentVolume, b: PersistentVolume): number => volumeBytes(a) - volumeBytes(b);

/** The hosts that alone can reach a volume; undefined where that cannot be told at a glance. */
function hostsOf({ spec }: PersistentVolume): readonly string[] | undefined {
  const [term, ...others] = spec.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  if (others.length > 0) return undefined;
  return term?.matchExpressions?.find(({ key, operator }) => key === hostname && operator === "In")?.values;
}
