// Where a connection goes to: from names in a path to a container, a kubelet, an address.
import type { ApiObject } from "#schema/object.ts";
import { badRequest, serviceUnavailable } from "#wire/status.ts";
import type { KubeletEndpoint } from "../node-connection.ts";
import type { ConnectCall } from "./connect.ts";

interface TargetName {
  readonly name: string;
}

/** The container of a request, which may be omitted if the pod has only one. */
export function containerOf({ metadata, spec }: ApiObject, asked: string): string {
  const containers: readonly TargetName[] = spec.containers ?? [];
  const all = [...(spec.initContainers ?? []), ...containers, ...(spec.ephemeralContainers ?? [])].map(
    ({ name }: TargetName) => name,
  );
  if (asked !== "") {
    if (!all.includes(asked)) throw badRequest(`container ${asked} is not valid for pod ${metadata.name}`);
    return asked;
  }
  const [first, second] = containers;
  if (!first) throw badRequest(`a container name must be specified for pod ${metadata.name}`);
  if (second)
    throw badRequest(`a container name must be specified for pod ${metadata.name}, choose one of: [${all.join(" ")}]`);
  return first.name;
}

export const usualAddressTypes = ["Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"];
const kubeletPort = 10250;

export interface KubeletLocation extends KubeletEndpoint {
  /** Whether it takes WebSockets itself; others get them translated into SPDY. */
  readonly speaksWebSocket: boolean;
}

export async function kubeletOf(call: ConnectCall, node: string): Promise<KubeletLocation> {
  return kubeletAt(await call.read("nodes", node), call.connection.addressTypes);
}

/** Where the kubelet of a node is, as the node tells it. Throws ApiError for one without an address. */
export function kubeletAt(
  { metadata: { name: node = "" }, status = {} }: ApiObject,
  addressTypes: readonly string[] = usualAddressTypes,
): KubeletLocation {
  const addresses: readonly { readonly type: string; readonly address: string }[] = status.addresses ?? [];
  const host = addressTypes
    .map((type) => addresses.find((one) => one.type === type)?.address)
    .find((address) => address !== undefined);
  if (host === undefined)
    throw serviceUnavailable(
      `no preferred addresses found; known addresses: [${addresses.map(({ address }) => address).join(" ")}]`,
    );
  const features: readonly string[] = status.declaredFeatures ?? [];
  return {
    node,
    host,
    port: status.daemonEndpoints?.kubeletEndpoint?.Port || kubeletPort,
    speaksWebSocket: features.includes("ExtendWebSocketsToKubelet"),
  };
}

export interface SchemeNamePort {
  readonly scheme: "http" | "https";
  readonly name: string;
  readonly port: string;
}

/** `name`, `name:port` or `scheme:name:port`, as proxies are asked for. */
export function parseSchemeNamePort(text: string, what: string): SchemeNamePort {
  const parts = text.split(":");
  const [scheme, name, port] =
    parts.length === 3 ? parts : parts.length < 3 ? ["", parts[0], parts[1] ?? ""] : [undefined, "", ""];
  if (!name || (scheme !== "" && scheme !== "http" && scheme !== "https"))
    throw badRequest(`invalid ${what} request ${JSON.stringify(text)}`);
  return { scheme: scheme === "https" ? "https" : "http", name, port: port ?? "" };
}

/** Whether a proxy may go to an address: not to the API server's own machine or its links, nor to many at once. */
export function isGlobalUnicast(address: string): boolean {
  const host = canonicalAddress(address);
  if (host === undefined) return false;
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(host);
  if (mapped) {
    const [high, low] = [Number.parseInt(mapped[1] ?? "", 16), Number.parseInt(mapped[2] ?? "", 16)];
    return isGlobalUnicast([high >> 8, high & 255, low >> 8, low & 255].join("."));
  }
  if (host.includes(":")) return host !== "::" && host !== "::1" && !/^(ff..|fe[89ab].):/.test(host);
  const [a = 0, b = 0] = host.split(".").map(Number);
  if (host === "0.0.0.0" || host === "255.255.255.255") return false;
  return a !== 127 && (a < 224 || a > 239) && !(a === 169 && b === 254);
}

/** An IP address in its shortest form, or undefined for anything else. */
function canonicalAddress(address: string): string | undefined {
  const isV6 = address.includes(":");
  if (!(isV6 ? /^[0-9a-f:.]+$/i : /^\d{1,3}(\.\d{1,3}){3}$/).test(address)) return undefined;
  const url = URL.parse(isV6 ? `http://[${address}]` : `http://${address}`);
  return url?.hostname.replace(/^\[|\]$/g, "");
}
