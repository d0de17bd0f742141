import { wantedOfRefusal } from "#apiserver/response/form.ts";
import { respondError } from "#apiserver/response/respond.ts";
import type { Clock } from "#base/clock.ts";
import type { ApiError } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { MetricRegistry } from "#base/metrics.ts";
import type { Component } from "#base/supervise.ts";
import type { Client } from "#client/client.ts";
import { delegation, type Guard, pathGuard } from "#serving/delegated-access.ts";
import type { HealthCheck } from "#serving/health.ts";
import { certificateAuthenticator } from "#serving/host/certificate-authenticator.ts";
import { httpsFront } from "#serving/host/https/front.ts";
import { partEndpoints } from "#serving/part-endpoints.ts";
import type { HttpRequest, HttpResponse } from "#wire/http.ts";
import { tlsBy } from "../tls-settings.ts";
import type { AloneSettings } from "./flags.ts";
import { partCertificates } from "./part-certificates.ts";

const closeMs = 1000;

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
    const asking = pathGuard(delegation({ client, authenticators, clock, log }));
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
