// When each node was last heard of. Kubelets say that they live by renewing a lease and by posting their status; what counts is
// when that was seen here, by the clock that does not jump: clocks of machines differ.
// Upstream: pkg/controller/nodelifecycle/node_lifecycle_controller.go.

import type { Lease } from "#api/coordination/v1/lease.ts";
import type { Node, NodeCondition } from "#api/core/v1/node.ts";
import type { Clock } from "#base/clock.ts";
import { conditionIn } from "#rules/conditions.ts";
import { millisOf } from "#schema/time.ts";

export const readyCondition = ({ status }: Node): NodeCondition | undefined => conditionIn(status.conditions, "Ready");

export interface Grace {
  /** How long a node may be silent. */
  readonly monitorMs: number;
  /** How long one may take to post its first status. */
  readonly startupMs: number;
}

interface Heartbeat {
  readonly at: number;
  /** Of the Ready condition; undefined if there was none. */
  readonly heartbeat: string | undefined;
  readonly renewed: string;
}

export class Health {
  readonly #heard = new Map<string, Heartbeat>();

  isKnown(node: string): boolean {
    return this.#heard.has(node);
  }

  /** Takes in the lease and status of the node; returns for how many milliseconds it may stay silent from now. */
  look(node: Node, lease: Lease | undefined, grace: Grace, clock: Clock): number {
    const { name = "" } = node.metadata;
    const now = clock.elapsed();
    const ready = readyCondition(node);
    const heartbeat = ready && (ready.lastHeartbeatTime ?? "");
    const renewed = lease?.spec.renewTime ?? "";
    const last = this.#heard.get(name) ?? { at: ready ? now : createdAt(node, clock), heartbeat, renewed: "" };
    const isNews = heartbeat !== last.heartbeat || renewed > last.renewed;
    const heard = { at: isNews ? now : last.at, heartbeat, renewed: renewed > last.renewed ? renewed : last.renewed };
    this.#heard.set(name, heard);
    return heard.at + (ready ? grace.monitorMs : grace.startupMs) - now;
  }

  forget(node: string): void {
    this.#heard.delete(node);
  }

  /** Restarts the grace period of every node: after an outage of ours or of the network, the silence of nodes means nothing. */
  restart(clock: Clock): void {
    const at = clock.elapsed();
    for (const [node, heard] of this.#heard) this.#heard.set(node, { ...heard, at });
  }
}

function createdAt({ metadata }: Node, clock: Clock): number {
  const ageMs = metadata.creationTimestamp === undefined ? 0 : clock.now() - millisOf(metadata.creationTimestamp);
  return clock.elapsed() - Math.max(0, ageMs);
}
