// Connections to webhooks. Those of one authority and one identity share an agent, which keeps connections for the next call.
import { checkServerIdentity, getCACertificates, type PeerCertificate } from "node:tls";
import { Lru } from "#client/lru.ts";
import { OutgoingConnections } from "#serving/host/outgoing-connections.ts";
import { bytesOf } from "#serving/proxy/body.ts";
import { Unreachable } from "#serving/proxy/outgoing.ts";
import type { HttpResponse } from "#wire/http.ts";
import type { WebhookAnswer, WebhookPost, WebhookTarget, WebhookTransport } from "../webhook/transport.ts";

/** As many as upstream keeps clients. */
const agents = 200;

export interface WebhookConnections extends WebhookTransport {
  /** Drops the connections that wait to be used again. */
  close(): void;
}

export function webhookConnections(): WebhookConnections {
  const pools = new Lru<OutgoingConnections>(agents);
  let system: readonly string[] | undefined;

  const made = ({ url, ca, trustsAny, credentials }: WebhookTarget): OutgoingConnections => {
    if (url.protocol === "http:") return new OutgoingConnections();
    system ??= getCACertificates("system");
    const authorities = ca ?? (system.length > 0 ? [...system] : undefined);
    return new OutgoingConnections({
      ...(authorities && { ca: authorities }),
      ...(credentials?.cert && { cert: credentials.cert }),
      ...(credentials?.key && { key: credentials.key }),
      rejectUnauthorized: trustsAny !== true,
      checkServerIdentity: namedByExtension,
    });
  };
  const connectionsTo = (target: WebhookTarget): OutgoingConnections => {
    const { url, ca = "", trustsAny = false, credentials } = target;
    const key = JSON.stringify([url.protocol, ca, trustsAny, credentials?.cert, credentials?.key]);
    const present = pools.get(key) ?? made(target);
    pools.set(key, present);
    return present;
  };

  return {
    async post(target, post, signal) {
      try {
        return await postOnce(connectionsTo(target), target, post, signal);
      } catch (error) {
        // A webhook may close a connection while we begin to use it again. Go's client tries once more then, too.
        if (!(error instanceof Unreachable && error.wasIdle)) throw error;
        return postOnce(connectionsTo(target), target, post, signal);
      }
    },
    close() {
      for (const connections of pools.values()) connections.close();
    },
  };
}

/** Node also takes the common name of a certificate without alternative names; Go, and so upstream, has stopped to. */
function namedByExtension(host: string, certificate: PeerCertificate): Error | undefined {
  if (certificate.subjectaltname) return checkServerIdentity(host, certificate);
  return new Error(
    "tls: failed to verify certificate: x509: certificate relies on legacy Common Name field, use SANs instead",
  );
}

async function postOnce(
  connections: OutgoingConnections,
  { url, dial }: WebhookTarget,
  { path, headers, body, maxBytes }: WebhookPost,
  signal: AbortSignal,
): Promise<WebhookAnswer> {
  const bytes = Buffer.from(body);
  const ended = new AbortController();
  const response = await connections.send(
    {
      host: url.hostname.replace(/^\[|\]$/g, ""),
      port: dial?.port ?? Number(url.port || (url.protocol === "http:" ? 80 : 443)),
      ...(dial && { dialAddress: dial.address }),
    },
    {
      method: "POST",
      url: path,
      headers: { ...headers, "content-length": String(bytes.length) },
      content: once(bytes),
      signal: AbortSignal.any([signal, ended.signal]),
    },
  );
  const text = await bounded(response, maxBytes, signal);
  // The rest of an answer that is too long is not waited for.
  if (text === undefined) {
    ended.abort(new Error("the answer is too long"));
    throw new Unreachable(`the answer is longer than ${maxBytes} bytes`);
  }
  const type = response.headers?.["content-type"];
  return { code: response.code, contentType: typeof type === "string" ? type : "", text };
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

async function bounded({ body }: HttpResponse, maxBytes: number, signal: AbortSignal): Promise<string | undefined> {
  const parts: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const part of bytesOf(body)) {
      size += part.length;
      if (size > maxBytes) return undefined;
      parts.push(part);
    }
  } catch (cause) {
    if (signal.aborted) throw signal.reason;
    throw new Unreachable("unexpected error when reading response body. Please retry. Original error: unexpected EOF", {
      cause,
    });
  }
  return Buffer.concat(parts).toString();
}
