// Deletes pods that nobody else deletes: pods of nodes that are gone, pods that are being deleted without ever having had a node, and the
// oldest of too many finished pods.
// Upstream: pkg/controller/podgc/gc_controller.go.

import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import type { Clock } from "#base/clock.ts";
import { inBatches } from "#base/collections.ts";
import { isNotFound } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Component } from "#base/supervise.ts";
import type { Client } from "#client/client.ts";
import type { Informers } from "#client/informers.ts";
import { hasEnded } from "#rules/pods.ts";
import { timeOf } from "#schema/time.ts";
import { condemned, type PodDeletion } from "./condemned.ts";

const everyMs = 20_000;
/** A node is given this long to come back, or to be seen. */
const quarantineMs = 40_000;
const deletionsAtOnce = 20;

export interface PodGarbageCollectorOptions {
  readonly client: Client;
  readonly informers: Informers;
  readonly clock: Clock;
  readonly log: Log;
  /** How many pods that have ended are kept; 0 for all. Upstream keeps 12,500. */
  readonly terminatedPodThreshold: number;
}

export class PodGarbageCollector implements Component {
  readonly name = "pod-garbage-collector";
  readonly #options: PodGarbageCollectorOptions;
  /** Since when, by the clock that does not jump, a node is missing that pods are assigned to. */
  readonly #missing = new Map<string, number>();

  constructor(options: PodGarbageCollectorOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { informers, clock } = this.#options;
    await Promise.all([informers.of(Pod).synced(signal), informers.of(Node).synced(signal)]);
    const client = this.#options.client.bound({ signal });
    for (;;) {
      await this.#sweep(client, signal);
      await clock.sleep(everyMs, signal);
    }
  }

  async #sweep(client: Client, signal: AbortSignal): Promise<void> {
    const { informers, terminatedPodThreshold: threshold, log } = this.#options;
    const pods = informers.of(Pod).cache.list();
    const nodes = new Map(
      informers
        .of(Node)
        .cache.list()
        .map((node) => [node.metadata.name, node]),
    );
    const lostNodes = await this.#lostNodes(pods, nodes, client, signal);
    await inBatches(deletionsAtOnce, condemned({ pods, nodes, lostNodes, threshold }), async (one) => {
      const { namespace, name } = one.pod.metadata;
      try {
        await this.#clear(one, client);
        log.info("pod cleared away", { namespace, name, reason: one.reason });
      } catch (error) {
        if (signal.aborted) throw error;
        log.warn("pod not cleared away", { namespace, name, reason: one.reason, error });
      }
    });
  }

  /** Nodes that have been missing for long enough, and that the server does not know either. */
  async #lostNodes(
    pods: readonly Pod[],
    nodes: ReadonlyMap<string, Node>,
    client: Client,
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>> {
    const { clock, log } = this.#options;
    const now = clock.elapsed();
    const assigned = new Set(pods.flatMap(({ spec }) => (spec.nodeName ? [spec.nodeName] : [])));
    for (const name of this.#missing.keys()) if (nodes.has(name) || !assigned.has(name)) this.#missing.delete(name);
    const lost = new Set<string>();
    for (const name of assigned) {
      if (nodes.has(name)) continue;
      const since = this.#missing.get(name) ?? now;
      this.#missing.set(name, since);
      if (now - since < quarantineMs) continue;
      try {
        if ((await client.find(Node, { name })) === undefined) lost.add(name);
      } catch (error) {
        if (signal.aborted) throw error;
        log.warn("node not looked up", { name, error });
      }
    }
    return lost;
  }

  /** A pod that no kubelet looks after any more never reports its end: it is marked as failed before it goes. */
  async #clear({ pod, reason }: PodDeletion, client: Client): Promise<void> {
    const { namespace, name, uid } = pod.metadata;
    try {
      if (!hasEnded(pod)) {
        const conditions = reason === "orphaned" ? [disruption(this.#options.clock.now())] : [];
        const status = { phase: "Failed", ...(conditions.length > 0 && { conditions }) };
        await client.patch(
          Pod,
          { namespace, name },
          "strategic",
          { metadata: { uid }, status },
          { subresource: "status" },
        );
      }
      await client.delete(Pod, { namespace, name }, { graceSeconds: 0, preconditions: { uid: uid ?? "" } });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

const disruption = (now: number) => ({
  type: "DisruptionTarget",
  status: "True",
  reason: "DeletionByPodGC",
  message: "PodGC: node no longer exists",
  lastTransitionTime: timeOf(now),
});
