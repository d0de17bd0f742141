// Node's parser knows a list of methods and refuses all others before anybody sees the request. All that is left is to say so, and to
// end the connection: where the next request would begin is not known.

import type { EventEmitter } from "node:events";
import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";

export interface WholeAnswer {
  readonly code: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function tellUnknownMethods(server: EventEmitter, answer: WholeAnswer): void {
  const methodNotKnown = asText(answer);
  server.on("clientError", (error: Error & { readonly code?: string }, socket: Duplex) => {
    // A handshake that failed or took too long comes here, too: there is no one to answer, and an answer would wait for it for ever.
    if (!isOfParser(error) || !socket.writable || isAnswering(socket)) socket.destroy();
    else socket.end(error.code === "HPE_INVALID_METHOD" ? methodNotKnown : usual(error.code));
  });
}

const isOfParser = ({ code = "" }: { readonly code?: string }): boolean =>
  code.startsWith("HPE_") || code === "ERR_HTTP_REQUEST_TIMEOUT";

/** Whether an answer is under way, which must not be mixed with another. Node's own handler of such errors looks there, too. */
const isAnswering = (socket: Duplex): boolean => Boolean(Reflect.get(socket, "_httpMessage"));

/** What Node answers where nobody listens. */
const usual = (code: string | undefined): string => {
  const status =
    code === "HPE_HEADER_OVERFLOW"
      ? 431
      : code === "HPE_CHUNK_EXTENSIONS_OVERFLOW"
        ? 413
        : code === "ERR_HTTP_REQUEST_TIMEOUT"
          ? 408
          : 400;
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n\r\n`;
};

function asText({ code, headers, body }: WholeAnswer): string {
  const lines = Object.entries({ ...headers, "content-length": String(Buffer.byteLength(body)), connection: "close" });
  return `HTTP/1.1 ${code} ${STATUS_CODES[code]}\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`;
}
