// Creates, repairs and deletes the pods of a StatefulSet and their claims, and reports each of these things.
// Upstream: pkg/controller/statefulset/stateful_pod_control.go.
import type { StatefulSet } from "#api/apps/v1/stateful-set.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { explain, isConflict, isNotFound, isReason } from "#base/errors.ts";
import type { Reconcile } from "#client/controller.ts";
import {
  claimName,
  hasIdentity,
  hasStorage,
  newClaims,
  type newPod,
  ordinalOf,
  templatesOf,
  withIdentity,
  withStorage,
} from "./identity.ts";
import { hasOtherController, isOwnedRightly, isStale, rightlyOwned, type SetMember } from "./retention.ts";

type Verb = "Create" | "Update" | "Delete";

export class Members {
  readonly #set: StatefulSet;
  readonly #context: Reconcile;

  constructor(set: StatefulSet, context: Reconcile) {
    this.#set = set;
    this.#context = context;
  }

  /** The claims first: a pod without them cannot start. */
  async create(pod: ReturnType<typeof newPod>, ordinal: number): Promise<void> {
    const { name } = pod.metadata;
    await this.#reported("Create", name, () => this.createClaims(name, ordinal));
    let failure: unknown;
    try {
      await this.#context.client.create(Pod, pod);
    } catch (error) {
      if (isReason(error, "AlreadyExists")) throw error; // the cache will show it
      failure = error;
    }
    await this.#reported("Update", name, () => this.#settleClaims({ set: this.#set, ordinal, pod }));
    this.#report("Create", name, failure);
    if (failure !== undefined) throw failure;
  }

  async delete({ metadata }: Pod): Promise<void> {
    const { namespace, name = "" } = metadata;
    try {
      await this.#context.client.delete(Pod, { namespace, name });
    } catch (error) {
      if (!isNotFound(error)) {
        this.#report("Delete", name, error);
        throw error;
      }
    }
    this.#report("Delete", name);
  }

  /** Whether the pod, its volumes and the owners of its claims are as they should be. */
  isRight(pod: Pod): boolean {
    return hasIdentity(this.#set, pod) && hasStorage(this.#set, pod) && this.ownsClaimsRightly(pod);
  }

  /** Brings back what someone has changed of the pod's identity, volumes and claims. */
  async repair(pod: Pod): Promise<void> {
    const set = this.#set;
    const { name = "" } = pod.metadata;
    let wanted = hasIdentity(set, pod) ? pod : withIdentity(set, pod);
    if (!hasStorage(set, wanted)) {
      wanted = withStorage(set, wanted);
      await this.#reported("Update", name, () => this.createClaims(name, ordinalOf(pod)));
    }
    await this.#reported("Update", name, () => this.settleClaims(pod));
    try {
      await this.#context.client.update(Pod, wanted);
    } catch (error) {
      if (!isConflict(error)) this.#report("Update", name, error); // a conflict is over with the next look
      throw error;
    }
    this.#report("Update", name);
  }

  /** For a pod that waits: what claims it lacks. */
  async createMissingClaims(pod: Pod): Promise<void> {
    const { name = "" } = pod.metadata;
    await this.createClaims(name, ordinalOf(pod));
    await this.#reported("Update", name, () => this.settleClaims(pod));
  }

  async createClaims(pod: string, ordinal: number): Promise<void> {
    const { client, cache } = this.#context;
    const failures: Error[] = [];
    for (const claim of newClaims(this.#set, ordinal)) {
      const { name } = claim.metadata;
      const present = cache.get(PersistentVolumeClaim, claim.metadata);
      if (present?.metadata.deletionTimestamp !== undefined) failures.push(new Error(`pvc ${name} is being deleted`));
      if (present) continue;
      try {
        await client.create(PersistentVolumeClaim, claim);
        this.#reportClaim(name, pod);
      } catch (cause) {
        if (!isReason(cause, "AlreadyExists")) this.#reportClaim(name, pod, cause);
        failures.push(new Error(`failed to create PVC ${name}`, { cause }));
      }
    }
    if (failures.length > 1) throw new Error(`[${failures.map(explain).join(", ")}]`);
    if (failures[0]) throw failures[0];
  }

  /** Whether a claim of the pod that is to be created still belongs to its predecessor. */
  hasStaleClaim(pod: ReturnType<typeof newPod>, ordinal: number): boolean {
    const member = { set: this.#set, ordinal, pod };
    return this.#claimsOf(ordinal).some((claim) => isStale(claim, member));
  }

  ownsClaimsRightly(pod: Pod): boolean {
    const member = this.#memberOf(pod);
    return this.#claimsOf(member.ordinal).every((claim) => isOwnedRightly(claim, member));
  }

  settleClaims(pod: Pod): Promise<void> {
    return this.#settleClaims(this.#memberOf(pod));
  }

  async #settleClaims(member: SetMember): Promise<void> {
    const { client, event } = this.#context;
    for (const claim of this.#claimsOf(member.ordinal)) {
      const { name } = claim.metadata;
      if (hasOtherController(claim, member))
        event(
          "Warning",
          "ConflictingController",
          `PersistentVolumeClaim ${name} has a conflicting OwnerReference that acts as a manging controller, the retention policy is ignored for this claim`,
        );
      if (isOwnedRightly(claim, member)) continue;
      try {
        await client.update(PersistentVolumeClaim, rightlyOwned(claim, member));
      } catch (cause) {
        throw new Error(`could not update claim ${name} for delete policy ownerRefs`, { cause });
      }
    }
  }

  #memberOf(pod: Pod): SetMember {
    return { set: this.#set, ordinal: ordinalOf(pod), pod };
  }

  /** Those that are there. */
  #claimsOf(ordinal: number): readonly PersistentVolumeClaim[] {
    const { namespace } = this.#set.metadata;
    return templatesOf(this.#set).flatMap((template) => {
      const name = claimName(this.#set, template, ordinal);
      return this.#context.cache.get(PersistentVolumeClaim, { namespace, name }) ?? [];
    });
  }

  /** Does part of something to a pod: only its failure is worth an event. */
  async #reported(verb: Verb, pod: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#report(verb, pod, error);
      throw error;
    }
  }

  #report(verb: Verb, pod: string, error?: unknown): void {
    const { event } = this.#context;
    const what = `${verb} Pod ${pod} in StatefulSet ${this.#set.metadata.name}`;
    if (error === undefined) event("Normal", `Successful${verb}`, `${what} successful`);
    else event("Warning", `Failed${verb}`, `${what} failed error: ${explain(error)}`);
  }

  #reportClaim(claim: string, pod: string, error?: unknown): void {
    const { event } = this.#context;
    const { name } = this.#set.metadata;
    if (error === undefined)
      event("Normal", "SuccessfulCreate", `Create Claim ${claim} Pod ${pod} in StatefulSet ${name} success`);
    else
      event(
        "Warning",
        "FailedCreate",
        `Create Claim ${claim} for Pod ${pod} in StatefulSet ${name} failed error: ${explain(error)}`,
      );
  }
}
