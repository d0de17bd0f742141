import { X509Certificate } from "node:crypto";
import { hostname } from "node:os";
import { respondError, wantedOfRefusal } from "#apiserver/respond.ts";
import type { Clock } from "#base/clock.ts";
import { type ApiError, UsageError } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { MetricRegistry } from "#base/metrics.ts";
import type { Component } from "#base/supervise.ts";
import { asCertificates, asPrivateKey, flagFile } from "#cli/host/flag-file.ts";
import type { Client } from "#client/client.ts";
import { delegation, type Guard, pathGuard } from "#serving/delegated-access.ts";
import type { HealthCheck } from "#serving/health.ts";
import { certificateAuthenticator } from "#serving/host/certificate-authenticator.ts";
import { type FrontCertificates, httpsFront } from "#serving/host/https/front.ts";
import { partEndpoints } from "#serving/part-endpoints.ts";
import type { HttpRequest, HttpResponse } from "#wire/http.ts";
import { makeAuthority, makeCertificate } from "../certificate-maker.ts";
import { type KeyPair, renewalDays } from "../certificates.ts";
import { LiveCertificates } from "../live-certificates.ts";
import { tlsBy } from "../tls-settings.ts";
import type { AloneSettings } from "./flags.ts";

const closeMs = 1000;
const dayMs = 24 * 60 * 60 * 1000;

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
    const { settings, checks, metrics, client, clock, log } = options;
    const live = partCertificates(settings, clock, log);
    const authenticators = live.current.clientCa === undefined ? [] : [certificateAuthenticator(clock)];
    const asking = pathGuard(delegation({ client, authenticators, clock }));
    const guard: Guard = async (request) => (request.isUnsecured ? undefined : asking(request));
    const front = httpsFront({
      ...live.current,
      ...tlsBy(settings),
      handler: partEndpoints({ checks, metrics, guard, refuse }),
      log,
    });
    live.subscribe((now) => front.renew(now));
    if (settings["secure-port"] !== 0) {
      const port = await front.listen(settings["secure-port"], settings["bind-address"]);
      log.info("serving", { port, address: settings["bind-address"] });
    }
    if (settings.port > 0) {
      await front.listenUnsecured(settings.port, settings.address);
      log.warn("serving health and metrics without TLS", { port: settings.port, address: settings.address });
    }
    await live.run(signal);
    await front.close(closeMs);
  },
});

const refuse = (error: ApiError, request: HttpRequest): HttpResponse => respondError(error, wantedOfRefusal(request));

/** The pair that was given; else one that nobody can check, and nobody needs to. */
function partCertificates(settings: AloneSettings, clock: Clock, log: Log): LiveCertificates<FrontCertificates> {
  const [cert, key, ca] = [settings["tls-cert-file"], settings["tls-private-key-file"], settings["client-ca-file"]];
  if ((cert === undefined) !== (key === undefined))
    throw new UsageError("--tls-cert-file and --tls-private-key-file go together");
  const clientCa = () => (ca === undefined ? undefined : flagFile("client-ca-file", ca, asCertificates));
  const files = [cert, key, ca].filter((file) => file !== undefined);
  if (cert !== undefined && key !== undefined)
    return new LiveCertificates({
      read: () => ({
        cert: flagFile("tls-cert-file", cert, asCertificates),
        key: flagFile("tls-private-key-file", key, asPrivateKey),
        clientCa: clientCa(),
      }),
      files,
      clock,
      log,
    });
  let own = ownPair(clock);
  return new LiveCertificates({
    read() {
      if (Date.parse(new X509Certificate(own.cert).validTo) - clock.now() < renewalDays * dayMs) own = ownPair(clock);
      return { ...own, clientCa: clientCa() };
    },
    files,
    clock,
    log,
  });
}

function ownPair(clock: Clock): KeyPair {
  const validity = { notBefore: new Date(clock.now() - dayMs), notAfter: new Date(clock.now() + 365 * dayMs) };
  const hosts = [...new Set(["localhost", "127.0.0.1", hostname()])];
  return makeCertificate(makeAuthority(validity), { commonName: hostname(), hosts }, validity);
}
