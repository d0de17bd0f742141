// Which port of this machine leads to which port of a pod (upstream: kubectl/pkg/cmd/portforward and client-go/tools/portforward).
import { isObject } from "#base/is-object.ts";
import { KubectlError } from "../../errors.ts";
import { metadataOf, stringIn } from "../../resources/resource-info.ts";
import type { KubeObject } from "../../rest/client.ts";
import { specOf } from "../../workloads/pods.ts";

export interface ForwardedPort {
  /** 0 stands for any that is free. */
  readonly local: number;
  readonly remote: number;
}

/** `8080`, `5000:80`, `:80`, and names of ports of the service or the pod. Throws KubectlError. */
export function parsePort(text: string, object: KubeObject, pod: KubeObject): ForwardedPort {
  const parts = text.split(":");
  if (parts.length > 2) throw new KubectlError(`invalid port format '${text}'`);
  const [first = "", second] = parts;
  const wanted = second ?? first;
  if (wanted === "") throw new KubectlError("remote port cannot be empty");
  const { number, target } = object.kind === "Service" ? servicePort(wanted, object, pod) : podPort(wanted, pod);
  const local = second === undefined ? String(number) : first;
  if (target === 0) throw new KubectlError("remote port must be > 0");
  return { local: local === "" ? 0 : portNumber(local, "local"), remote: portNumber(String(target), "remote") };
}

function portNumber(text: string, which: string): number {
  const why = !/^\d+$/.test(text) ? "invalid syntax" : Number(text) > 65_535 ? "value out of range" : undefined;
  if (why === undefined) return Number(text);
  throw new KubectlError(
    `error parsing ${which} port '${text}': strconv.ParseUint: parsing ${JSON.stringify(text)}: ${why}`,
  );
}

interface KnownPort {
  /** As the service or the person calls it. */
  readonly number: number;
  /** Where the pod listens. */
  readonly target: number;
}

const listOf = (value: unknown): readonly Readonly<Record<string, unknown>>[] =>
  Array.isArray(value) ? value.filter(isObject) : [];

function podPort(text: string, pod: KubeObject): KnownPort {
  const ports = listOf(specOf(pod).containers).flatMap(({ ports: own }) => listOf(own));
  const number = /^\d+$/.test(text) ? Number(text) : containerPort(text, pod);
  refuseDatagrams(text, number, ports, "containerPort");
  return { number, target: number };
}

function containerPort(name: string, pod: KubeObject): number {
  const ports = listOf(specOf(pod).containers).flatMap(({ ports: own }) => listOf(own));
  const found = ports.find((port) => port.name === name)?.containerPort;
  if (typeof found === "number") return found;
  throw new KubectlError(`Pod '${metadataOf(pod).name}' does not have a named port '${name}'`);
}

/** A service's port leads to where its pods listen; that of one without an address is the pod's own. */
function servicePort(text: string, service: KubeObject, pod: KubeObject): KnownPort {
  const { ports: declared, clusterIP } = specOf(service);
  const ports = listOf(declared);
  const name = stringIn(metadataOf(service).name);
  const named = ports.find((port) => port.name === text)?.port;
  if (!/^\d+$/.test(text) && named === undefined)
    throw new KubectlError(`Service '${name}' does not have a named port '${text}'`);
  const number = Number(/^\d+$/.test(text) ? text : named);
  refuseDatagrams(text, number, ports, "port");
  const found = ports.find(({ port }) => port === number);
  if (!found) throw new KubectlError(`Service ${name} does not have a service port ${number}`);
  const { targetPort = 0 } = found;
  if (clusterIP === "None" || targetPort === 0) return { number, target: number };
  return { number, target: typeof targetPort === "number" ? targetPort : containerPort(stringIn(targetPort), pod) };
}

/** Only connections can be forwarded. */
function refuseDatagrams(
  text: string,
  number: number,
  ports: readonly Readonly<Record<string, unknown>>[],
  field: string,
): void {
  const protocols = ports.filter((port) => port[field] === number).map(({ protocol = "TCP" }) => protocol);
  if (protocols.includes("UDP") && !protocols.includes("TCP"))
    throw new KubectlError(`UDP protocol is not supported for ${text}`);
}

export interface ListenAddress {
  readonly host: string;
  /** Of `localhost` one of its two addresses is enough. */
  readonly isOptional: boolean;
}

/** Throws KubectlError. */
export function listenAddresses(texts: readonly string[]): readonly ListenAddress[] {
  if (texts.length === 0) throw new KubectlError("you must specify at least 1 address");
  const found = new Map<string, ListenAddress>();
  for (const text of texts) {
    const isIp = /^\d{1,3}(\.\d{1,3}){3}$/.test(text) || text.includes(":");
    if (!isIp && text !== "localhost") throw new KubectlError(`${text} is not a valid IP`);
    const hosts = text === "localhost" ? ["127.0.0.1", "::1"] : [text];
    for (const host of hosts)
      if (text !== "localhost" || !found.has(host)) found.set(host, { host, isOptional: text === "localhost" });
  }
  return [...found.values()].toSorted((a, b) => (a.host < b.host ? -1 : 1));
}
