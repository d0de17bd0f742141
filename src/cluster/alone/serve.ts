import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { type HealthCheck, health } from "#apiserver/health.ts";
import { certificateAuthenticator } from "#apiserver/host/certificate-authenticator.ts";
import { respondError, wantedOfRefusal } from "#apiserver/respond.ts";
import { aborted } from "#base/aborted.ts";
import type { Clock } from "#base/clock.ts";
import { ApiError, UsageError } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import { type MetricRegistry, metricsMediaType } from "#base/metrics.ts";
import type { Component } from "#base/supervise.ts";
import type { Client } from "#client/client.ts";
import { httpsFront } from "#wire/host/https.ts";
import type { HttpHandler, HttpResponse } from "#wire/http.ts";
import { makeAuthority, makeCertificate } from "../certificate-maker.ts";
import type { KeyPair } from "../certificates.ts";
import { delegation, type Guard, pathGuard } from "../delegated-access.ts";
import type { AloneSettings } from "./flags.ts";

const closeMs = 1000;
const dayMs = 24 * 60 * 60 * 1000;
const kinds: ReadonlySet<string> = new Set(["healthz", "livez", "readyz"]);

export interface ServeOptions {
  readonly settings: AloneSettings;
  readonly checks: readonly HealthCheck[];
  readonly metrics: MetricRegistry;
  /** Asks the API server who may see the metrics. */
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
}

/** Answers `/healthz`, `/livez` and `/readyz` over HTTPS to anyone, and `/metrics` to those who may get that path. */
export const serve = (options: ServeOptions): Component => ({
  name: "https",
  async run(signal) {
    const { settings, client, clock, log } = options;
    const { cert, key } = servingPair(settings, clock);
    const file = settings["client-ca-file"];
    const clientCa = file === undefined ? undefined : readFileSync(file, "utf8");
    const authenticators = clientCa === undefined ? [] : [certificateAuthenticator(clock)];
    const guard = pathGuard(delegation({ client, authenticators, clock }));
    const front = httpsFront({ cert, key, clientCa, handler: handlerOf(options, guard), log });
    const port = await front.listen(settings["secure-port"], settings["bind-address"]);
    log.info("serving", { port, address: settings["bind-address"] });
    await aborted(signal);
    await front.close(closeMs);
  },
});

const notFound: HttpResponse = {
  code: 404,
  headers: { "content-type": "text/plain; charset=utf-8" },
  body: "404 page not found\n",
};

const handlerOf =
  ({ checks, metrics }: ServeOptions, guard: Guard): HttpHandler =>
  async (request) => {
    const [, kind = "", only] = request.path.split("/");
    const isRead = request.method === "GET" || request.method === "HEAD";
    if (isRead && kinds.has(kind)) return (await health(request, kind, only || undefined, checks)) ?? notFound;
    try {
      await guard(request);
    } catch (error) {
      if (error instanceof ApiError) return respondError(error, wantedOfRefusal(request));
      throw error;
    }
    if (!isRead || request.path !== "/metrics") return notFound;
    return { code: 200, headers: { "content-type": metricsMediaType }, body: await metrics.text() };
  };

/** The pair that was given; else one that nobody can check, and nobody needs to. */
function servingPair(settings: AloneSettings, clock: Clock): KeyPair {
  const [cert, key] = [settings["tls-cert-file"], settings["tls-private-key-file"]];
  if (cert !== undefined && key !== undefined)
    return { cert: readFileSync(cert, "utf8"), key: readFileSync(key, "utf8") };
  if (cert !== undefined || key !== undefined)
    throw new UsageError("--tls-cert-file and --tls-private-key-file go together");
  const validity = { notBefore: new Date(clock.now() - dayMs), notAfter: new Date(clock.now() + 365 * dayMs) };
  const hosts = [...new Set(["localhost", "127.0.0.1", hostname()])];
  return makeCertificate(makeAuthority(validity), { commonName: hostname(), hosts }, validity);
}
