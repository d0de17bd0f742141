// State of services with topology hints: whether they have hints, to report changes as events; and their endpoints per zone, to find the
// services that a change of nodes overloads.
// Upstream: staging/src/k8s.io/endpointslice/topologycache/topologycache.go.
import type { EventType, Reconcile } from "#client/controller.ts";
import { withoutHints } from "./hints.ts";
import type { SlicePlan } from "./plan.ts";
import { type ByZone, isOverloaded, withZoneHints } from "./topology.ts";

export interface Subject {
  /** The service's key. */
  readonly key: string;
  readonly family: string;
}

export class TopologyState {
  readonly #byService = new Map<string, Map<string, ByZone>>();
  readonly #hinted = new Set<string>();

  get isEmpty(): boolean {
    return this.#byService.size === 0;
  }

  /** The plan with hints by zone, or without hints where they are impossible. A change between the two is reported as an event. */
  apply(plan: SlicePlan, subject: Subject, ratios: ByZone | undefined, event: Reconcile["event"]): SlicePlan {
    const report = (type: EventType, reason: string, text: string) =>
      event(type, reason, `${text}, addressType: ${subject.family}`);
    const hinted = withZoneHints(plan, ratios);
    if ("refusal" in hinted) {
      this.#remove(subject);
      report("Warning", "TopologyAwareHintsDisabled", hinted.refusal);
      return withoutHints(plan);
    }
    const families = this.#byService.get(subject.key) ?? new Map<string, ByZone>();
    this.#byService.set(subject.key, families.set(subject.family, hinted.of.byZone));
    if (!this.#hinted.has(subject.key))
      report("Normal", "TopologyAwareHintsEnabled", "Topology Aware Hints has been enabled");
    this.#hinted.add(subject.key);
    return hinted.of.plan;
  }

  /** The service does not ask for them (any more). */
  disable(subject: Subject, event: Reconcile["event"]): void {
    if (this.#hinted.has(subject.key)) {
      const message = `Topology Aware Hints has been disabled, addressType: ${subject.family}`;
      event("Warning", "TopologyAwareHintsDisabled", message);
    }
    this.#remove(subject);
  }

  forget(key: string): void {
    this.#byService.delete(key);
    this.#hinted.delete(key);
  }

  /** Keys of the services that have too few endpoints in some zone. */
  overloaded(ratios: ByZone | undefined): readonly string[] {
    return [...this.#byService].flatMap(([key, families]) =>
      [...families.values()].some((byZone) => isOverloaded(byZone, ratios)) ? [key] : [],
    );
  }

  #remove({ key, family }: Subject): void {
    const families = this.#byService.get(key);
    families?.delete(family);
    if (families?.size === 0) this.#byService.delete(key);
    this.#hinted.delete(key);
  }
}
