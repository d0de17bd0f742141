// The ingress controller in a process of its own, with the proxy that it keeps.
import { existsSync } from "node:fs";
import { aborted } from "#base/aborted.ts";
import { systemClock } from "#base/clock.ts";
import { writeToStderr } from "#base/host/stderr.ts";
import { createLog } from "#base/log.ts";
import { systemRandom } from "#base/random.ts";
import { type Component, supervise } from "#base/supervise.ts";
import { connectClient } from "#client/host/connect.ts";
import { Informers } from "#client/informers.ts";
import { IngressController } from "#ingress/controller.ts";
import { Haproxy } from "#ingress/host/haproxy-process.ts";
import { makeAuthority } from "../certificate-maker.ts";
import { kubernetesVersion } from "../version.ts";
import { servePaths } from "./serve-paths.ts";

export interface IngressProgramSettings {
  readonly haproxy: string;
  readonly folder: string;
  readonly service: string;
  readonly httpPort: number;
  readonly httpsPort: number;
  readonly healthPort: number;
  readonly metricsPort: number;
  readonly kubeconfig: string | undefined;
}

/** How long clients may take to learn that we end, and how long their last requests may take. */
const ending = { lameDuckMs: 5000, drainMs: 20_000 };
const dayMs = 24 * 60 * 60 * 1000;
const yearMs = 365 * dayMs;

/** Returns when the process is told to end, and the last request is over. */
export async function runIngress(settings: IngressProgramSettings): Promise<void> {
  const [clock, random] = [systemClock, systemRandom];
  const log = createLog({ clock, write: writeToStderr });
  const stop = new AbortController();
  const ended = new Error("told to end");
  let isEnding = false;
  for (const name of ["SIGINT", "SIGTERM"] as const)
    process.once(name, () => {
      isEnding = true;
      void clock.sleep(ending.lameDuckMs, new AbortController().signal).then(() => stop.abort(ended));
    });
  const hasIpv6 = existsSync("/proc/net/if_inet6");
  const now = clock.now();
  const fallback = makeAuthority(
    { notBefore: new Date(now - dayMs), notAfter: new Date(now + yearMs) },
    "Ingress Controller Default Certificate",
  );
  const proxy = new Haproxy({
    ...settings,
    program: settings.haproxy,
    hasIpv6,
    defaultPem: `${fallback.key}${fallback.cert}`,
    clock,
    log,
  });
  const connection = await connectClient({
    explicit: settings.kubeconfig,
    env: process.env,
    userAgent: `ingress/${kubernetesVersion}`,
    clock,
    signal: new AbortController().signal,
  });
  const { client } = connection;
  const informers = new Informers({ client, clock, random, log });
  const controller = new IngressController({ client, informers, proxy, service: settings.service, clock, log });
  const answer = (code: number, body: string) => ({ code, headers: { "content-type": "text/plain" }, body });
  const health = servePaths(
    "health",
    { host: hasIpv6 ? "::" : "0.0.0.0", port: settings.healthPort },
    {
      "/healthz": () => answer(200, "ok"),
      "/readyz": () => (controller.hasSynced && !isEnding ? answer(200, "ok") : answer(503, "not ready")),
    },
  );
  try {
    await supervise([informers, controller, health, proxyGuard(proxy)], stop.signal);
  } finally {
    connection.close();
    await proxy.end(ending.drainMs);
  }
  if (stop.signal.reason !== ended) throw stop.signal.reason;
}

/** Without its proxy the controller is of no use: the pod is started again. */
const proxyGuard = (proxy: Haproxy): Component => ({
  name: "proxy",
  async run(signal) {
    await Promise.race([proxy.ended, aborted(signal)]);
    if (!signal.aborted) throw new Error("the proxy ended");
  },
});
