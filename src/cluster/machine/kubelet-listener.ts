// The port of a kubelet: HTTPS on the node's address, for clients whom the API server authenticates and authorizes.
import type { Clock } from "#base/clock.ts";
import { ApiError } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Component } from "#base/supervise.ts";
import type { Client } from "#client/client.ts";
import { rightsFor } from "#kubelet/server/rights.ts";
import type { KubeletServer } from "#kubelet/server/server.ts";
import { anonymousUser } from "#serving/authentication.ts";
import { type Delegation, delegation } from "#serving/delegated-access.ts";
import { certificateAuthenticator } from "#serving/host/certificate-authenticator.ts";
import { httpsFront } from "#serving/host/https/front.ts";
import type { HttpHandler, HttpResponse } from "#wire/http.ts";
import type { Certificates, KeyPair } from "../certificates.ts";
import * as identities from "../identities.ts";
import { LiveCertificates } from "../live-certificates.ts";
import { type NodeLocation, thisMachine } from "./node-location.ts";

export interface KubeletAccessOptions {
  readonly node: string;
  readonly handle: KubeletServer;
  /** Acts as the node; sends the reviews that authenticate and authorize clients. */
  readonly client: Client;
  /** Whether those who show nothing are asked for as system:anonymous; otherwise, as by default, they are refused. */
  readonly servesAnonymous?: boolean;
  /** Whether all who are known may do everything; the API server is asked by default. */
  readonly allowsAll?: boolean;
  readonly clock: Clock;
  readonly log: Log;
}

export interface KubeletListenerOptions extends KubeletAccessOptions {
  /** Where to listen; defaults to this machine. */
  readonly location?: NodeLocation;
  readonly address: string;
  readonly port: number;
  /** Serving certificate, in PEM; asked for again while it serves, since certificates end. */
  readonly certificate: () => KeyPair;
  /** Files whose change has it asked for at once, not within a minute. */
  readonly certificateFiles?: readonly string[];
  /** Authority of client certificates, in PEM; without it only tokens are believed. */
  readonly clientCa: string | undefined;
}

/** Cache TTLs of reviews, as upstream's defaults for a kubelet's webhooks. */
const delegationTtls = { tokenMs: 2 * 60_000, allowedMs: 5 * 60_000, deniedMs: 30_000 };
const closeMs = 2000;

export interface KubeletListener extends Component {
  /** The port once it listens; rejects if it cannot. */
  readonly listening: Promise<number>;
}

export function kubeletListener(options: KubeletListenerOptions): KubeletListener {
  const { certificate, clientCa, clock, log, location = thisMachine } = options;
  const listening = Promise.withResolvers<number>();
  listening.promise.catch(() => undefined); // `run` says it as well
  return {
    name: `kubelet port of ${options.node}`,
    listening: listening.promise,
    async run(signal) {
      const live = new LiveCertificates({ read: certificate, files: options.certificateFiles ?? [], clock, log });
      const front = httpsFront({ ...live.current, clientCa, handler: guardedKubelet(options), log });
      live.subscribe((now) => front.renew({ ...now, clientCa }));
      try {
        const port = await location.listen(front, { host: options.address, port: options.port }, signal);
        listening.resolve(port);
        log.info("serving", { node: options.node, address: options.address, port });
      } catch (error) {
        listening.reject(error);
        throw error;
      }
      await live.run(signal);
      await front.close(closeMs);
    },
  };
}

/** The certificate of a node's port, signed by the cluster's authority, for the node's name and addresses. */
export const kubeletCertificate = (certificates: Certificates, node: string, addresses: readonly string[]): KeyPair =>
  certificates.issue(`kubelet-${node}`, { ...identities.node(node), hosts: [...new Set([node, ...addresses])] });

/** Refuses unauthorized requests with upstream's messages, and passes all others to the kubelet. */
export function guardedKubelet(options: KubeletAccessOptions): HttpHandler {
  const { handle, client, clock, log } = options;
  const authenticators = [certificateAuthenticator(clock)];
  const access = delegation({ client, authenticators, clock, log, ...delegationTtls });
  return async (request) => {
    const refused = await refusalOf(access, request, options);
    if (refused) return refused;
    const { method, url, headers, signal } = request;
    return handle({ method, url, headers, signal });
  };
}

async function refusalOf(
  { identify, authorize }: Delegation,
  request: Parameters<HttpHandler>[0],
  { node: name, servesAnonymous = false, allowsAll = false, log }: KubeletAccessOptions,
): Promise<HttpResponse | undefined> {
  let user: Awaited<ReturnType<Delegation["identify"]>>;
  try {
    user = await identify(request);
  } catch (error) {
    if (error instanceof ApiError && error.code === 429) return text(429, error.message);
    if (!(error instanceof ApiError && error.code === 401)) log.error("cannot tell who asks", { error });
    return text(401, "Unauthorized");
  }
  if (user === anonymousUser && !servesAnonymous) return text(401, "Unauthorized");
  if (allowsAll) return undefined;
  const { verb, subresources } = rightsFor(request.method, request.path);
  for (const subresource of subresources) {
    const resourceAttributes = { verb, group: "", version: "v1", resource: "nodes", subresource, name };
    try {
      if ((await authorize(user, { resourceAttributes })).decision === "allow") return undefined;
    } catch (error) {
      log.error("cannot tell who may ask", { user: user.name, subresource, error });
      const what = `user=${user.name}, verb=${verb}, resource=nodes, subresource=${subresource}`;
      return text(500, `Authorization error (${what})`);
    }
  }
  const what = `user=${user.name}, verb=${verb}, resource=nodes, subresource(s)=[${subresources.join(" ")}]`;
  return text(403, `Forbidden (${what})\n`);
}

const text = (code: number, body: string): HttpResponse => ({
  code,
  headers: { "content-type": "text/plain; charset=utf-8" },
  body,
});
