// Binds claims to volumes, or hands them over to those who make volumes. What is to be done is decided in claim-plan.ts.
// Upstream: pkg/controller/volume/persistentvolume/pv_controller_base.go.
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { StorageClass } from "#api/storage/v1/storage-class.ts";
import { index } from "#client/cache.ts";
import { type Again, type CacheView, controller, type Reconcile, watching } from "#client/controller.ts";
import type { ObjectKey } from "#client/object-key.ts";
import { hasEnded } from "#rules/pods.ts";
import {
  betaStorageProvisioner,
  bindCompleted,
  claimKey,
  classOf,
  defaultStorageClass,
  hasClass,
  storageProvisioner,
  waitsForPod,
} from "#rules/volumes.ts";
import { bind, setClaimStatus, unboundStatus } from "./bind.ts";
import { type BindingFacts, type ClaimPlan, planClaim } from "./claim-plan.ts";
import { podsByClaim } from "./claims-of-pods.ts";
import { withMigratedClaim } from "./migration.ts";
import { matchVolume, VolumeReservations } from "./volume-match.ts";

/** As often as upstream looks at all claims, and says again what they wait for. */
const againMs = 15_000;
const anyClass = "\n";

const isBound = ({ metadata }: PersistentVolumeClaim) => metadata.annotations?.[bindCompleted] !== undefined;
/** Claims that have not got a volume, by class. */
const unboundClaims = index(PersistentVolumeClaim, (claim) =>
  isBound(claim) ? [] : [hasClass(claim) ? classOf(claim) : anyClass],
);
export const claimsByVolume = index(PersistentVolumeClaim, ({ spec }) => (spec.volumeName ? [spec.volumeName] : []));

const keysOf = (claims: readonly PersistentVolumeClaim[]): readonly ObjectKey[] =>
  claims.map(({ metadata }) => metadata);

/** Claims to which a change of a volume matters: those of either end of the binding, and those that may get it. */
function claimsFor(volume: PersistentVolume, cache: CacheView): readonly ObjectKey[] {
  const { claimRef } = volume.spec;
  const naming = keysOf(cache.by(claimsByVolume, volume.metadata.name));
  if (claimRef) return [...naming, { namespace: claimRef.namespace, name: claimRef.name ?? "" }];
  if (volume.status.phase !== "Available") return naming;
  const name = classOf(volume);
  if (waitsForPod(cache.get(StorageClass, { name }))) return naming; // for the scheduler to give away
  const waiting = cache.by(unboundClaims, name);
  return [...naming, ...keysOf(waiting), ...(name === "" ? keysOf(cache.by(unboundClaims, anyClass)) : [])];
}

export function claimBinder() {
  const reservations = new VolumeReservations();
  const sayings = new Sayings();
  return controller({
    name: "persistentvolume-binder-claims",
    queue: "claims",
    reportsAs: "persistentvolume-controller",
    for: PersistentVolumeClaim,
    watches: [
      watching(PersistentVolume, claimsFor),
      watching(StorageClass, ({ metadata }, cache) => [
        ...keysOf(cache.by(unboundClaims, metadata.name)),
        ...keysOf(cache.by(unboundClaims, anyClass)),
      ]),
    ],
    reads: [Pod],
    workers: 10,

    async reconcile(found, context) {
      const migrated = withMigratedClaim(found);
      const claim = migrated === found ? found : await context.client.update(PersistentVolumeClaim, migrated);
      const plan = planClaim(claim, factsFrom(context.cache, reservations));
      if (plan.type !== "bind") return carryOut(plan, claim, { ...context, event: sayings.about(claim, context) });
      reservations.give(plan.volume);
      try {
        await bind(plan.volume, claim, context.client);
      } catch (error) {
        reservations.takeBack(plan.volume);
        throw error;
      }
      return undefined;
    },
  });
}

const mostRemembered = 10_000;

/** What was said of each claim last: what it waits for is said once between two looks at it, however often it is woken. */
class Sayings {
  readonly #last = new Map<string, { readonly text: string; readonly at: number }>();

  about({ metadata: { uid } }: PersistentVolumeClaim, { clock, event }: Reconcile): Reconcile["event"] {
    return (type, reason, message) => {
      const text = `${type} ${reason} ${message}`;
      const last = this.#last.get(uid);
      const at = clock.elapsed();
      if (last?.text === text && at - last.at < againMs) return;
      this.#last.set(uid, { text, at });
      const [oldest = ""] = this.#last.keys();
      if (this.#last.size > mostRemembered) this.#last.delete(oldest);
      event(type, reason, message);
    };
  }
}

const factsFrom = (cache: CacheView, reservations: VolumeReservations): BindingFacts => ({
  storageClass: (name) => cache.get(StorageClass, { name }),
  defaultClass: () => defaultStorageClass(cache.list(StorageClass)),
  volume: (name) => cache.get(PersistentVolume, { name }),
  match: (claim, onlyNamed) => matchVolume(claim, onlyNamed, cache, (volume) => reservations.isFree(volume)),
  waitingPods: (claim) =>
    cache
      .by(podsByClaim, claimKey(claim))
      .filter((pod) => !pod.spec.nodeName && !hasEnded(pod))
      .map(({ metadata }) => metadata.name),
});

async function carryOut(
  plan: Exclude<ClaimPlan, { type: "bind" }>,
  claim: PersistentVolumeClaim,
  { client, event }: Reconcile,
): Promise<Again | undefined> {
  const say = ({ event: said }: { readonly event?: { type: "Normal" | "Warning"; reason: string; message: string } }) =>
    said && event(said.type, said.reason, said.message);
  switch (plan.type) {
    case "wait":
      say(plan);
      await setClaimStatus(claim, unboundStatus(claim, "Pending"), client);
      return { afterMs: againMs };
    case "assign": {
      const { storageClassName } = plan;
      await client.update(PersistentVolumeClaim, { ...claim, spec: { ...claim.spec, storageClassName } });
      return undefined;
    }
    case "provision":
      await handOver(claim, plan.provisioner, { client, event });
      return { afterMs: againMs };
    case "refuse":
      say(plan);
      return { afterMs: againMs };
    case "lose":
      if (claim.status.phase === "Lost") return undefined; // for good
      await setClaimStatus(claim, unboundStatus(claim, "Lost"), client);
      say(plan);
      return undefined;
    case "fail":
      say(plan);
      throw new Error(plan.message);
  }
}

/** Who makes volumes looks for claims with its name on them. */
async function handOver(
  claim: PersistentVolumeClaim,
  provisioner: string,
  { client, event }: Pick<Reconcile, "client" | "event">,
): Promise<void> {
  if (claim.metadata.annotations?.[storageProvisioner] !== provisioner) {
    const annotations = {
      ...claim.metadata.annotations,
      [betaStorageProvisioner]: provisioner,
      [storageProvisioner]: provisioner,
    };
    const marked = withMigratedClaim({ ...claim, metadata: { ...claim.metadata, annotations } });
    await client.update(PersistentVolumeClaim, marked);
  }
  event(
    "Normal",
    "ExternalProvisioning",
    `Waiting for a volume to be created either by the external provisioner '${provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`,
  );
}
