import { readFileSync } from "node:fs";
import { hostname } from "node:os";
import { type HealthCheck, health } from "#apiserver/paths.ts";
import type { Clock } from "#base/clock.ts";
import { UsageError } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { Component } from "#base/supervise.ts";
import { httpsFront } from "#wire/host/https.ts";
import type { HttpHandler } from "#wire/http.ts";
import type { KeyPair } from "../certificates.ts";
import type { AloneSettings } from "./flags.ts";

const closeMs = 1000;
const dayMs = 24 * 60 * 60 * 1000;
const kinds: ReadonlySet<string> = new Set(["healthz", "livez", "readyz"]);

export interface HealthOptions {
  readonly settings: AloneSettings;
  readonly checks: readonly HealthCheck[];
  readonly clock: Clock;
  readonly log: Log;
}

/** Answers `/healthz`, `/livez` and `/readyz` over HTTPS, as others of the control plane ask for them. */
export const serveHealth = ({ settings, checks, clock, log }: HealthOptions): Component => ({
  name: "health",
  async run(signal) {
    const { cert, key } = await servingPair(settings, clock);
    const front = httpsFront({ cert, key, clientCa: undefined, handler: handler(checks), log });
    const port = await front.listen(settings["secure-port"], settings["bind-address"]);
    log.info("serving health", { port, address: settings["bind-address"] });
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    await front.close(closeMs);
  },
});

const handler =
  (checks: readonly HealthCheck[]): HttpHandler =>
  async (request) => {
    const [, kind = "", only] = request.path.split("/");
    const isOurs = kinds.has(kind) && (request.method === "GET" || request.method === "HEAD");
    const answer = isOurs ? await health(request, kind, only || undefined, checks) : undefined;
    return (
      answer ?? { code: 404, headers: { "content-type": "text/plain; charset=utf-8" }, body: "404 page not found\n" }
    );
  };

/** The pair that was given; else one that nobody can check, and nobody needs to. */
async function servingPair(settings: AloneSettings, clock: Clock): Promise<KeyPair> {
  const [cert, key] = [settings["tls-cert-file"], settings["tls-private-key-file"]];
  if (cert !== undefined && key !== undefined)
    return { cert: readFileSync(cert, "utf8"), key: readFileSync(key, "utf8") };
  if (cert !== undefined || key !== undefined)
    throw new UsageError("--tls-cert-file and --tls-private-key-file go together");
  const { makeAuthority, makeCertificate } = await import("../certificate-maker.ts");
  const validity = { notBefore: new Date(clock.now() - dayMs), notAfter: new Date(clock.now() + 365 * dayMs) };
  const hosts = [...new Set(["localhost", "127.0.0.1", hostname()])];
  return makeCertificate(await makeAuthority(validity), { commonName: hostname(), hosts }, validity);
}
