// Forwards queries for names outside of the cluster to the resolvers of the machine, one after the other until one answers.
import { createSocket, type Socket } from "node:dgram";
import { connect, isIP } from "node:net";
import type { Clock } from "#base/clock.ts";
import type { Random } from "#base/random.ts";
import type { DnsTransport } from "../message.ts";

export interface ForwarderOptions {
  /** `10.0.0.2`, `fd00::2`, `10.0.0.2:5353` or `[fd00::2]:5353`. */
  readonly servers: readonly string[];
  readonly clock: Clock;
  readonly random: Random;
  readonly waitMs?: number;
}

const rounds = 2;

export function forwarder({ servers, clock, random, waitMs = 2_000 }: ForwarderOptions) {
  const addresses = servers.map(parseServer);
  return async (query: Uint8Array, transport: DnsTransport): Promise<Uint8Array> => {
    const failures: string[] = [];
    for (let round = 0; round < rounds; round++)
      for (const server of addresses) {
        const ask = transport === "tcp" ? queryByTcp : queryByUdp;
        try {
          return await withDeadline(clock, waitMs, (signal) => ask(server, withRandomId(query, random), signal));
        } catch (error) {
          failures.push(`${server.host}: ${error instanceof Error ? error.message : String(error)}`);
        }
      }
    throw new Error(`no resolver answers: ${failures.join("; ") || "there is none"}`);
  };
}

interface ServerAddress {
  readonly host: string;
  readonly port: number;
}

function parseServer(text: string): ServerAddress {
  if (isIP(text) !== 0) return { host: text, port: 53 };
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]+)):(\d+)$/.exec(text) ?? [];
  const host = bracketed ?? plain ?? "";
  if (isIP(host) === 0) throw new Error(`resolver ${JSON.stringify(text)} is no address`);
  return { host, port: Number(port) };
}

/** A random query id, so that answers cannot be forged. */
function withRandomId(query: Uint8Array, random: Random): Buffer {
  const copy = Buffer.from(query);
  copy.set(random.bytes(2), 0);
  return copy;
}

async function withDeadline<T>(clock: Clock, ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const late = new AbortController();
  const cancel = clock.after(ms, () => late.abort(new Error(`no answer within ${ms} ms`)));
  try {
    return await work(late.signal);
  } finally {
    cancel();
  }
}

function queryByUdp({ host, port }: ServerAddress, query: Buffer, signal: AbortSignal): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const socket: Socket = createSocket(isIP(host) === 6 ? "udp6" : "udp4");
  socket.once("error", reject);
  socket.on("message", (answer, from) => {
    // A connected socket would do the same, but cannot be made in one step.
    if (from.port === port && answer.length >= 12 && answer.readUInt16BE(0) === query.readUInt16BE(0)) resolve(answer);
  });
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  socket.send(query, port, host);
  return promise.finally(() => socket.close());
}

function queryByTcp({ host, port }: ServerAddress, query: Buffer, signal: AbortSignal): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const length = Buffer.alloc(2);
  length.writeUInt16BE(query.length);
  const socket = connect({ host, port, signal }, () => socket.write(Buffer.concat([length, query])));
  let got = Buffer.alloc(0);
  socket.on("data", (bytes: Buffer) => {
    got = Buffer.concat([got, bytes]);
    if (got.length >= 2 && got.length >= 2 + got.readUInt16BE(0)) resolve(got.subarray(2, 2 + got.readUInt16BE(0)));
  });
  socket.once("error", reject);
  socket.once("close", () => reject(new Error("the connection was closed")));
  return promise.finally(() => socket.destroy());
}
