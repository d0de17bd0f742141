// Rate limits of evictions from unhealthy nodes, by zone. When many nodes of a zone fail at once, the network is the more likely cause: then
// evictions are slower or stop. When all zones fail, the fault is assumed to be on our side.
// Upstream: pkg/controller/nodelifecycle/node_lifecycle_controller.go and pkg/controller/nodelifecycle/scheduler/rate_limited_queue.go.
import type { Node } from "#api/core/v1/node.ts";
import { readyCondition } from "./health.ts";

export interface EvictionRates {
  /** Nodes per second and zone. */
  readonly perSecond: number;
  /** The same in a large zone of which too many nodes have failed; a small one is left alone. */
  readonly reducedPerSecond: number;
  /** A zone with more nodes is large. */
  readonly largeZone: number;
  /** From this share of failed nodes on there are too many. */
  readonly tooMany: number;
}

type ZoneState = "initial" | "normal" | "partial" | "full";

/** What has changed for the cluster as a whole. */
export type Shift = "none" | "all failed" | "some work again";

export class Zones {
  readonly #rates: EvictionRates;
  readonly #zones = new Map<string, Zone>();
  readonly #members = new Map<string, { readonly zone: Zone; readonly isReady: boolean }>();

  constructor(rates: EvictionRates) {
    this.#rates = rates;
  }

  /** Counts the node, unless its label excludes it. */
  note(node: Node): void {
    const { name = "", labels = {} } = node.metadata;
    this.#uncount(name);
    if ("node.kubernetes.io/exclude-disruption" in labels) return;
    const zone = this.#zoneOf(node);
    const isReady = readyCondition(node)?.status === "True";
    this.#members.set(name, { zone, isReady });
    zone.size++;
    if (!isReady) zone.failed++;
  }

  forget(name: string): void {
    this.#uncount(name);
    this.recovered(name);
  }

  /** Sees how the zones are now, and lets each go on at the speed that suits it. */
  settle(now: number): Shift {
    for (const [name, zone] of this.#zones) if (zone.size === 0 && zone.waiting.size === 0) this.#zones.delete(name);
    const zones = [...this.#zones.values()].filter(({ size }) => size > 0);
    const states = new Map(zones.map((zone) => [zone, this.#stateOf(zone)]));
    const seen = zones.filter(({ state }) => state !== "initial");
    const haveAllFailed = zones.length > 0 && zones.every((zone) => states.get(zone) === "full");
    const hadAllFailed = seen.length > 0 && seen.every(({ hasStopped }) => hasStopped);
    if (haveAllFailed) {
      for (const zone of zones) zone.stop();
      return hadAllFailed ? "none" : "all failed";
    }
    for (const [zone, state] of states)
      if (hadAllFailed || zone.state !== state) zone.enter(state, this.#speedOf(zone, state), now);
    return hadAllFailed ? "some work again" : "none";
  }

  /** Whether all zones have failed, so that no node is evicted. */
  get haveAllFailed(): boolean {
    const zones = [...this.#zones.values()].filter(({ size }) => size > 0);
    return zones.length > 0 && zones.every(({ hasStopped }) => hasStopped);
  }

  /** In how many milliseconds the node may be evicted; undefined if evictions are stopped. Nodes of a zone take turns. */
  turnMs(node: Node, now: number): number | undefined {
    return this.#zoneOf(node).turnMs(node.metadata.name ?? "", now);
  }

  /** The node is evicted now: the next one waits for the rate limit. */
  taken(node: Node, now: number): void {
    this.#zoneOf(node).take(node.metadata.name ?? "", now);
  }

  /** The node waits no longer. */
  recovered(name: string): void {
    for (const zone of this.#zones.values()) zone.waiting.delete(name);
  }

  #uncount(name: string): void {
    const member = this.#members.get(name);
    if (!member) return;
    this.#members.delete(name);
    member.zone.size--;
    if (!member.isReady) member.zone.failed--;
  }

  #zoneOf(node: Node): Zone {
    const name = zoneOf(node);
    const zone = this.#zones.get(name) ?? new Zone(this.#rates.perSecond);
    this.#zones.set(name, zone);
    return zone;
  }

  #stateOf({ size, failed }: Zone): ZoneState {
    if (failed === size) return "full";
    return failed > 2 && failed / size >= this.#rates.tooMany ? "partial" : "normal";
  }

  #speedOf({ size }: Zone, state: ZoneState): number {
    const { perSecond, reducedPerSecond, largeZone } = this.#rates;
    if (state !== "partial") return perSecond;
    return size > largeZone ? reducedPerSecond : 0;
  }
}

class Zone {
  state: ZoneState = "initial";
  size = 0;
  failed = 0;
  hasStopped = false;
  /** Nodes to empty, the first to come first. */
  readonly waiting = new Set<string>();
  #perSecond: number;
  #nextAt = 0;

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  enter(state: ZoneState, perSecond: number, now: number): void {
    this.state = state;
    this.hasStopped = false;
    if (perSecond === this.#perSecond) return;
    const hadToWait = this.#perSecond <= 0 || now < this.#nextAt;
    this.#perSecond = perSecond;
    this.#nextAt = hadToWait && perSecond > 0 ? now + 1000 / perSecond : 0;
  }

  stop(): void {
    this.state = "full";
    this.hasStopped = true;
    this.#perSecond = 0;
  }

  turnMs(name: string, now: number): number | undefined {
    this.waiting.add(name);
    if (this.#perSecond <= 0) return undefined;
    let before = 0;
    for (const other of this.waiting) {
      if (other === name) break;
      before++;
    }
    return Math.max(0, this.#nextAt - now) + (before * 1000) / this.#perSecond;
  }

  take(name: string, now: number): void {
    this.waiting.delete(name);
    this.#nextAt = now + 1000 / this.#perSecond;
  }
}

/** Region and zone, by their old names if the node has those. */
function zoneOf({ metadata: { labels = {} } }: Node): string {
  const zone = labels["failure-domain.beta.kubernetes.io/zone"] ?? labels["topology.kubernetes.io/zone"] ?? "";
  const region = labels["failure-domain.beta.kubernetes.io/region"] ?? labels["topology.kubernetes.io/region"] ?? "";
  return `${region}\0${zone}`;
}
