// How a webhook is reached: where it is, whose certificate it must show, and who we are to it. The bytes themselves are sent by
// `host/webhook-connections.ts`.
import { Unreachable } from "#serving/proxy/outgoing.ts";

/** Who the server is to a webhook. */
export interface WebhookCredentials {
  /** A client certificate and its key, in PEM. */
  readonly cert?: string;
  readonly key?: string;
  /** A value of the Authorization header. */
  readonly authorization?: string;
}

export interface WebhookTarget {
  /** Scheme, host, port and path; the host is whose certificate is expected. */
  readonly url: URL;
  /** The address to dial in place of the URL's host and port. */
  readonly dial?: { readonly address: string; readonly port: number };
  /** Authorities whose certificates are believed, in PEM; without it those that the machine believes. */
  readonly ca?: string;
  /** Whether any certificate is believed. */
  readonly trustsAny?: boolean;
  readonly credentials?: WebhookCredentials;
}

export interface WebhookPost {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** An answer that is longer is refused, and not read to its end. */
  readonly maxBytes: number;
}

export interface WebhookAnswer {
  readonly code: number;
  readonly contentType: string;
  readonly text: string;
}

export interface WebhookTransport {
  /** Answers whatever the other end answers; redirects are answers like any other. Throws Unreachable. */
  post(target: WebhookTarget, post: WebhookPost, signal: AbortSignal): Promise<WebhookAnswer>;
}

/** For servers that call nobody: tests, and tools that only store objects. */
export const noWebhooks: WebhookTransport = {
  async post({ url }) {
    throw new Unreachable(`this server has no way to ${url.host}`);
  },
};
