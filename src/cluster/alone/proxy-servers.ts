// What a proxy that runs alone serves: its health for load balancers, and its metrics.
// Upstream: cmd/kube-proxy/app/server.go.
import type { Node } from "#api/core/v1/node.ts";
import type { MetricRegistry } from "#base/metrics.ts";
import type { Component } from "#base/supervise.ts";
import type { ProxyHealth } from "#proxy/proxy-health.ts";
import type { ProxySettings } from "./proxy-settings.ts";
import { servePaths } from "./serve-paths.ts";

export interface ServedFacts {
  readonly health: ProxyHealth;
  readonly nodeNow: () => Node | undefined;
  readonly metrics: MetricRegistry;
}

export function proxyServers(
  { healthz, metrics: metricsAt, mode }: ProxySettings,
  { health, nodeNow, metrics }: ServedFacts,
): readonly Component[] {
  const counted = (path: "healthz" | "livez", answer: ReturnType<ProxyHealth["livez"]>) => {
    metrics.count(`kubeproxy_proxy_${path}_total`, { code: String(answer.code) });
    return answer;
  };
  const plain = (body: string) => ({ code: 200, headers: { "content-type": "text/plain; charset=utf-8" }, body });
  return [
    ...(healthz
      ? [
          servePaths("healthz", healthz, {
            "/healthz": () => counted("healthz", health.healthz(nodeNow())),
            "/livez": () => counted("livez", health.livez()),
          }),
        ]
      : []),
    ...(metricsAt
      ? [
          servePaths("metrics", metricsAt, {
            "/healthz": () => plain("ok"),
            "/proxyMode": () => plain(mode),
            "/metrics": async () => plain(await metrics.text()),
          }),
        ]
      : []),
  ];
}
