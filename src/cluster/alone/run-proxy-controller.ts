// A controller in a process of its own, with the proxy that it keeps.
import { existsSync } from "node:fs";
import { aborted } from "#base/aborted.ts";
import { type Clock, systemClock } from "#base/clock.ts";
import { writeToStderr } from "#base/host/stderr.ts";
import { createLog, type Log } from "#base/log.ts";
import { type Random, systemRandom } from "#base/random.ts";
import { type Component, supervise } from "#base/supervise.ts";
import type { Client } from "#client/client.ts";
import { connectClient } from "#client/host/connect.ts";
import { Informers } from "#client/informers.ts";
import { Haproxy } from "#ingress/host/haproxy-process.ts";
import { makeAuthority } from "../certificate-maker.ts";
import { kubernetesVersion } from "../version.ts";
import { servePaths } from "./serve-paths.ts";

export interface ProxyProgramSettings {
  readonly haproxy: string;
  readonly folder: string;
  readonly healthPort: number;
  readonly metricsPort: number;
  readonly kubeconfig: string | undefined;
}

export interface ProxyControllerParts {
  readonly client: Client;
  readonly informers: Informers;
  readonly proxy: Haproxy;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface ProxyController {
  readonly components: readonly Component[];
  /** Whether the proxy does what the cluster says. */
  readonly isReady: () => boolean;
}

/** How long clients may take to learn that we end, and how long their last requests may take. */
const ending = { lameDuckMs: 5000, drainMs: 20_000 };
const dayMs = 24 * 60 * 60 * 1000;
const yearMs = 365 * dayMs;

/** Returns when the process is told to end, and the last request is over. */
export async function runProxyController(
  name: string,
  settings: ProxyProgramSettings & { readonly ingress?: { readonly httpPort: number; readonly httpsPort: number } },
  make: (parts: ProxyControllerParts) => ProxyController,
): Promise<void> {
  const [clock, random] = [systemClock, systemRandom];
  const log = createLog({ clock, write: writeToStderr });
  const stop = new AbortController();
  const ended = new Error("told to end");
  let isEnding = false;
  for (const signalName of ["SIGINT", "SIGTERM"] as const)
    process.once(signalName, () => {
      isEnding = true;
      void clock.sleep(ending.lameDuckMs, new AbortController().signal).then(() => stop.abort(ended));
    });
  const hasIpv6 = existsSync("/proc/net/if_inet6");
  const proxy = makeProxy(settings, hasIpv6, clock, log);
  const connection = await connectClient({
    explicit: settings.kubeconfig,
    env: process.env,
    userAgent: `${name}/${kubernetesVersion}`,
    clock,
    signal: new AbortController().signal,
  });
  const { client } = connection;
  const informers = new Informers({ client, clock, random, log });
  const { components, isReady } = make({ client, informers, proxy, clock, random, log });
  const answer = (code: number, body: string) => ({ code, headers: { "content-type": "text/plain" }, body });
  const health = servePaths(
    "health",
    { host: hasIpv6 ? "::" : "0.0.0.0", port: settings.healthPort },
    {
      "/healthz": () => answer(200, "ok"),
      "/readyz": () => (isReady() && !isEnding ? answer(200, "ok") : answer(503, "not ready")),
    },
  );
  try {
    await supervise([informers, ...components, health, proxyGuard(proxy)], stop.signal);
  } finally {
    connection.close();
    await proxy.end(ending.drainMs);
  }
  if (stop.signal.reason !== ended) throw stop.signal.reason;
}

function makeProxy(
  { folder, metricsPort, haproxy, ingress }: Parameters<typeof runProxyController>[1],
  hasIpv6: boolean,
  clock: Clock,
  log: Log,
): Haproxy {
  const now = clock.now();
  const validity = { notBefore: new Date(now - dayMs), notAfter: new Date(now + yearMs) };
  const fallback = makeAuthority(validity, "Ingress Controller Default Certificate");
  return new Haproxy({
    folder,
    metricsPort,
    ...(ingress && { ingress }),
    program: haproxy,
    hasIpv6,
    defaultPem: `${fallback.key}${fallback.cert}`,
    clock,
    log,
  });
}

/** Without its proxy the controller is of no use: the pod is started again. */
const proxyGuard = (proxy: Haproxy): Component => ({
  name: "proxy",
  async run(signal) {
    await Promise.race([proxy.ended, aborted(signal)]);
    if (!signal.aborted) throw new Error("the proxy ended");
  },
});
