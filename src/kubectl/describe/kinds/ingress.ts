import type { Service } from "#api/core/v1/service.ts";
import type { Ingress, IngressBackend } from "#api/networking/v1/ingress.ts";
import { ApiError } from "#base/errors.ts";
import { compareText } from "../../go/value.ts";
import { resourcePath } from "../../resources/resource-info.ts";
import { writeAnnotations, writeEvents, writeLabels } from "../common.ts";
import { coreMapping, type DescribeContext, type Describer, eventsOf, subjectOf } from "../describer.ts";
import { endpointsText, slicesOf } from "../endpoints.ts";

export const describeIngress: Describer<Ingress> = async (ingress, context, w) => {
  const { metadata, spec, status } = ingress;
  const { namespace = "" } = metadata;
  const events = await eventsOf(context, subjectOf({ ...ingress }));
  w.line(0, "Name:", metadata.name);
  writeLabels(w, "Labels", metadata.labels);
  w.line(0, "Namespace:", namespace);
  const addresses = (status.loadBalancer?.ingress ?? []).flatMap(({ ip, hostname }) => ip || hostname || []);
  w.line(0, "Address:", [...new Set(addresses)].sort(compareText).join(","));
  w.line(0, "Ingress Class:", spec.ingressClassName ?? "<none>");
  const usual = spec.defaultBackend ? await backendText(context, namespace, spec.defaultBackend) : "<default>";
  w.line(0, "Default backend:", usual);
  const { tls = [], rules = [] } = spec;
  if (tls.length > 0) w.line(0, "TLS:");
  for (const { secretName, hosts = [] } of tls)
    w.line(1, `${secretName ? `${secretName} terminates` : "SNI routes"} ${hosts.join(",")}`);
  w.line(0, "Rules:");
  w.line(1, "Host", "Path", "Backends");
  w.line(1, "----", "----", "--------");
  const served = rules.flatMap(({ host, http }) => (http ? [{ host: host || "*", paths: http.paths }] : []));
  for (const { host, paths } of served) {
    w.line(1, host, "");
    for (const { path = "", backend } of paths)
      w.line(2, "", `${path} `, await backendText(context, namespace, backend));
  }
  if (served.length === 0) w.line(1, "*", "*", usual);
  writeAnnotations(w, "Annotations", metadata.annotations);
  writeEvents(w, events, context.now);
};

/** The service and port, and where they lead to now. */
async function backendText(context: DescribeContext, namespace: string, backend: IngressBackend): Promise<string> {
  const { service, resource } = backend;
  if (!service)
    return resource ? `APIGroup: ${resource.apiGroup ?? "<none>"}, Kind: ${resource.kind}, Name: ${resource.name}` : "";
  const { number = 0, name = "" } = service.port ?? {};
  const text = `${service.name}:${number || name}`;
  try {
    const slices = await slicesOf(context, namespace, service.name);
    const path = resourcePath(coreMapping("services", "Service"), namespace, service.name);
    const { spec } = (await context.client.json({ path })) as unknown as Service;
    const port = (spec.ports ?? []).findLast((one) =>
      number ? one.port === number : name !== "" && one.name === name,
    );
    return `${text} (${endpointsText(slices, port?.name ?? "")})`;
  } catch (error) {
    if (error instanceof ApiError) return `${text} (<error: ${error.message}>)`;
    throw error;
  }
}
