// The agents of one node or of thousands, with one timer for all.

import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Component } from "#base/supervise.ts";
import { TimerQueue } from "#base/timer-queue.ts";
import { WorkerPool } from "../worker-pool.ts";
import type { NodeAgent } from "./node-agent.ts";

export interface NodeAgentsOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Agents that are due within this time of each other run together, so that timers fire less often. */
  readonly slackMs?: number;
  /** Called when a node has been registered. */
  readonly registered?: (agent: NodeAgent) => void;
}

/** Concurrent writes share a flush of the store. */
const workers = 64;

export class NodeAgents implements Component {
  readonly name = "nodes";
  readonly #options: NodeAgentsOptions;
  readonly #agents = new Set<NodeAgent>();
  readonly #timers: TimerQueue<NodeAgent>;
  readonly #workers: WorkerPool<NodeAgent>;

  constructor(options: NodeAgentsOptions) {
    this.#options = options;
    this.#timers = new TimerQueue(options.clock, (agent) => this.#workers.add(agent), options.slackMs);
    this.#workers = new WorkerPool({
      name: this.name,
      count: workers,
      work: (agent, signal) => this.#sync(agent, signal),
    });
  }

  /** Registers the node, and keeps it registered. */
  start(agent: NodeAgent): void {
    this.#agents.add(agent);
    this.#workers.add(agent);
  }

  /** Stops all updates of the node. */
  stop(agent: NodeAgent): void {
    this.#agents.delete(agent);
    this.#timers.delete(agent);
    this.#workers.delete(agent);
  }

  /** Runs the agent now. */
  wake(agent: NodeAgent): void {
    if (this.#agents.has(agent)) this.#workers.add(agent, "first");
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#workers.run(signal);
    } finally {
      this.#timers.stop();
    }
  }

  async #sync(agent: NodeAgent, signal: AbortSignal): Promise<void> {
    const wasRegistered = agent.isRegistered;
    let waitMs: number;
    try {
      waitMs = await agent.sync(signal);
    } catch (error) {
      if (signal.aborted) return;
      waitMs = agent.retryDelayMs();
      this.#options.log.warn("node was not updated", { node: agent.name, error: explain(error), retryMs: waitMs });
    }
    if (!wasRegistered && agent.isRegistered) this.#options.registered?.(agent);
    if (this.#agents.has(agent)) this.#timers.set(agent, waitMs);
  }
}
