import { existsSync } from "node:fs";
import { type MetricRegistry, metricsMediaType } from "#base/metrics.ts";
import type { Component } from "#base/supervise.ts";
import { servePaths } from "./serve-paths.ts";

/** Both families where the kernel has both. */
export const anyAddress = (): string => (existsSync("/proc/net/if_inet6") ? "::" : "0.0.0.0");

const page = (code: number, body: string, type = "text/plain") => ({
  code,
  headers: { "content-type": type },
  body,
});

/** Aborts with `ended` when the process is told to end. */
export function endingSignal(): { readonly signal: AbortSignal; readonly ended: Error } {
  const stop = new AbortController();
  const ended = new Error("told to end");
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort(ended));
  return { signal: stop.signal, ended };
}

/** Health and metrics at a port; `problem` says why the process is not ready. */
export const healthPages = (port: number, metrics: MetricRegistry, problem: () => string | undefined): Component =>
  servePaths(
    "pages",
    { host: anyAddress(), port },
    {
      "/healthz": () => page(200, "ok"),
      "/readyz": () => {
        const why = problem();
        return why === undefined ? page(200, "ok") : page(503, why);
      },
      "/metrics": async () => page(200, await metrics.text(), metricsMediaType),
    },
  );
