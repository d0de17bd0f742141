// Whether the rules of a node follow the services: what /healthz and /livez of port 10256 say. A load balancer that asks /healthz is to send
// nothing more to a node that is about to go.
// Upstream: pkg/proxy/healthcheck/proxy_health.go.
import type { Node } from "#api/core/v1/node.ts";
import type { Clock } from "#base/clock.ts";
import type { FrontendFamily } from "./frontends.ts";
import type { HealthAnswer } from "./health-ports.ts";

/** A change that waits for longer than this means that something is wrong: twice the period at which rules are looked after. */
const lateMs = 60_000;
/** Set by the cluster autoscaler on a node that it will remove. */
const toBeDeleted = "ToBeDeletedByClusterAutoscaler";

export class ProxyHealth {
  readonly #clock: Clock;
  readonly #families: readonly FrontendFamily[];
  #writtenAt: number;
  /** When the first of the changes came that no rules follow yet. */
  #waitingSince: number | undefined;

  constructor(clock: Clock, families: readonly FrontendFamily[]) {
    this.#clock = clock;
    this.#families = families;
    this.#writtenAt = clock.now();
  }

  changed(): void {
    this.#waitingSince ??= this.#clock.now();
  }

  written(): void {
    this.#waitingSince = undefined;
    this.#writtenAt = this.#clock.now();
  }

  get isHealthy(): boolean {
    return this.#waitingSince === undefined || this.#clock.now() - this.#waitingSince < lateMs;
  }

  /** Whether the process works; a restart may help if not. */
  livez(): HealthAnswer {
    return this.#answer(this.isHealthy, {});
  }

  /** The same, and whether the node is to get traffic. */
  healthz(node: Node | undefined): HealthAnswer {
    const nodeEligible =
      node !== undefined &&
      node.metadata.deletionTimestamp === undefined &&
      !(node.spec.taints ?? []).some(({ key }) => key === toBeDeleted);
    return this.#answer(this.isHealthy && nodeEligible, { nodeEligible });
  }

  #answer(isWell: boolean, more: { readonly nodeEligible?: boolean }): HealthAnswer {
    const now = new Date(this.#clock.now()).toISOString();
    const written = new Date(this.#writtenAt).toISOString();
    const healthy = this.isHealthy;
    const status = Object.fromEntries(this.#families.map((family) => [family, { lastUpdated: written, healthy }]));
    return {
      code: isWell ? 200 : 503,
      headers: { "content-type": "application/json", "x-content-type-options": "nosniff" },
      body: JSON.stringify({ lastUpdated: isWell ? now : written, currentTime: now, ...more, healthy, status }),
    };
  }
}
