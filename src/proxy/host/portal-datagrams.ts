// Carries datagrams: those of one sender go to one target, by a socket of their own at which the answers come in.
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import type { Clock } from "#base/clock.ts";
import type { PortalTarget } from "../forwarder.ts";
import { keyOf, type PortalChoice } from "../portal-choice.ts";
import type { OpenPortal } from "./forwarding.ts";

interface Flow {
  readonly socket: Socket;
  readonly target: PortalTarget;
  usedAt: number;
}

/** A flow ends when nothing has passed for so long, as the kernel forgets flows. */
const idleMs = 30_000;
/** A portal has so many flows at most; the one that was used first makes room. */
const mostFlows = 4_096;

export async function openDatagrams(choice: PortalChoice, clock: Clock): Promise<OpenPortal> {
  const isV6 = choice.portal.family === "IPv6";
  const portal = createSocket({ type: isV6 ? "udp6" : "udp4", ipv6Only: isV6 });
  const flows = new Flows(portal, choice, clock);
  const listening = once(portal, "listening");
  portal.bind(0, isV6 ? "::" : "0.0.0.0");
  await listening;
  portal.on("error", () => undefined); // of a datagram that was sent to someone who is gone
  portal.on("message", (bytes, from) => flows.carry(bytes, from));
  return {
    port: portal.address().port,
    follow: () => flows.follow(),
    close: () => {
      flows.close();
      portal.close();
    },
  };
}

class Flows {
  readonly #portal: Socket;
  readonly #choice: PortalChoice;
  readonly #clock: Clock;
  /** By the address and port of the sender. */
  readonly #flows = new Map<string, Flow>();
  #cancel: (() => void) | undefined;

  constructor(portal: Socket, choice: PortalChoice, clock: Clock) {
    this.#portal = portal;
    this.#choice = choice;
    this.#clock = clock;
  }

  carry(bytes: Uint8Array, from: { readonly address: string; readonly port: number }): void {
    const key = `${from.address} ${from.port}`;
    const flow = this.#flows.get(key) ?? this.#begin(key, from);
    if (!flow) return;
    flow.usedAt = this.#now;
    flow.socket.send(bytes, flow.target.port, flow.target.address);
  }

  get #now(): number {
    return this.#clock.now();
  }

  #begin(key: string, from: { readonly address: string; readonly port: number }): Flow | undefined {
    const target = this.#choice.choose(from.address);
    if (!target) return undefined;
    const socket = createSocket(this.#choice.portal.family === "IPv6" ? "udp6" : "udp4");
    const flow = { socket, target, usedAt: this.#now };
    socket.on("error", () => this.#end(key, flow));
    socket.on("message", (bytes, { address, port }) => {
      if (address !== target.address || port !== target.port) return; // nobody else is to answer for it
      flow.usedAt = this.#now;
      this.#portal.send(bytes, from.port, from.address);
    });
    this.#flows.set(key, flow);
    const [oldest] = this.#flows;
    if (this.#flows.size > mostFlows && oldest) this.#end(...oldest);
    this.#cancel ??= this.#clock.after(idleMs, () => this.#sweep());
    return flow;
  }

  #sweep(): void {
    this.#cancel = undefined;
    for (const [key, flow] of this.#flows) if (this.#now - flow.usedAt >= idleMs) this.#end(key, flow);
    if (this.#flows.size > 0) this.#cancel = this.#clock.after(idleMs, () => this.#sweep());
  }

  /** Flows to targets that are gone end: their senders begin new ones. */
  follow(): void {
    const present = new Set(this.#choice.portal.targets.map(keyOf));
    for (const [key, flow] of this.#flows) if (!present.has(keyOf(flow.target))) this.#end(key, flow);
  }

  #end(key: string, flow: Flow): void {
    if (this.#flows.get(key) !== flow) return;
    this.#flows.delete(key);
    flow.socket.close();
  }

  close(): void {
    this.#cancel?.();
    for (const [key, flow] of this.#flows) this.#end(key, flow);
  }
}
