// Keeps the ways to the other machines of the cluster as the Node objects say, and looks after them now and then.
import { Node } from "#api/core/v1/node.ts";
import type { Clock } from "#base/clock.ts";
import { equal } from "#base/collections.ts";
import { explain } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Component } from "#base/supervise.ts";
import type { Informers } from "#client/informers.ts";
import { type HomeMachine, type MachineNetwork, type PeerMachine, peersOf, stepsToPeers } from "./machine-network.ts";
import type { Stages } from "./network-step.ts";

export interface MachineRoutesOptions {
  readonly network: MachineNetwork;
  readonly home: HomeMachine;
  /** What else has to know the machines: packet rules, namespaces. */
  readonly more: (peers: readonly PeerMachine[]) => Stages;
  readonly informers: Informers;
  readonly apply: (stages: Stages, signal: AbortSignal) => Promise<void>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Changes within this time are applied together. */
const debounceMs = 50;
/** Somebody else may have removed what was there. */
const lookMs = 30_000;
const retryMs = 1_000;

export class MachineRoutes implements Component {
  readonly name = "machine-routes";
  readonly #options: MachineRoutesOptions;

  constructor(options: MachineRoutesOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { informers, clock, log } = this.#options;
    const nodes = informers.of(Node);
    let changed = Promise.withResolvers<void>();
    const stop = nodes.onChange(() => changed.resolve());
    let applied: readonly PeerMachine[] = [];
    try {
      await nodes.synced(signal);
      for (;;) {
        changed = Promise.withResolvers<void>();
        const peers = this.#peers();
        try {
          await this.#apply(applied, peers, signal);
          if (!equal(applied, peers)) log.info("the ways to other machines have changed", { machines: peers });
          applied = peers;
          const waiting = new AbortController();
          const either = AbortSignal.any([signal, waiting.signal]);
          await Promise.race([changed.promise, clock.sleep(lookMs, either)]).finally(() =>
            waiting.abort(new Error("woken")),
          );
          await clock.sleep(debounceMs, signal);
        } catch (error) {
          signal.throwIfAborted();
          log.error("the ways to other machines could not be changed; trying again", { error: explain(error) });
          await clock.sleep(retryMs, signal);
        }
      }
    } finally {
      stop();
    }
  }

  #peers(): readonly PeerMachine[] {
    const { informers, home, network } = this.#options;
    return peersOf([...informers.of(Node).cache.list()], home, network.address);
  }

  async #apply(before: readonly PeerMachine[], peers: readonly PeerMachine[], signal: AbortSignal): Promise<void> {
    const { network, more, apply } = this.#options;
    await apply(stepsToPeers(network, before, peers), signal);
    await apply(more(peers), signal);
  }
}
