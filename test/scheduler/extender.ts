// An extender for tests: a real HTTP server whose answers a test gives.

import { createServer, type Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Node } from "#api/core/v1/node.ts";
import type { Pod } from "#api/core/v1/pod.ts";

export interface ExtenderRequest {
  readonly verb: string;
  readonly body: ExtenderBody;
}

/** All that the scheduler sends to one verb or another. */
export interface ExtenderBody {
  readonly Pod: Pod;
  readonly Nodes: { readonly items: readonly Node[] } | null;
  readonly NodeNames: readonly string[];
  readonly NodeNameToMetaVictims: Readonly<Record<string, { readonly Pods: readonly { readonly UID: string }[] }>>;
  readonly PodName: string;
  readonly PodNamespace: string;
  readonly PodUID: string;
  readonly Node: string;
}

export interface ExtenderAnswer {
  readonly code?: number;
  readonly body?: unknown;
  /** Sent as it is, in place of the body. */
  readonly raw?: string;
  /** The connection is cut in the middle of the answer. */
  readonly cut?: boolean;
}

export interface TestExtender extends AsyncDisposable {
  readonly url: string;
  readonly requests: readonly ExtenderRequest[];
}

type Answer = (request: ExtenderRequest) => ExtenderAnswer | Promise<ExtenderAnswer>;

export async function startExtender(
  answer: Answer,
  tls?: { cert: string; key: string; ca?: string },
): Promise<TestExtender> {
  const requests: ExtenderRequest[] = [];
  const serve: Parameters<typeof createServer>[1] = async (request, response) => {
    const verb = request.url?.split("/").at(-1) ?? "";
    const one = { verb, body: JSON.parse(await text(request)) };
    requests.push(one);
    const { code = 200, body, raw, cut } = await answer(one);
    const sent = raw ?? JSON.stringify(body);
    response.writeHead(code, { "content-type": "application/json", "content-length": Buffer.byteLength(sent) });
    if (!cut) return void response.end(sent);
    response.write(sent.slice(0, sent.length / 2), () => response.destroy());
  };
  const server: Server = tls
    ? createSecureServer({ ...tls, ...(tls.ca && { requestCert: true, rejectUnauthorized: true }) }, serve)
    : createServer(serve);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls ? "https" : "http"}://127.0.0.1:${port}/scheduler`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
