// Syslog over UDP, TCP and TLS. The protocol knows no acknowledgement: a line counts as taken when the kernel has taken it.
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { connect, isIPv6, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { framed, syslogMessage } from "../formats/syslog.ts";
import type { LogOutput } from "../output.ts";
import type { OutputSettings } from "../settings.ts";

type SyslogSettings = Extract<OutputSettings, { readonly type: "syslog" }>;

const usualPorts: Readonly<Record<string, number>> = { "udp:": 514, "tcp:": 601, "tls:": 6514 };
/** What fits into a datagram in any case, and what receivers over TCP usually bear. */
const maxBytes = { datagram: 8192, stream: 64 * 1024 };
const patienceMs = 10_000;

export function syslogOutput(settings: SyslogSettings, ca: string | undefined): LogOutput {
  const { url } = settings;
  const place = {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? (usualPorts[url.protocol] ?? 514) : Number(url.port),
  };
  const name = `syslog at ${url.host}`;
  return url.protocol === "udp:"
    ? datagrams(name, place, settings.facility)
    : stream(name, settings, () => (url.protocol === "tls:" ? secured(place, ca) : connect(place)));
}

interface Place {
  readonly host: string;
  readonly port: number;
}

const secured = (place: Place, ca: string | undefined): Socket =>
  connectTls({ ...place, servername: place.host, ...(ca !== undefined && { ca }) });

function datagrams(name: string, { host, port }: Place, facility: number): LogOutput {
  const socket = createSocket(isIPv6(host) ? "udp6" : "udp4");
  socket.on("error", () => undefined); // what is sent fails by itself
  socket.unref();
  return {
    name,
    async send(lines, signal) {
      for (const line of lines) {
        signal.throwIfAborted();
        const message = syslogMessage(line, { facility, maxBytes: maxBytes.datagram });
        const sent = Promise.withResolvers<void>();
        socket.send(message, port, host, (error) => (error ? sent.reject(error) : sent.resolve()));
        await sent.promise;
      }
      return {};
    },
    close: () => socket.close(),
  };
}

function stream(name: string, { facility, url }: SyslogSettings, open: () => Socket): LogOutput {
  let socket: Socket | undefined;
  const connected = async (signal: AbortSignal): Promise<Socket> => {
    if (socket?.writable) return socket;
    socket?.destroy();
    const fresh = open();
    socket = fresh;
    fresh.on("error", () => undefined); // whoever writes is told
    fresh.on("end", () => fresh.destroy());
    fresh.resume();
    await once(fresh, url.protocol === "tls:" ? "secureConnect" : "connect", { signal });
    return fresh;
  };
  return {
    name,
    async send(lines, signal) {
      const limited = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]);
      try {
        const to = await connected(limited);
        const messages = lines.map((line) => framed(syslogMessage(line, { facility, maxBytes: maxBytes.stream })));
        const written = Promise.withResolvers<void>();
        const failed = (error?: Error | null) => written.reject(error ?? new Error("the connection was closed"));
        const closed = () => failed();
        const abort = () => failed(limited.reason instanceof Error ? limited.reason : undefined);
        limited.addEventListener("abort", abort, { once: true });
        to.once("close", closed);
        to.write(Buffer.concat(messages), (error) => (error ? failed(error) : written.resolve()));
        try {
          await written.promise;
        } finally {
          limited.removeEventListener("abort", abort);
          to.off("close", closed);
        }
        return {};
      } catch (error) {
        // A message that was written in part must not go on in the next try.
        socket?.destroy();
        throw error;
      }
    },
    close: () => socket?.destroy(),
  };
}
