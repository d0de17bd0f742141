// An adapter of custom and external metrics, as real ones are: a server over TLS that believes nobody but the API server in front of it.
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import { makeCertificate } from "#cluster/certificate-maker.ts";
import { proxyAuthority, servingAuthority } from "../apiserver/aggregated-server.ts";

export const adapterGroups = [
  { group: "custom.metrics.k8s.io", version: "v1beta2" },
  { group: "external.metrics.k8s.io", version: "v1beta1" },
] as const;

export interface MetricsAdapter extends AsyncDisposable {
  readonly port: number;
  /** What came, as `USER PATH?QUERY`. */
  readonly requests: string[];
  /** Values by the rest of the path after the namespace, such as `services/web/hits`. */
  readonly values: Map<string, readonly MetricSample[]>;
}

export interface MetricSample {
  /** The object it is about; of none for external ones. */
  readonly about?: string;
  readonly value: string;
}

const dayMs = 24 * 60 * 60 * 1000;
const validity = { notBefore: new Date(Date.now() - dayMs), notAfter: new Date(Date.now() + dayMs) };

/** `now` is the time that metrics are said to be of. */
export async function metricsAdapter(now: () => string): Promise<MetricsAdapter> {
  const requests: string[] = [];
  const values: MetricsAdapter["values"] = new Map();
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const json = (code: number, body: object) =>
      response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(body));
    if (!isFromApiServer(request)) return json(401, { kind: "Status", apiVersion: "v1", code: 401 });
    const { pathname } = new URL(request.url ?? "/", "https://x");
    const served = adapterGroups.find(({ group, version }) => pathname.startsWith(`/apis/${group}/${version}`));
    const [, what] = /\/namespaces\/[^/]+\/(.+)$/.exec(pathname) ?? [];
    const groupVersion = served && `${served.group}/${served.version}`;
    if (served && what === undefined)
      return json(200, { kind: "APIResourceList", apiVersion: "v1", groupVersion, resources: [] });
    requests.push(`${request.headers["x-remote-user"]} ${request.url}`);
    const samples = values.get(decodeURIComponent(what ?? ""));
    if (!served || !samples)
      return json(404, { kind: "Status", apiVersion: "v1", status: "Failure", reason: "NotFound", code: 404 });
    const isExternal = served.group === "external.metrics.k8s.io";
    const items = samples.map(({ about, value }) => ({
      timestamp: now(),
      value,
      ...(isExternal ? { metricName: what, metricLabels: {} } : { describedObject: { name: about, kind: "Pod" } }),
    }));
    const kind = isExternal ? "ExternalMetricValueList" : "MetricValueList";
    return json(200, { kind, apiVersion: groupVersion, metadata: {}, items });
  };
  const server = createServer(
    {
      ...makeCertificate(servingAuthority, { commonName: "adapter", hosts: ["adapter.monitoring.svc"] }, validity),
      ca: proxyAuthority.cert,
      requestCert: true,
      rejectUnauthorized: false,
    },
    answer,
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    values,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function isFromApiServer({ socket }: IncomingMessage): boolean {
  const tls = socket as TLSSocket;
  return tls.authorized && tls.getPeerCertificate().subject.CN === "front-proxy-client";
}
