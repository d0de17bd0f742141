// A server behind the API server, as real ones are: it speaks TLS, takes requests from nobody but the API server, and believes that when it says
// who asks. It serves fish (`aqua.example.com/v1`) from memory, with discovery, schemas, watches and a subresource that is a connection.

import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import type { TLSSocket } from "node:tls";
import { makeAuthority, makeCertificate } from "#cluster/certificate-maker.ts";
import type { KeyPair } from "#cluster/certificates.ts";

const dayMs = 24 * 60 * 60 * 1000;
const validity = { notBefore: new Date(Date.now() - dayMs), notAfter: new Date(Date.now() + dayMs) };

export const servingAuthority = makeAuthority(validity, "aqua-ca");
export const proxyAuthority = makeAuthority(validity, "front-proxy-ca");
export const proxyClient = (authority = proxyAuthority): KeyPair =>
  makeCertificate(authority, { commonName: "front-proxy-client" }, validity);

export const group = "aqua.example.com";
const base = `/apis/${group}/v1`;

interface Fish {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    resourceVersion: string;
  };
  readonly spec: unknown;
}

export interface AggregatedServer extends AsyncDisposable {
  readonly port: number;
  /** What came, as `GET /path user [groups]`. */
  readonly requests: string[];
  /** Whether it answers 500 to everything. */
  isIll: boolean;
  /** Whether it tells everything at once. */
  tellsTogether: boolean;
  put(namespace: string, name: string): void;
  readonly fish: ReadonlyMap<string, Fish>;
}

export async function aggregatedServer(): Promise<AggregatedServer> {
  const fish = new Map<string, Fish>();
  const watchers = new Set<ServerResponse>();
  let revision = 1;
  const tell = (type: string, object: Fish) => {
    for (const watcher of watchers) watcher.write(`${JSON.stringify({ type, object })}\n`);
  };
  const state = { isIll: false, tellsTogether: true };
  const requests: string[] = [];
  const put = (namespace: string, name: string) => {
    const metadata = { name, namespace, uid: `uid-${name}`, resourceVersion: String(++revision) };
    const one = { apiVersion: `${group}/v1`, kind: "Fish", metadata, spec: { scales: true } };
    fish.set(`${namespace}/${name}`, one);
    tell("ADDED", one);
  };
  const remove = (key: string) => {
    const one = fish.get(key);
    if (!one) return;
    fish.delete(key);
    one.metadata.resourceVersion = String(++revision);
    tell("DELETED", one);
  };

  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const json = (code: number, body: object, type = "application/json") => {
      response.writeHead(code, { "content-type": type }).end(JSON.stringify(body));
    };
    const user = userOf(request);
    if (!user) return json(401, status(401, "Unauthorized"));
    const { pathname, searchParams } = new URL(request.url ?? "/", "https://x");
    requests.push(`${request.method} ${request.url} ${user}`);
    if (state.isIll) return json(500, status(500, "the fish are dead"));
    if (pathname === "/apis") {
      if (!state.tellsTogether || !request.headers.accept?.includes("APIGroupDiscoveryList"))
        return json(404, status(404, "no"));
      return json(200, together, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    }
    if (pathname === base) return json(200, resources);
    if (pathname === "/openapi/v3")
      return json(200, { paths: { [base.slice(1)]: { serverRelativeURL: `/openapi/v3${base}?hash=ABC` } } });
    if (pathname === `/openapi/v3${base}`) return json(200, { openapi: "3.0.0", info: { title: "aqua" } });
    if (pathname === "/openapi/v2") return json(200, schema);
    if (pathname === `${base}/elsewhere`) return response.writeHead(302, { location: "https://evil.example/" }).end();
    const [, namespace, name] =
      new RegExp(`^${base}(?:/namespaces/([^/]+))?/fishes(?:/([^/]+))?$`).exec(pathname) ?? [];
    if (!pathname.includes("/fishes"))
      return json(404, status(404, "the server could not find the requested resource"));
    const inside = [...fish.values()].filter(
      ({ metadata }) => namespace === undefined || metadata.namespace === namespace,
    );
    if (request.method === "GET" && searchParams.get("watch")) {
      response.writeHead(200, { "content-type": "application/json" });
      response.flushHeaders();
      watchers.add(response);
      response.on("close", () => watchers.delete(response));
      for (const object of inside) response.write(`${JSON.stringify({ type: "ADDED", object })}\n`);
      return undefined;
    }
    if (request.method === "POST") {
      const sent = JSON.parse(await text(request));
      put(namespace ?? "", sent.metadata.name);
      return json(201, fish.get(`${namespace}/${sent.metadata.name}`) ?? {});
    }
    if (request.method === "DELETE") {
      for (const { metadata } of inside.filter(({ metadata }) => name === undefined || metadata.name === name))
        remove(`${metadata.namespace}/${metadata.name}`);
      return json(200, { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success" });
    }
    if (name === undefined)
      return json(200, {
        kind: "FishList",
        apiVersion: `${group}/v1`,
        metadata: { resourceVersion: String(revision) },
        items: inside,
      });
    const one = fish.get(`${namespace}/${name}`);
    return one ? json(200, one) : json(404, status(404, `fishes.${group} "${name}" not found`, "NotFound"));
  };

  const server = createServer(
    {
      ...makeCertificate(servingAuthority, { commonName: "aqua", hosts: ["aqua.sea.svc"] }, validity),
      ca: proxyAuthority.cert,
      requestCert: true,
      rejectUnauthorized: false,
    },
    (request, response) => void answer(request, response).catch((error: unknown) => response.destroy(error as Error)),
  );
  server.on("upgrade", (request: IncomingMessage, socket: Duplex) => {
    requests.push(`UPGRADE ${request.url} ${userOf(request)}`);
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n");
    socket.on("data", (data: Buffer) => socket.write(data.toString().toUpperCase()));
    socket.on("error", () => socket.destroy());
    socket.on("end", () => socket.end());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return Object.assign(state, {
    port: (server.address() as AddressInfo).port,
    requests,
    put,
    fish,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

/** Undefined unless a proxy that is believed asks. */
function userOf({ socket, headers }: IncomingMessage): string | undefined {
  const tls = socket as TLSSocket;
  if (!tls.authorized || tls.getPeerCertificate().subject.CN !== "front-proxy-client") return undefined;
  const extra = Object.entries(headers).filter(([name]) => name.startsWith("x-remote-extra-"));
  const told = extra.map(([name, value]) => ` ${name.slice(15)}=${value}`).join("");
  return `${headers["x-remote-user"]} [${headers["x-remote-group"] ?? ""}]${told}`;
}

const status = (code: number, message: string, reason = "") => ({
  kind: "Status",
  apiVersion: "v1",
  metadata: {},
  status: "Failure",
  message,
  reason,
  code,
});

const verbs = ["create", "delete", "deletecollection", "get", "list", "watch"];
const resources = {
  kind: "APIResourceList",
  apiVersion: "v1",
  groupVersion: `${group}/v1`,
  resources: [
    { name: "fishes", singularName: "fish", namespaced: true, kind: "Fish", verbs, shortNames: ["fi"] },
    { name: "fishes/talk", singularName: "", namespaced: true, kind: "FishTalk", verbs: ["get"] },
  ],
};
const kindOf = (kind: string) => ({ group, version: "v1", kind });
const together = {
  kind: "APIGroupDiscoveryList",
  apiVersion: "apidiscovery.k8s.io/v2",
  metadata: {},
  items: [
    {
      metadata: { name: group },
      versions: [
        {
          version: "v1",
          resources: [
            {
              resource: "fishes",
              responseKind: kindOf("Fish"),
              scope: "Namespaced",
              singularResource: "fish",
              shortNames: ["fi"],
              verbs,
              subresources: [{ subresource: "talk", responseKind: kindOf("FishTalk"), verbs: ["get"] }],
            },
          ],
        },
      ],
    },
  ],
};
const schema = {
  swagger: "2.0",
  info: { title: "aqua", version: "v1" },
  paths: {
    [`${base}/fishes`]: {
      get: { responses: { 200: { description: "OK", schema: { $ref: "#/definitions/com.example.Fish" } } } },
    },
    "/api/v1/pods": { get: { description: "not its own to say" } },
  },
  definitions: {
    "com.example.Fish": { type: "object", properties: { metadata: { $ref: "#/definitions/io.k8s.api.core.v1.Pod" } } },
    "io.k8s.api.core.v1.Pod": { type: "object", description: "not ours" },
    unused: { type: "string" },
  },
};
