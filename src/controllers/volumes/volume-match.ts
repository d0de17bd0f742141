// Which volume a claim gets: the one that names it, else the smallest that will do, among those with the fewest ways to be used.
// Upstream: staging/src/k8s.io/component-helpers/storage/volume/pv_helpers.go.
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import type { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { index } from "#client/cache.ts";
import type { CacheView } from "#client/controller.ts";
import { claimKey, classOf, hasModes, smallestVolumeFor } from "#rules/volumes.ts";

/** Volumes by the claim they name. */
export const volumesByClaim = index(PersistentVolume, ({ spec: { claimRef } }) =>
  claimRef ? [`${claimRef.namespace ?? ""}/${claimRef.name ?? ""}`] : [],
);
const freeVolumes = index(PersistentVolume, (volume) =>
  volume.spec.claimRef || volume.status.phase !== "Available" ? [] : [classOf(volume)],
);

const mostRemembered = 1000;

/**
 * Several claims are looked at together, and the cache shows a volume as free for a moment after it was given to one of them. The
 * server would refuse to give it to another; that it is remembered here saves the try.
 */
export class VolumeReservations {
  /** Resource versions of volumes from which they were given away, by name. */
  readonly #given = new Map<string, string | undefined>();

  give({ metadata, spec }: PersistentVolume): void {
    if (spec.claimRef) return; // nobody else would be given it
    this.#given.set(metadata.name, metadata.resourceVersion);
    const [oldest = ""] = this.#given.keys();
    if (this.#given.size > mostRemembered) this.#given.delete(oldest);
  }

  takeBack({ metadata }: PersistentVolume): void {
    this.#given.delete(metadata.name);
  }

  isFree({ metadata }: PersistentVolume): boolean {
    if (!this.#given.has(metadata.name)) return true;
    if (this.#given.get(metadata.name) === metadata.resourceVersion) return false;
    this.#given.delete(metadata.name); // the cache has seen what became of it
    return true;
  }
}

export function matchVolume(
  claim: PersistentVolumeClaim,
  onlyNamed: boolean,
  cache: CacheView,
  isFree: (volume: PersistentVolume) => boolean,
): PersistentVolume | undefined {
  const naming = cache.by(volumesByClaim, claimKey(claim)).filter((volume) => hasModes(volume, claim));
  const named = smallestVolumeFor(claim, naming, () => true);
  if (named || onlyNamed) return named;
  const byModes = Map.groupBy(
    cache.by(freeVolumes, classOf(claim)).filter((volume) => hasModes(volume, claim)),
    ({ spec }) => new Set(spec.accessModes).size,
  );
  for (const [, volumes] of [...byModes].sort(([a], [b]) => a - b)) {
    const smallest = smallestVolumeFor(claim, volumes, isFree);
    if (smallest) return smallest;
  }
  return undefined;
}
