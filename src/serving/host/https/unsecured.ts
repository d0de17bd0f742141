// HTTP/1.1 without TLS, for programs on the same machine. Who can connect is believed, so it must be sure that it is a program that
// connects, and on purpose: not a page in a browser, which may reach local ports, or be led there by a name that changes its address.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

export interface UnsecuredHandlers {
  request(message: IncomingMessage, response: ServerResponse): void;
  upgrade(message: IncomingMessage, socket: Duplex, head: Buffer): void;
}

export function unsecuredServer(limits: object, handlers: UnsecuredHandlers): Server {
  return createServer(limits)
    .on("request", (message, response) => {
      const why = refusal(message);
      if (why === undefined) return handlers.request(message, response);
      response.writeHead(403, { "content-type": "text/plain; charset=utf-8", connection: "close" });
      response.end(`${why}\n`);
    })
    .on("upgrade", (message, socket, head) => {
      const why = refusal(message);
      if (why === undefined) return handlers.upgrade(message, socket, head);
      socket.end(`HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Type: text/plain\r\n\r\n${why}\n`);
    });
}

const localHosts = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i;

function refusal({ headers, socket }: IncomingMessage): string | undefined {
  if (!isLoopback(socket.remoteAddress ?? "")) return "the insecure port serves this machine only";
  if (!localHosts.test(headers.host ?? "")) return `the insecure port is not called ${JSON.stringify(headers.host)}`;
  const isPage = headers.origin !== undefined || (headers["sec-fetch-site"] ?? "none") !== "none";
  return isPage ? "the insecure port does not serve pages" : undefined;
}

export const isLoopback = (address: string): boolean =>
  /^(127(\.\d{1,3}){3}|::1|::ffff:127(\.\d{1,3}){3})$/.test(address);
