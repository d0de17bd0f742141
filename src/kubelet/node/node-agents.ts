// The agents of one node or of thousands, with one timer for all.

import { Alarm } from "#base/alarm.ts";
import type { Clock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Component } from "#base/supervise.ts";
import { Lanes } from "../lanes.ts";
import type { NodeAgent } from "./node-agent.ts";

export interface NodeAgentsOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** Agents that are due within this of each other act together: a group wakes up seldom. */
  readonly slackMs?: number;
  /** Called when a node has been registered. */
  readonly registered?: (agent: NodeAgent) => void;
}

/** What they write at once shares a flush. */
const lanes = 64;

export class NodeAgents implements Component {
  readonly name = "nodes";
  readonly #options: NodeAgentsOptions;
  readonly #agents = new Set<NodeAgent>();
  readonly #alarm: Alarm<NodeAgent>;
  readonly #lanes: Lanes<NodeAgent>;

  constructor(options: NodeAgentsOptions) {
    this.#options = options;
    this.#alarm = new Alarm(options.clock, (agent) => this.#lanes.add(agent), options.slackMs);
    this.#lanes = new Lanes({ name: this.name, count: lanes, work: (agent, signal) => this.#act(agent, signal) });
  }

  /** The node lives from now on. */
  start(agent: NodeAgent): void {
    this.#agents.add(agent);
    this.#lanes.add(agent);
  }

  /** Nothing is heard of the node any more. */
  stop(agent: NodeAgent): void {
    this.#agents.delete(agent);
    this.#alarm.delete(agent);
    this.#lanes.delete(agent);
  }

  /** Tells at once what the agent has to tell. */
  poke(agent: NodeAgent): void {
    if (this.#agents.has(agent)) this.#lanes.add(agent, "first");
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#lanes.run(signal);
    } finally {
      this.#alarm.stop();
    }
  }

  async #act(agent: NodeAgent, signal: AbortSignal): Promise<void> {
    const wasRegistered = agent.isRegistered;
    let waitMs: number;
    try {
      waitMs = await agent.act(signal);
    } catch (error) {
      if (signal.aborted) return;
      waitMs = agent.failed();
      this.#options.log.warn("node was not updated", { node: agent.name, error: explain(error), retryMs: waitMs });
    }
    if (!wasRegistered && agent.isRegistered) this.#options.registered?.(agent);
    if (this.#agents.has(agent)) this.#alarm.set(agent, waitMs);
  }
}
