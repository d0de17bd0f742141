// Who may talk to whom, and where services lead.
import type { Endpoints } from "#api/core/v1/endpoints.ts";
import type { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import type { IngressClass } from "#api/networking/v1/ingress-class.ts";
import type { IPAddress } from "#api/networking/v1/ip-address.ts";
import type { NetworkPolicy } from "#api/networking/v1/network-policy.ts";
import type { ServiceCIDR } from "#api/networking/v1/service-cidr.ts";
import { formatSelector } from "#schema/selector.ts";
import { timeText, writeEvents, writeIdentity, writeTags } from "../common.ts";
import { type Describer, eventsOf, subjectOf } from "../describer.ts";
import type { DescriptionWriter } from "../description-writer.ts";

export const describeEndpoints: Describer<Endpoints> = async (endpoints, context, w) => {
  const events = await eventsOf(context, subjectOf({ ...endpoints }));
  writeIdentity(w, endpoints.metadata);
  writeTags(w, endpoints.metadata);
  w.line(0, "Subsets:");
  const ips = (list: readonly { readonly ip: string }[] = []) => list.map(({ ip }) => ip).join(",") || "<none>";
  for (const { addresses, notReadyAddresses, ports = [] } of endpoints.subsets ?? []) {
    w.line(1, "Addresses:", ips(addresses));
    w.line(1, "NotReadyAddresses:", ips(notReadyAddresses));
    if (ports.length > 0) {
      w.line(1, "Ports:");
      w.line(2, "Name", "Port", "Protocol");
      w.line(2, "----", "----", "--------");
    }
    for (const { name, port, protocol = "" } of ports) w.line(2, name || "<unset>", port, protocol);
    w.line(0, "");
  }
  writeEvents(w, events, context.now);
};

export const describeEndpointSlice: Describer<EndpointSlice> = async (slice, context, w) => {
  const events = await eventsOf(context, subjectOf({ ...slice }));
  writeIdentity(w, slice.metadata);
  writeTags(w, slice.metadata);
  w.line(0, "AddressType:", slice.addressType);
  const { ports = [], endpoints = [] } = slice;
  w.line(0, ports.length === 0 ? "Ports: <unset>" : "Ports:");
  if (ports.length > 0) {
    w.line(1, "Name", "Port", "Protocol");
    w.line(1, "----", "----", "--------");
  }
  for (const { name, port, protocol = "" } of ports) w.line(1, name || "<unset>", port ?? "<unset>", protocol);
  w.line(0, endpoints.length === 0 ? "Endpoints: <none>" : "Endpoints:");
  for (const { addresses, conditions, hostname, targetRef, nodeName, zone } of endpoints) {
    w.line(1, "- Addresses:", addresses.join(", ") || "<none>");
    w.line(2, "Conditions:");
    w.line(3, "Ready:", conditions?.ready ?? "<unset>");
    w.line(2, "Hostname:", hostname ?? "<unset>");
    if (targetRef) w.line(2, "TargetRef:", `${targetRef.kind ?? ""}/${targetRef.name ?? ""}`);
    w.line(2, "NodeName:", nodeName ?? "<unset>");
    w.line(2, "Zone:", zone ?? "<unset>");
  }
  writeEvents(w, events, context.now);
};

export const describeIngressClass: Describer<IngressClass> = async (found, context, w) => {
  const events = await eventsOf(context, subjectOf({ ...found }));
  w.line(0, "Name:", found.metadata.name);
  writeTags(w, found.metadata);
  w.line(0, "Controller:", found.spec.controller ?? "");
  const { parameters } = found.spec;
  if (parameters) {
    w.line(0, "Parameters:");
    if (parameters.apiGroup !== undefined) w.line(1, "APIGroup:", parameters.apiGroup);
    w.line(1, "Kind:", parameters.kind);
    w.line(1, "Name:", parameters.name);
  }
  writeEvents(w, events, context.now);
};

export const describeServiceCIDR: Describer<ServiceCIDR> = async (found, context, w) => {
  const events = await eventsOf(context, subjectOf({ ...found }));
  w.line(0, "Name:", found.metadata.name);
  writeTags(w, found.metadata);
  w.line(0, "CIDRs:", (found.spec.cidrs ?? []).join(", "));
  const { conditions = [] } = found.status;
  if (conditions.length > 0) {
    w.line(0, "Status:");
    w.line(0, "Conditions:");
    w.line(1, "Type", "Status", "LastTransitionTime", "Reason", "Message");
    w.line(1, "----", "------", "------------------", "------", "-------");
  }
  for (const { type, status, lastTransitionTime, reason = "", message = "" } of conditions)
    w.line(1, type, status, timeText(lastTransitionTime), reason, message);
  writeEvents(w, events, context.now);
};

export const describeIPAddress: Describer<IPAddress> = async (address, context, w) => {
  const events = await eventsOf(context, subjectOf({ ...address }));
  w.line(0, "Name:", address.metadata.name);
  writeTags(w, address.metadata);
  const { parentRef } = address.spec;
  if (parentRef) {
    w.line(0, "Parent Reference:");
    w.line(1, "Group:", parentRef.group ?? "");
    w.line(1, "Resource:", parentRef.resource ?? "");
    w.line(1, "Namespace:", parentRef.namespace ?? "");
    w.line(1, "Name:", parentRef.name ?? "");
  }
  writeEvents(w, events, context.now);
};

export const describeNetworkPolicy: Describer<NetworkPolicy> = async ({ metadata, spec }, _, w) => {
  writeIdentity(w, metadata);
  w.line(0, "Created on:", createdText(metadata.creationTimestamp));
  writeTags(w, metadata);
  w.line(0, "Spec:");
  const selector = formatSelector(spec?.podSelector ?? {});
  const isAll = selector === "<none>";
  w.line(
    1,
    `PodSelector:     ${isAll ? "<none> (Allowing the specific traffic to all pods in this namespace)" : selector}`,
  );
  const types: readonly string[] = spec?.policyTypes ?? [];
  if (types.includes("Ingress")) {
    w.line(1, "Allowing ingress traffic:");
    const rules = (spec?.ingress ?? []).map(({ ports, from }) => ({ ports, peers: from }));
    writeRules(w, rules, "From", "source", "ingress");
  } else w.line(1, "Not affecting ingress traffic");
  if (types.includes("Egress")) {
    w.line(1, "Allowing egress traffic:");
    const rules = (spec?.egress ?? []).map(({ ports, to }) => ({ ports, peers: to }));
    writeRules(w, rules, "To", "destination", "egress");
  } else w.line(1, "Not affecting egress traffic");
  w.line(1, `Policy Types: ${types.join(", ") || "<none>"}`);
};

/** As Go prints a time. */
function createdText(time: string | undefined): string {
  if (!time) return "0001-01-01 00:00:00 +0000 UTC";
  return `${time.replace("T", " ").replace("Z", "")} +0000 UTC`;
}

type IngressRule = NonNullable<NonNullable<NetworkPolicy["spec"]>["ingress"]>[number];
interface PolicyRule {
  readonly ports: IngressRule["ports"];
  readonly peers: IngressRule["from"];
}

function writeRules(
  w: DescriptionWriter,
  rules: readonly PolicyRule[],
  direction: string,
  end: string,
  traffic: string,
): void {
  const say = (level: number, text: string) => w.line(level, `    ${text}`);
  if (rules.length === 0) say(0, `<none> (Selected pods are isolated for ${traffic} connectivity)`);
  for (const [i, { ports = [], peers = [] }] of rules.entries()) {
    if (ports.length === 0) say(0, "To Port: <any> (traffic allowed to all ports)");
    for (const { port, endPort, protocol = "TCP" } of ports)
      say(
        0,
        endPort === undefined
          ? `To Port: ${port ?? "<nil>"}/${protocol}`
          : `To Port Range: ${port}-${endPort}/${protocol}`,
      );
    if (peers.length === 0) say(0, `${direction}: <any> (traffic not restricted by ${end})`);
    for (const { podSelector, namespaceSelector, ipBlock } of peers) {
      say(0, `${direction}:`);
      if (namespaceSelector) say(1, `NamespaceSelector: ${formatSelector(namespaceSelector)}`);
      if (podSelector) say(1, `PodSelector: ${formatSelector(podSelector)}`);
      if (podSelector || namespaceSelector || !ipBlock) continue;
      say(1, "IPBlock:");
      say(2, `CIDR: ${ipBlock.cidr}`);
      say(2, `Except: ${(ipBlock.except ?? []).join(", ")}`);
    }
    if (i < rules.length - 1) say(0, "----------");
  }
}
