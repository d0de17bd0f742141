// Brings the pods of a StatefulSet to what is wanted. In order (OrderedReady): a pod is created when all before it work, and one is
// deleted when all after it are gone. All at once (Parallel): whatever is missing or too much.
// Upstream: pkg/controller/statefulset/stateful_set_control.go.
import type { StatefulSet } from "#api/apps/v1/stateful-set.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { slowStart } from "#base/collections.ts";
import type { Reconcile } from "#client/controller.ts";
import { hasEnded, isAvailable } from "#rules/pods.ts";
import { scaledValueOf } from "#schema/int-or-string.ts";
import type { RevisionPair } from "./history.ts";
import { isInRange, newPod, ordinalOf, revisionOf, startOf } from "./identity.ts";
import { Members } from "./members.ts";
import { isGoing, isRunning } from "./status.ts";

/** How many pods one reconcile creates at most. */
const burst = 500;

interface Slot {
  readonly ordinal: number;
  readonly pod: Pod | undefined;
}

/** Whether to go on with the next pod. Only with OrderedReady does a pod wait for another. */
type Verdict = "go on" | "wait";

export class StatefulSetRollout {
  readonly #set: StatefulSet;
  readonly #versions: RevisionPair;
  readonly #members: Members;
  readonly #now: number;
  readonly #slots: readonly Slot[];
  /** Pods beyond the number that is wanted, the highest ordinal first. */
  readonly #condemned: readonly Pod[];
  /** Of all that do not work, the first: in order, it is the one that may go. */
  readonly #firstUnavailable: Slot["pod"] | "missing";
  #deleted = 0;

  constructor(set: StatefulSet, versions: RevisionPair, pods: readonly Pod[], context: Reconcile) {
    this.#set = set;
    this.#versions = versions;
    this.#members = new Members(set, context);
    this.#now = context.clock.now();
    this.#slots = slotsOf(set, pods);
    this.#condemned = pods
      .filter((pod) => ordinalOf(pod) >= 0 && !isInRange(set, ordinalOf(pod)))
      .toSorted((a, b) => ordinalOf(b) - ordinalOf(a));
    const present = [...this.#slots.map(({ pod }) => pod), ...this.#condemned.toReversed()];
    const first = present.findIndex((pod) => !this.#isAvailable(pod));
    this.#firstUnavailable = first < 0 ? undefined : (present[first] ?? "missing");
  }

  /** How many pods of the current revision were deleted to be updated. */
  get deleted(): number {
    return this.#deleted;
  }

  async run(): Promise<void> {
    const { updateStrategy, podManagementPolicy } = this.#set.spec;
    const forAll = podManagementPolicy === "Parallel" ? allAtOnce : inOrder;
    if ((await forAll(this.#slots, (slot) => this.#tend(slot))) === "wait") return;
    if (this.#slots.length < this.#set.spec.replicas) return;
    if ((await forAll(this.#condemned, (pod) => this.#settleClaims(pod))) === "wait") return;
    if ((await forAll(this.#condemned, (pod) => this.#remove(pod))) === "wait") return;
    if (updateStrategy.type === "OnDelete") return;
    if (updateStrategy.rollingUpdate?.maxUnavailable === undefined) await this.#updateOne();
    else await this.#updateSome(updateStrategy.rollingUpdate.maxUnavailable);
  }

  get #isOrdered(): boolean {
    return this.#set.spec.podManagementPolicy !== "Parallel";
  }

  /** A pod that is being deleted does not count as available, even if it is ready. */
  #isAvailable(pod: Pod | undefined): boolean {
    return pod !== undefined && !isGoing(pod) && this.#isAvailableStill(pod);
  }

  #isAvailableStill(pod: Pod): boolean {
    return isAvailable(pod, this.#set.spec.minReadySeconds ?? 0, this.#now);
  }

  /** Creates the pod that is missing, and replaces one that has ended: whatever its exit code, it should run. */
  async #tend({ ordinal, pod }: Slot): Promise<Verdict> {
    if (pod === undefined) return this.#create(ordinal);
    if (hasEnded(pod)) {
      if (!isGoing(pod)) await this.#members.delete(pod);
      return "wait";
    }
    if (pod.status.phase === "Pending") await this.#members.createMissingClaims(pod);
    if (this.#isOrdered && (isGoing(pod) || !isRunning(pod) || !this.#isAvailableStill(pod))) return "wait";
    if (!this.#members.isRight(pod)) await this.#members.repair(pod);
    return "go on";
  }

  async #create(ordinal: number): Promise<Verdict> {
    const { current, update } = this.#versions;
    const version = this.#isOfCurrent(ordinal) ? current : update;
    const pod = newPod(version.set, version.name, ordinal);
    if (this.#members.hasStaleClaim(pod, ordinal)) return "wait";
    await this.#members.create(pod, ordinal);
    return "wait";
  }

  /** Whether a pod that is created now still gets the old template. */
  #isOfCurrent(ordinal: number): boolean {
    const { updateStrategy } = this.#set.spec;
    const index = ordinal - startOf(this.#set);
    if (updateStrategy.rollingUpdate) return index < (updateStrategy.rollingUpdate.partition ?? 0);
    return updateStrategy.type === "RollingUpdate" && index < (this.#set.status.currentReplicas ?? 0);
  }

  async #settleClaims(pod: Pod): Promise<Verdict> {
    if (!this.#members.ownsClaimsRightly(pod)) await this.#members.settleClaims(pod);
    return "go on";
  }

  async #remove(pod: Pod): Promise<Verdict> {
    if (isGoing(pod)) return "wait";
    const works = isRunning(pod) && this.#isAvailableStill(pod);
    if (this.#isOrdered && !works && pod !== this.#firstUnavailable) return "wait";
    await this.#members.delete(pod);
    return "wait";
  }

  /** From the highest ordinal down, one pod at a time; what does not work after its update stops the rollout. */
  async #updateOne(): Promise<void> {
    for (const { pod } of this.#updatable()) {
      if (pod && this.#isOutdated(pod)) return this.#replace(pod);
      if (!this.#isAvailable(pod)) return;
    }
  }

  async #updateSome(maxUnavailable: number | string): Promise<void> {
    const most = Math.max(1, scaledValueOf(maxUnavailable, this.#set.spec.replicas, "down"));
    let spare = most - this.#slots.filter(({ pod }) => !this.#isAvailable(pod)).length;
    for (const { pod } of this.#updatable()) {
      if (spare <= 0) return;
      if (!pod || !this.#isOutdated(pod)) continue;
      await this.#replace(pod);
      spare--;
    }
  }

  #updatable(): readonly Slot[] {
    return this.#slots.slice(this.#set.spec.updateStrategy.rollingUpdate?.partition ?? 0).toReversed();
  }

  #isOutdated(pod: Pod): boolean {
    return revisionOf(pod) !== this.#versions.update.name && !isGoing(pod);
  }

  async #replace(pod: Pod): Promise<void> {
    await this.#members.delete(pod);
    this.#deleted++;
  }
}

/** The pods that are wanted, from the first on. With very many missing only as many as are created at a time: the rest comes later. */
function slotsOf(set: StatefulSet, pods: readonly Pod[]): readonly Slot[] {
  const byOrdinal = new Map(pods.map((pod) => [ordinalOf(pod), pod]));
  const slots: Slot[] = [];
  for (let missing = 0; slots.length < set.spec.replicas && missing < burst; ) {
    const ordinal = startOf(set) + slots.length;
    const pod = byOrdinal.get(ordinal);
    slots.push({ ordinal, pod });
    if (pod === undefined) missing++;
  }
  return slots;
}

async function inOrder<T>(items: readonly T[], work: (item: T) => Promise<Verdict>): Promise<Verdict> {
  for (const item of items) if ((await work(item)) === "wait") return "wait";
  return "go on";
}

async function allAtOnce<T>(items: readonly T[], work: (item: T) => Promise<Verdict>): Promise<Verdict> {
  await slowStart(items.length, async (i) => {
    await work(items[i] as T);
  });
  return "go on";
}
