import type { Service } from "#api/core/v1/service.ts";
import { labelText, writeEvents, writeIdentity, writeTags } from "../common.ts";
import { type Describer, eventsOf, subjectOf, unlessRefused } from "../describer.ts";
import type { DescriptionWriter } from "../description-writer.ts";
import { endpointsText, slicesOf } from "../endpoints.ts";

export const describeService: Describer<Service> = async (service, context, w) => {
  const { metadata, spec } = service;
  const slices = (await unlessRefused(slicesOf(context, metadata.namespace ?? "", metadata.name ?? ""))) ?? [];
  const events = await eventsOf(context, subjectOf({ ...service }));
  writeIdentity(w, metadata);
  writeTags(w, metadata);
  writeAddresses(w, service);
  for (const port of spec.ports ?? []) {
    const { protocol = "", appProtocol, nodePort } = port;
    const name = port.name || "<unset>";
    w.line(0, "Port:", name, `${port.port}/${protocol}`);
    w.line(0, "TargetPort:", `${port.targetPort ?? 0}/${protocol}`);
    if (appProtocol !== undefined) w.line(0, "AppProtocol:", appProtocol);
    if (nodePort) w.line(0, "NodePort:", name, `${nodePort}/${protocol}`);
    w.line(0, "Endpoints:", endpointsText(slices, port.name ?? ""));
  }
  writePolicies(w, spec);
  writeEvents(w, events, context.now);
};

function writeAddresses(w: DescriptionWriter, { spec, status }: Service): void {
  const { ipFamilyPolicy, ipFamilies = [], clusterIPs = [], externalIPs = [], loadBalancerIP, externalName } = spec;
  w.line(0, "Selector:", labelText(spec.selector));
  w.line(0, "Type:", spec.type ?? "");
  if (ipFamilyPolicy !== undefined) w.line(0, "IP Family Policy:", ipFamilyPolicy);
  w.line(0, "IP Families:", ipFamilies.join(",") || "<none>");
  w.line(0, "IP:", spec.clusterIP ?? "");
  w.line(0, "IPs:", clusterIPs.length === 0 ? "<none>" : clusterIPs.join(","));
  if (externalIPs.length > 0) w.line(0, "External IPs:", externalIPs.join(","));
  if (loadBalancerIP) w.line(0, "Desired LoadBalancer IP:", loadBalancerIP);
  if (externalName) w.line(0, "External Name:", externalName);
  const ingress = status.loadBalancer?.ingress ?? [];
  if (ingress.length === 0) return;
  const text = ({ ip, ipMode, hostname = "" }: (typeof ingress)[number]) =>
    ip ? `${ip}${ipMode === undefined ? "" : ` (${ipMode})`}` : hostname;
  w.line(0, "LoadBalancer Ingress:", ingress.map(text).join(", "));
}

function writePolicies(w: DescriptionWriter, spec: Service["spec"]): void {
  const { externalTrafficPolicy, internalTrafficPolicy, healthCheckNodePort, trafficDistribution } = spec;
  const { loadBalancerSourceRanges = [] } = spec;
  w.line(0, "Session Affinity:", spec.sessionAffinity ?? "");
  if (externalTrafficPolicy) w.line(0, "External Traffic Policy:", externalTrafficPolicy);
  if (internalTrafficPolicy !== undefined) w.line(0, "Internal Traffic Policy:", internalTrafficPolicy);
  if (healthCheckNodePort) w.line(0, "HealthCheck NodePort:", healthCheckNodePort);
  if (loadBalancerSourceRanges.length > 0) w.line(0, "LoadBalancer Source Ranges:", loadBalancerSourceRanges.join(","));
  if (trafficDistribution !== undefined) w.line(0, "Traffic Distribution:", trafficDistribution);
}
