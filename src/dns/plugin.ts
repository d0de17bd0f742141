// A plugin of the DNS server: it answers a query, or asks the next one, and may change what that says.
import type { Answer, Packet } from "dns-packet";
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { MetricRegistry } from "#base/metrics.ts";
import type { Random } from "#base/random.ts";
import type { Directive } from "./corefile.ts";
import type { Directory } from "./directory.ts";
import type { DnsTransport } from "./message.ts";

export interface DnsQuery {
  /** In lower case, without its final dot; `.` is the root. */
  readonly name: string;
  readonly type: string;
  readonly transport: DnsTransport;
  /** As it came, with the name as it was written. */
  readonly packet: Packet;
  readonly client: string;
}

export interface DnsReply {
  /** A response code; 0 is success. */
  readonly code: number;
  readonly isAuthoritative: boolean;
  readonly answers: readonly Answer[];
  readonly authorities: readonly Answer[];
  readonly additionals: readonly Answer[];
  /** The answer of another server as it came, which is passed on as it is: it may have records that we do not know. */
  readonly raw?: Buffer;
}

export type DnsHandler = (query: DnsQuery) => Promise<DnsReply>;

export interface DnsPlugin {
  readonly name: string;
  handle?(query: DnsQuery, next: DnsHandler): Promise<DnsReply>;
  /** Called once its server answers. */
  started?(): void;
}

/** What plugins are made with. */
export interface DnsPluginContext {
  /** The zones of the server block. */
  readonly zones: readonly string[];
  /** What the cluster has. The first call begins to follow it. */
  readonly directory: () => Directory;
  /** Whether all of that is known; before, no name can be said not to exist. */
  readonly hasDirectory: () => boolean;
  /** Addresses of this DNS in the cluster. */
  readonly servers: readonly string[];
  /** Resolves a name through the whole server, as a client would. */
  readonly lookup: DnsHandler;
  /** One server that queries are sent to. */
  readonly upstream: (server: string) => (query: Uint8Array, transport: DnsTransport) => Promise<Uint8Array>;
  readonly readText: (path: string) => string;
  /** Ends the program with this problem. */
  readonly fatal: (problem: Error) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: MetricRegistry;
}

export interface PluginType {
  readonly name: string;
  /** Throws CorefileError. */
  make(directive: Directive, context: DnsPluginContext): DnsPlugin;
}

export const emptyReply = (code: number, authorities: readonly Answer[] = []): DnsReply => ({
  code,
  isAuthoritative: false,
  answers: [],
  authorities,
  additionals: [],
});
