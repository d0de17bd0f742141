// pods/proxy, services/proxy and nodes/proxy: a request of any kind, passed on to a server in the cluster.
import { explain } from "#base/errors.ts";
import type { ApiObject } from "#schema/object.ts";
import type { HttpResponse } from "#wire/http.ts";
import { badRequest, serviceUnavailable } from "#wire/status.ts";
import { isUpgradeRequest } from "#wire/streams/websocket.ts";
import { type OutgoingRequest, unreachable } from "../node-connection.ts";
import type { ConnectCall, Connector } from "./connect.ts";
import { isGlobalUnicast, kubeletOf, parseSchemeNamePort } from "./location.ts";
import { passedBack, passedOn } from "./proxy-headers.ts";

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

/** Sends a request to the server that was found. */
interface Target {
  /** For redirects: what the server would call itself. */
  readonly host: string;
  send(request: OutgoingRequest): Promise<HttpResponse>;
}

const proxy = (kind: string, find: (call: ConnectCall) => Promise<Target>): Connector => ({
  methods,
  options: { kind, of: ({ rest }) => ({ path: rest }) },
  connect: async (call) => passOn(call, await find(call)),
});

export const podProxy = proxy("PodProxyOptions", async (call) => {
  const { scheme, name, port } = parseSchemeNamePort(call.name, "pod");
  const { spec, status = {} } = await call.read("pods", name);
  const containers: readonly { readonly ports?: readonly { readonly containerPort: number }[] }[] = spec.containers;
  const first = containers.find(({ ports = [] }) => ports.length > 0)?.ports?.[0]?.containerPort;
  const address: string = status.podIPs?.[0]?.ip ?? "";
  if (!isGlobalUnicast(address)) throw badRequest("address not allowed");
  return origin(call, scheme, address, port === "" ? first : portNumber(port));
});

export const serviceProxy = proxy("ServiceProxyOptions", async (call) => {
  const { scheme, name, port } = parseSchemeNamePort(call.name, "service");
  const portName = /^\d+$/.test(port) ? await portNameOf(call, name, Number(port)) : port;
  const { subsets = [] } = await call.read("endpoints", name);
  if (subsets.length === 0) throw serviceUnavailable(`no endpoints available for service ${JSON.stringify(name)}`);
  for (const { addresses = [], ports = [] } of turned<Subset>(subsets, call)) {
    const found = ports.find((one) => (one.name ?? "") === portName);
    if (!found) continue;
    for (const address of turned(addresses, call))
      if (await isOfPod(call, address)) return origin(call, scheme, address.ip, found.port);
  }
  throw serviceUnavailable(`no endpoints available for service ${JSON.stringify(call.name)}`);
});

export const nodeProxy = proxy("NodeProxyOptions", async (call) => {
  const { scheme, name, port } = parseSchemeNamePort(call.name, "node");
  const kubelet = await kubeletOf(call, name);
  const addresses = await call.connection.resolve(kubelet.host, call.http.signal).catch((error: unknown) => {
    throw badRequest(explain(error));
  });
  if (addresses.length === 0) throw badRequest("no addresses for hostname");
  if (!addresses.every(isGlobalUnicast)) throw badRequest("address not allowed");
  if (port !== "" && port !== String(kubelet.port)) return origin(call, scheme, kubelet.host, portNumber(port));
  return {
    host: `${kubelet.host}:${kubelet.port}`,
    send: (request) => call.connection.kubelet(kubelet, request),
  };
});

interface EndpointAddress {
  readonly ip: string;
  readonly targetRef?: { readonly namespace?: string; readonly name?: string };
}
interface Subset {
  readonly addresses?: readonly EndpointAddress[];
  readonly ports?: readonly { readonly name?: string; readonly port: number }[];
}

const origin = (
  { connection }: ConnectCall,
  scheme: "http" | "https",
  host: string,
  port: number | undefined,
): Target => ({
  host: port === undefined ? host : `${host}:${port}`,
  send: (request) => connection.fetch({ scheme, host, ...(port !== undefined && { port }) }, request),
});

function portNumber(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65535) throw badRequest(`${JSON.stringify(text)} is not a port`);
  return port;
}

async function portNameOf(call: ConnectCall, service: string, port: number): Promise<string> {
  const { spec } = await call.read("services", service);
  const ports: readonly { readonly name?: string; readonly port: number }[] = spec.ports ?? [];
  const found = ports.find((one) => one.port === port);
  if (!found) throw serviceUnavailable(`no service port ${port} found for service ${JSON.stringify(service)}`);
  return found.name ?? "";
}

/** Endpoints can be written by hand; only those that are pods are let through. */
async function isOfPod(call: ConnectCall, { ip, targetRef }: EndpointAddress): Promise<boolean> {
  if (!targetRef?.name || targetRef.namespace !== call.namespace) return false;
  let pod: ApiObject;
  try {
    pod = await call.read("pods", targetRef.name);
  } catch {
    return false; // gone meanwhile
  }
  const addresses: readonly { readonly ip: string }[] = pod.status?.podIPs ?? [];
  return addresses.some((one) => one.ip === ip);
}

/** All of them, beginning anywhere, so that the load is shared. */
function turned<T>(all: readonly T[], { random }: ConnectCall): readonly T[] {
  const start = random.below(Math.max(all.length, 1));
  return [...all.slice(start), ...all.slice(0, start)];
}

async function passOn({ http, rest }: ConnectCall, target: Target): Promise<HttpResponse> {
  const upgrades = isUpgradeRequest(http);
  const path = cleanPath(rest);
  const search = http.url.slice(http.path.length);
  const { method, signal } = http;
  if (upgrades) {
    const request = { method, signal, url: (path || "/") + search, headers: passedOn(http, { upgrades }) };
    return target.send(request).catch((error: unknown) => {
      throw unreachable(error, 500, "error dialing backend");
    });
  }
  if (path === "" && (method === "GET" || method === "HEAD"))
    return { code: 301, headers: { location: `${http.path}/${search}` }, body: "" };
  const prefix = http.path.slice(0, http.path.length - rest.length);
  const forwarded = prefix + path;
  const hasContent = !["GET", "HEAD", "OPTIONS"].includes(method) || http.headers["content-length"] !== undefined;
  const response = await target
    .send({
      method,
      signal,
      url: (path || "/") + search,
      headers: { ...passedOn(http, { upgrades }), "x-forwarded-uri": forwarded },
      ...(hasContent && { content: http.content }),
    })
    .catch((error: unknown) => {
      throw unreachable(error, 503, "error trying to reach service");
    });
  const headers = passedBack(response.headers);
  const { location } = headers;
  if (typeof location === "string")
    headers.location = throughProxy(location, prefix, [target.host, http.headers.host ?? ""]);
  return { ...response, headers };
}

/** A path without empty parts and steps upwards, which could leave what was asked for. Escapes stay. */
function cleanPath(path: string): string {
  const parts: string[] = [];
  for (const part of path.split("/")) {
    const plain = part.replaceAll(/%2e/gi, ".");
    if (plain === "..") parts.pop();
    else if (plain !== "" && plain !== ".") parts.push(part);
  }
  if (parts.length === 0) return path === "" ? "" : "/";
  return `/${parts.join("/")}${path.endsWith("/") ? "/" : ""}`;
}

/** Where a redirect of the server leads to for the client, if it stays on that server. */
function throughProxy(location: string, prefix: string, own: readonly string[]): string {
  const match = /^(?:https?:)?\/\/([^/?#]*)(.*)$/i.exec(location);
  const [host, rest] = match ? [match[1] ?? "", match[2] ?? ""] : [undefined, location];
  if (host !== undefined && !own.includes(host)) return location;
  if (!rest.startsWith("/") || rest.startsWith(prefix)) return rest;
  return prefix + rest;
}
