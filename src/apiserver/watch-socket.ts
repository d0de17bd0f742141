// A watch over a WebSocket, which is how fabric8 and browsers ask for one: an event for each message, as text in JSON and as bytes in protobuf. Follows
// HandleWS in upstream's endpoints/handlers/watch.go.
import type { HttpRequest, HttpResponse } from "#wire/http.ts";
import {
  acceptWebSocket,
  offeredProtocols,
  refusal,
  sendMessages,
  type WebSocketMessage,
} from "#wire/streams/websocket.ts";

/** Clients of a watch have nothing to say. */
const messageLimit = 64 * 1024;

export class WatchSocket {
  readonly #http: HttpRequest;
  readonly #ended = new AbortController();
  /** Aborts when the client has gone or has closed the socket: nobody reads the events any longer. */
  readonly signal: AbortSignal;

  constructor(http: HttpRequest) {
    this.#http = http;
    this.signal = AbortSignal.any([http.signal, this.#ended.signal]);
  }

  /** Whatever subprotocol a client offers is confirmed to it, since it changes nothing. */
  async answer(messages: AsyncIterable<WebSocketMessage>): Promise<HttpResponse> {
    const { headers } = this.#http;
    const offered = offeredProtocols(headers);
    const answer =
      offered.length > 1
        ? refusal(400, "bad WebSocket-Protocol: a watch takes one at most")
        : await acceptWebSocket(headers, {
            protocols: offered.length === 0 ? [""] : offered,
            messageLimit,
            serve: (socket) => sendMessages(socket, messages, this.#ended),
          });
    if (!answer.upgraded) this.#ended.abort();
    return answer;
  }
}
