// One HTTP/2 connection to a server, opened on demand and reopened after a failure. A connection whose pings are not answered is closed,
// so that pending requests fail: networks drop connections silently.
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type OutgoingHttpHeaders,
} from "node:http2";
import type { SecureContextOptions } from "node:tls";
import type { Clock } from "#base/clock.ts";
import { trustAsGo } from "#wire/host/trust.ts";
import { ConnectionLost } from "../connection-lost.ts";

export interface ClientTlsOptions extends Pick<SecureContextOptions, "ca" | "cert" | "key"> {
  /** Which name the server's certificate must be for; defaults to the host's. */
  readonly serverName?: string;
  /** Takes any certificate. */
  readonly insecure?: boolean;
  /** What to show instead of `cert`, asked for each connection. */
  readonly pair?: () => ClientPair | undefined;
}

/** A client's certificate and its key, in PEM. */
export interface ClientPair {
  readonly cert: string;
  readonly key: string;
}

const pingEveryMs = 30_000;
const pingLimitMs = 15_000;

export class Http2Session {
  readonly #authorityNow: () => string;
  readonly #tls: ClientTlsOptions;
  readonly #clock: Clock;
  #session: ClientHttp2Session | undefined;

  constructor(authority: () => string, tls: ClientTlsOptions, clock: Clock) {
    this.#authorityNow = authority;
    this.#tls = tls;
    this.#clock = clock;
  }

  /** A new stream. Throws ConnectionLost if there is no way to send it. */
  request(headers: OutgoingHttpHeaders, endStream: boolean): ClientHttp2Stream {
    try {
      return this.#open().request(headers, { endStream });
    } catch (cause) {
      this.#session = undefined;
      throw new ConnectionLost(`send a request to ${this.#authorityNow()}`, { cause });
    }
  }

  /** What is under way goes on; what comes goes over a new connection. */
  reconnect(): void {
    this.#session?.close();
    this.#session = undefined;
  }

  close(): void {
    this.#session?.close();
    this.#session?.destroy();
    this.#session = undefined;
  }

  #open(): ClientHttp2Session {
    const present = this.#session;
    if (present && !present.closed && !present.destroyed) return present;
    const { ca, serverName, insecure = false } = this.#tls;
    const { cert, key } = this.#tls.pair?.() ?? this.#tls;
    const session = connect(this.#authorityNow(), {
      ...(ca !== undefined && { ca }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
      ...(serverName !== undefined && { servername: serverName }),
      rejectUnauthorized: !insecure,
      ...trustAsGo,
      minVersion: "TLSv1.2",
      settings: { enablePush: false, initialWindowSize: 1024 * 1024 },
    });
    session.on("connect", () => session.setLocalWindowSize(16 * 1024 * 1024));
    const forget = () => {
      if (this.#session === session) this.#session = undefined;
    };
    // The streams of a session report its errors; here they only end its use.
    session.on("error", forget);
    session.on("goaway", forget);
    session.on("close", forget);
    this.#keepAlive(session);
    this.#session = session;
    return session;
  }

  #keepAlive(session: ClientHttp2Session): void {
    let cancel: () => void = () => undefined;
    const ping = () => {
      if (session.closed || session.destroyed || session.connecting) return;
      cancel = this.#clock.after(pingLimitMs, () =>
        session.destroy(new Error(`no answer for ${pingLimitMs} ms`), constants.NGHTTP2_CANCEL),
      );
      session.ping((error) => {
        cancel();
        if (!error) cancel = this.#clock.after(pingEveryMs, ping);
      });
    };
    session.on("connect", () => {
      cancel = this.#clock.after(pingEveryMs, ping);
    });
    session.on("close", () => cancel());
  }
}
