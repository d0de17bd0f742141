// pods/proxy, services/proxy and nodes/proxy: a request of any kind, passed on to a server in the cluster.
import { explain } from "#base/errors.ts";
import type { ApiObject } from "#schema/object.ts";
import type { Origin } from "#serving/proxy/outgoing.ts";
import { type ProxyTarget, passOn } from "#serving/proxy/reverse-proxy.ts";
import { cleanPath } from "#serving/proxy/urls.ts";
import { badRequest, serviceUnavailable } from "#wire/status.ts";
import type { ResourcePath } from "../request-path.ts";
import type { ConnectCall, Connector } from "./connect.ts";
import { isGlobalUnicast, kubeletOf, parseSchemeNamePort } from "./location.ts";

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

const proxy = (
  kind: string,
  find: (call: ConnectCall) => Promise<ProxyTarget>,
  needsCreate: NonNullable<Connector["needsCreate"]> = () => false,
): Connector => ({
  methods,
  needsCreate,
  options: { kind, of: ({ rest }) => ({ path: rest }) },
  connect: async (call) => passOn(call.http, call.rest, await find(call)),
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
async function nodeTarget(call: ConnectCall): Promise<ProxyTarget> {
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

const origin = ({ connection }: ConnectCall, at: Origin): ProxyTarget => ({
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

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path; // no kubelet understands it, either
  }
}
