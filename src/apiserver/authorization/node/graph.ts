// Which objects are on which node's business: those its pods refer to, the volumes behind their claims, and the secrets of those.
// Kept current from the watch caches; each pod is counted at what it refers to, so that a question is a few lookups.
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { equal } from "#base/collections.ts";
import type { ApiObject } from "#schema/object.ts";
import { keyPrefix } from "../../store-follower.ts";
import type { CacheOf, WatchCache } from "../../watch-cache.ts";
import {
  mirror,
  type Reference,
  type ReferencedResource,
  reference,
  referencesOfPod,
  secretsOfVolume,
} from "./references.ts";

export class NodeGraph {
  readonly #pods: WatchCache;
  readonly #volumes: WatchCache;
  /** How many pods of a node refer to it, by what is referred to and by node. */
  readonly #users = new Map<Reference, Map<string, number>>();
  /** Names of the volumes whose mounting takes a secret. */
  readonly #volumesOfSecret = new Map<Reference, Set<string>>();

  constructor(cacheOf: CacheOf) {
    this.#pods = cacheOf(Pod);
    this.#volumes = cacheOf(PersistentVolume);
    follow(this.#pods, {
      clear: () => this.#users.clear(),
      changes: podChanges,
      count: (pod, by) => this.#countPod(pod, by),
    });
    follow(this.#volumes, {
      clear: () => this.#volumesOfSecret.clear(),
      changes: (before, after) => !equal(before.spec, after.spec),
      count: (volume, by) => this.#countVolume(volume, by),
    });
  }

  /** Whether a pod of the node refers to the object, or mounts a volume that does. */
  isUsed(node: string, resource: ReferencedResource, namespace: string, name: string): boolean {
    const wanted = reference(resource, namespace, name);
    if (this.#users.get(wanted)?.has(node)) return true;
    for (const volume of this.#volumesOfSecret.get(wanted) ?? []) if (this.isMounted(node, volume)) return true;
    return false;
  }

  /** Whether a pod of the node uses the claim that the volume is bound to. */
  isMounted(node: string, volume: string): boolean {
    const claim = this.#volumes.get(keyPrefix(PersistentVolume) + volume)?.object.spec.claimRef;
    if (!claim) return false;
    return this.#users.get(reference("persistentvolumeclaims", claim.namespace, claim.name))?.has(node) ?? false;
  }

  isRunning(node: string, namespace: string, pod: string): boolean {
    return this.#pods.get(`${keyPrefix(Pod)}${namespace}/${pod}`)?.object.spec.nodeName === node;
  }

  #countPod(pod: ApiObject, by: 1 | -1): void {
    const node: string | undefined = pod.spec.nodeName;
    if (!node) return;
    for (const one of referencesOfPod(pod)) {
      const users = this.#users.get(one) ?? new Map<string, number>();
      const count = (users.get(node) ?? 0) + by;
      if (count > 0) users.set(node, count);
      else users.delete(node);
      if (users.size > 0) this.#users.set(one, users);
      else this.#users.delete(one);
    }
  }

  #countVolume(volume: ApiObject, by: 1 | -1): void {
    const { name = "" } = volume.metadata;
    if (!volume.spec.claimRef) return;
    for (const secret of secretsOfVolume(volume)) {
      const volumes = this.#volumesOfSecret.get(secret) ?? new Set<string>();
      if (by > 0) volumes.add(name);
      else volumes.delete(name);
      if (volumes.size > 0) this.#volumesOfSecret.set(secret, volumes);
      else this.#volumesOfSecret.delete(secret);
    }
  }
}

interface Counting {
  clear(): void;
  /** Whether an object may count differently after a change. */
  changes(before: ApiObject, after: ApiObject): boolean;
  count(object: ApiObject, by: 1 | -1): void;
}

function follow(cache: WatchCache, { clear, changes, count }: Counting): void {
  const fill = () => {
    clear();
    for (const [, { object }] of cache.range(cache.prefix)) count(object, 1);
  };
  cache.listen({
    reset: fill,
    events: (events) => {
      for (const { previous, current } of events) {
        if (previous && current && !changes(previous.object, current.object)) continue;
        if (previous) count(previous.object, -1);
        if (current) count(current.object, 1);
      }
    },
  });
  fill();
}

/** Whether anything changed on which the references of a pod depend; most changes are reports of its status. */
const podChanges = (before: ApiObject, after: ApiObject): boolean =>
  before.metadata.annotations?.[mirror] !== after.metadata.annotations?.[mirror] ||
  !equal(before.spec, after.spec) ||
  !equal(before.status?.resourceClaimStatuses, after.status?.resourceClaimStatuses) ||
  !equal(before.status?.extendedResourceClaimStatus, after.status?.extendedResourceClaimStatus);
