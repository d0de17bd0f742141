// How much, how many and how long: what a client may take of the server before it is let go.
import { readFileSync } from "node:fs";

export interface FrontLimits {
  /** The largest body that is read as a whole, and how long it may take to arrive. */
  readonly bodyBytes: number;
  readonly bodyMs: number;
  readonly headerBytes: number;
  readonly headerPairs: number;
  /** How long a client may take for the TLS handshake, and over HTTP/1.1 for the headers of a request. Go knows one time for both. */
  readonly handshakeMs: number;
  readonly headersMs: number;
  /** How long a connection may stay open without anything happening on it. */
  readonly idleMs: number;
  /** How many streams at a time one HTTP/2 connection may have, and how many it may cancel at once and per second. */
  readonly streams: number;
  readonly resets: number;
  readonly resetsPerSecond: number;
  /**
   * What one HTTP/2 connection may hold that its client has not read yet, before new streams are refused. Node's 10 are too few: clients
   * put all they do on one connection, and a few large answers at once would make it refuse the next small one.
   */
  readonly sessionMebibytes: number;
  /** How many connections at a time; those beyond are dropped as they come. Undefined is as many as the machine bears. */
  readonly connections: number | undefined;
}

/** Times and sizes are upstream's, but for headers: it reads 1 MiB of them. */
export const usualLimits = (): FrontLimits => ({
  bodyBytes: 3 * 1024 * 1024,
  bodyMs: 60_000,
  headerBytes: 64 * 1024,
  headerPairs: 200,
  handshakeMs: 32_000,
  headersMs: 32_000,
  idleMs: 90_000,
  streams: 1000,
  resets: 1000,
  resetsPerSecond: 33,
  sessionMebibytes: 128,
  connections: connectionsOfFiles(),
});

/** Left for all that is not a connection of a client: the store, kubelets, certificates. */
const otherFiles = 256;

/** Each connection is an open file; who has none left can serve nobody. */
function connectionsOfFiles(): number | undefined {
  try {
    const limit = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1];
    return limit === undefined ? undefined : Math.max(Number(limit) - otherFiles, Math.ceil(Number(limit) / 2));
  } catch {
    return undefined; // only Linux tells
  }
}
