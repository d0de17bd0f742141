// Which flows of datagrams the kernel must forget. A datagram knows no end of its connection: to the kernel, a sender that goes on sending
// is one flow, which keeps the target that it began with.
// Upstream: pkg/proxy/conntrack/cleanup.go.
import type { Frontend, FrontendFamily } from "./frontends.ts";

/** Datagrams to a frontend that go to a target which it no longer has, or to none. */
export interface StaleFlow {
  readonly family: FrontendFamily;
  /** Absent for a node port. */
  readonly address: string | undefined;
  readonly port: number;
  /** Absent for flows that went to no target at all. */
  readonly target?: string;
}

/** The kernel's memory of where packets of a connection go. It outlives the rules that sent them there. */
export interface ConnectionTracking {
  forget(flows: readonly StaleFlow[], signal: AbortSignal): Promise<void>;
}

export class StaleFlows {
  /** The UDP frontends that each service had last, by family and service. */
  readonly #frontends = new Map<string, readonly Frontend[]>();

  /** Notes the frontends that a service has now, and returns the flows that are stale because of them. */
  update(service: string, family: FrontendFamily, frontends: readonly Frontend[]): readonly StaleFlow[] {
    const key = `${family} ${service}`;
    const after = frontends.filter(({ protocol }) => protocol === "udp");
    const before = this.#frontends.get(key) ?? [];
    if (after.length === 0) this.#frontends.delete(key);
    else this.#frontends.set(key, after);
    return [...lostTargets(before, after), ...firstTargets(before, after)].map((flow) => ({ family, ...flow }));
  }
}

const isSamePlace = (a: Frontend, b: Frontend): boolean => a.address === b.address && a.port === b.port;

const lostTargets = (before: readonly Frontend[], after: readonly Frontend[]) =>
  before.flatMap((frontend) => {
    const { address, port, targets } = frontend;
    const present = after.find((candidate) => isSamePlace(candidate, frontend));
    const kept = new Set(present?.targets.map((target) => target.address));
    return targets
      .filter((target) => !kept.has(target.address))
      .map((target) => ({ address, port, target: target.address }));
  });

/** A sender that began before there was a target would go on sending to nobody. */
const firstTargets = (before: readonly Frontend[], after: readonly Frontend[]) =>
  after
    .filter(
      (frontend) =>
        frontend.targets.length > 0 &&
        !before.some((earlier) => isSamePlace(earlier, frontend) && earlier.targets.length > 0),
    )
    .map(({ address, port }) => ({ address, port }));
