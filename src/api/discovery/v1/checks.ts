// Upstream: pkg/apis/discovery/validation/validation.go.
import { repeats } from "#base/collections.ts";
import { dns1123Label, dns1123Subdomain, ip, ipAnyForm, labelValue, qualifiedName } from "#schema/formats.ts";
import { duplicate, invalid, type Problem, required, tooMany } from "#schema/index.ts";
import { parseIp } from "#schema/ip.ts";
import { reachable } from "../../core/v1/checks/addresses.ts";
import { malformed } from "../../core/v1/checks/problems.ts";
import type { EndpointHints, EndpointPort } from "./endpoint-slice.ts";

export const most = { endpoints: 1000, addresses: 100, ports: 20_000, topologyLabels: 16, zoneHints: 8, nodeHints: 8 };

/** An address of an endpoint, by the type that its slice has. */
export function* checkAddress(type: string, list: string, index: number, address: string): Iterable<Problem> {
  const field = `${list}[${index}]`;
  if (type === "FQDN") {
    yield* checkFqdn(field, address);
    return;
  }
  if (type !== "IPv4" && type !== "IPv6") return;
  const problems = type === "IPv4" ? ipAnyForm(address) : ip(address);
  for (const detail of problems) yield invalid(field, detail);
  if (problems.length > 0) return;
  const parsed = parseIp(address);
  if (parsed && parsed.family !== (type === "IPv4" ? 4 : 6)) yield invalid(list, `must be an ${type} address`, address);
  yield* reachable(field, address);
}

function* checkFqdn(field: string, name: string): Iterable<Problem> {
  const bare = name.replace(/\.$/, "");
  if (name === "") yield required(field);
  else if (dns1123Subdomain(bare).length > 0) yield invalid(field, dns1123Subdomain(bare).join(","), bare);
  else if (!bare.includes("."))
    yield invalid(field, "should be a domain with at least two segments separated by dots", bare);
  else {
    const wrong = bare.split(".").find((label) => dns1123Label(label).length > 0);
    if (wrong) yield invalid(field, dns1123Label(wrong).join(","), wrong);
  }
}

export function* checkHints({ forZones = [], forNodes = [] }: EndpointHints): Iterable<Problem> {
  const lists = [
    { field: "forZones", names: forZones, limit: most.zoneHints, format: labelValue },
    { field: "forNodes", names: forNodes, limit: most.nodeHints, format: dns1123Subdomain },
  ];
  for (const { field, names, limit, format } of lists) {
    if (names.length > limit) {
      yield tooMany(field, names.length, limit);
      return;
    }
    const isRepeated = repeats<string>();
    for (const [i, { name }] of names.entries()) {
      if (isRepeated(name)) yield duplicate(`${field}[${i}].name`);
      for (const detail of format(name)) yield invalid(`${field}[${i}].name`, detail);
    }
  }
}

export function* checkPorts(ports: readonly EndpointPort[]): Iterable<Problem> {
  if (ports.length > most.ports) {
    yield tooMany("ports", ports.length, most.ports);
    return;
  }
  const seen = new Set<string>();
  for (const [i, { name, appProtocol }] of ports.entries()) {
    if (name !== "") for (const detail of dns1123Label(name)) yield invalid(`ports[${i}].name`, detail);
    if (seen.has(name)) yield duplicate(`ports[${i}].name`, name);
    seen.add(name);
    if (appProtocol !== undefined) yield* malformed(`ports[${i}].appProtocol`, appProtocol, qualifiedName);
  }
}
