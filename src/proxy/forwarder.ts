// A process on the node that takes connections and datagrams for services, and carries them to endpoints.
import type { FrontendFamily } from "./frontends.ts";

/** What is taken at one port of the node goes to these targets in turn. */
export interface Portal {
  /** Names it for as long as it is open. */
  readonly key: string;
  readonly family: FrontendFamily;
  readonly protocol: "tcp" | "udp";
  readonly targets: readonly PortalTarget[];
  /** For how long a sender keeps the same target after its last connection. */
  readonly affinitySeconds?: number | undefined;
}

export interface PortalTarget {
  readonly address: string;
  readonly port: number;
}

export interface Forwarder {
  /** Opens those that are not open yet, and gives the others their new targets. Resolves with the ports of all, in the same order. */
  open(portals: readonly Portal[], signal: AbortSignal): Promise<readonly number[]>;
  /** Takes nothing more there; open connections go on. */
  close(keys: readonly string[], signal: AbortSignal): Promise<void>;
  /** Whether it still has the portals that it was told of. */
  readonly isRunning: boolean;
}
