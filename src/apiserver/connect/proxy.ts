// pods/proxy, services/proxy and nodes/proxy: a request of any kind, passed on to a server in the cluster.
import { explain } from "#base/errors.ts";
import type { ApiObject } from "#schema/object.ts";
import type { HttpResponse } from "#wire/http.ts";
import { badRequest, serviceUnavailable } from "#wire/status.ts";
import { isUpgradeRequest } from "#wire/streams/websocket.ts";
import { type Origin, type OutgoingRequest, unreachable } from "../node-connection.ts";
import type { ResourcePath } from "../request-path.ts";
import { bytesOf } from "./body.ts";
import type { ConnectCall, Connector } from "./connect.ts";
import { changeEncoded } from "./content-encoding.ts";
import { rewriteLinks } from "./html-links.ts";
import { isGlobalUnicast, kubeletOf, parseSchemeNamePort } from "./location.ts";
import { passedBack, passedOn } from "./proxy-headers.ts";
import { cleanPath, type ProxyAddress, throughProxy } from "./proxy-urls.ts";

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

/** Sends a request to the server that was found. */
interface Target {
  /** For redirects: what the server would call itself. */
  readonly host: string;
  send(request: OutgoingRequest): Promise<HttpResponse>;
}

const proxy = (
  kind: string,
  find: (call: ConnectCall) => Promise<Target>,
  needsCreate: NonNullable<Connector["needsCreate"]> = () => false,
): Connector => ({
  methods,
  needsCreate,
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
  const number = port === "" ? first : portNumber(port);
  return origin(call, { scheme, host: address, ...(number !== undefined && { port: number }) });
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
      if (await isOfPod(call, address)) return origin(call, { scheme, host: address.ip, port: found.port });
  }
  throw serviceUnavailable(`no endpoints available for service ${JSON.stringify(call.name)}`);
});

/** The address that was checked is dialled: a name could lead elsewhere the next time it is looked up. */
async function nodeTarget(call: ConnectCall): Promise<Target> {
  const { scheme, name, port } = parseSchemeNamePort(call.name, "node");
  const kubelet = await kubeletOf(call, name);
  const addresses = await call.connection.resolve(kubelet.host, call.http.signal).catch((error: unknown) => {
    throw badRequest(explain(error));
  });
  const [dialAddress] = addresses;
  if (dialAddress === undefined) throw badRequest("no addresses for hostname");
  if (!addresses.every(isGlobalUnicast)) throw badRequest("address not allowed");
  const { host } = kubelet;
  if (port !== "" && port !== String(kubelet.port))
    return origin(call, { scheme, host, port: portNumber(port), dialAddress });
  return {
    host: `${host}:${kubelet.port}`,
    send: (request) => call.connection.kubelet({ ...kubelet, dialAddress }, request),
  };
}

/** A kubelet runs commands by GET as well; upstream takes the right to get for that. */
const runsCommands = ({ rest = "" }: ResourcePath): boolean =>
  /^\/*(exec|attach|run|portForward)(\/|$)/i.test(decoded(cleanPath(rest)));

export const nodeProxy = proxy("NodeProxyOptions", nodeTarget, runsCommands);

interface EndpointAddress {
  readonly ip: string;
  readonly targetRef?: { readonly namespace?: string; readonly name?: string };
}
interface Subset {
  readonly addresses?: readonly EndpointAddress[];
  readonly ports?: readonly { readonly name?: string; readonly port: number }[];
}

const origin = ({ connection }: ConnectCall, at: Origin): Target => ({
  host: at.port === undefined ? at.host : `${at.host}:${at.port}`,
  send: (request) => connection.fetch(at, request),
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
  const isFramed = ["content-length", "transfer-encoding"].some((name) => http.headers[name] !== undefined);
  const hasContent = isFramed || !["GET", "HEAD", "OPTIONS"].includes(method);
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
  const requestHost = http.headers.host ?? http.headers[":authority"] ?? "";
  return rewritten(response, method, { prefix, backendHost: target.host, requestHost });
}

/** The answer with redirects and links that lead through the proxy. A redirect's page is left alone, as upstream does. */
function rewritten(response: HttpResponse, method: string, address: ProxyAddress): HttpResponse {
  const { code, body } = response;
  const { "content-length": length, ...headers } = passedBack(response.headers);
  const { location, "content-type": type = "", "content-encoding": encoding = "" } = headers;
  const unchanged = { ...response, headers: { ...headers, ...(length !== undefined && { "content-length": length }) } };
  if (typeof location === "string" && location !== "")
    return { ...unchanged, headers: { ...unchanged.headers, location: throughProxy(location, address) } };
  const isPage = String(type).split(";")[0]?.trim() === "text/html";
  if (!isPage || method === "HEAD" || code === 206 || code === 304) return unchanged;
  const rewrite = (url: string) => throughProxy(url, address);
  const page = changeEncoded(String(encoding), bytesOf(body), (content) => rewriteLinks(content, rewrite));
  return page ? { ...response, headers, body: page } : unchanged;
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path; // no kubelet understands it, either
  }
}
