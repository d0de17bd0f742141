// Carries connections and datagrams in this process, from ports of the network namespace that it runs in.
import type { Socket } from "node:net";
import type { Clock } from "#base/clock.ts";
import type { Forwarder, Portal } from "../forwarder.ts";
import { PortalChoice } from "../portal-choice.ts";
import { openDatagrams } from "./portal-datagrams.ts";
import { openStreams } from "./portal-streams.ts";

/** A portal that takes traffic at a port of its own. */
export interface OpenPortal {
  readonly port: number;
  /** Called when the targets have changed. */
  follow(): void;
  /** Takes nothing more; connections go on. */
  close(): void;
}

export class Forwarding implements Forwarder {
  readonly isRunning = true;
  readonly #clock: Clock;
  readonly #open = new Map<string, { readonly choice: PortalChoice; readonly portal: OpenPortal }>();

  /** Open connections, also those of portals that are closed. */
  readonly #connections = new Set<Socket>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async open(portals: readonly Portal[]): Promise<readonly number[]> {
    const ports: number[] = [];
    for (const wanted of portals) {
      const present = this.#open.get(wanted.key);
      if (present) {
        present.choice.update(wanted);
        present.portal.follow();
      }
      const { portal } = present ?? (await this.#make(wanted));
      ports.push(portal.port);
    }
    return ports;
  }

  async #make(wanted: Portal) {
    const choice = new PortalChoice(wanted, this.#clock);
    const portal = await (wanted.protocol === "udp"
      ? openDatagrams(choice, this.#clock)
      : openStreams(choice, this.#connections));
    const made = { choice, portal };
    this.#open.set(wanted.key, made);
    return made;
  }

  /** Ends everything, connections included. */
  end(): void {
    for (const { portal } of this.#open.values()) portal.close();
    this.#open.clear();
    for (const connection of this.#connections) connection.destroy();
  }

  async close(keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      this.#open.get(key)?.portal.close();
      this.#open.delete(key);
    }
  }
}
