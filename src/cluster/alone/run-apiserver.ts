// An API server in a process of its own: opens what its flags name, serves until it is told to stop, and closes it all.
import { hostname } from "node:os";
import { admissionOf } from "#apiserver/admission/configuration.ts";
import { assembleApiServer } from "#apiserver/assemble.ts";
import type { Assembly, AssemblyOptions } from "#apiserver/assembly/options.ts";
import { unsecured } from "#apiserver/authentication/token-authenticators.ts";
import { kubeletConnection } from "#apiserver/host/kubelet-connection.ts";
import { remoteConnections } from "#apiserver/host/remote-connections.ts";
import { webhookConnections } from "#apiserver/host/webhook-connections.ts";
import { unknownMethod } from "#apiserver/response/respond.ts";
import { servedBy } from "#apiserver/served/runtime-config.ts";
import { parseAddressRanges, parsePortRange } from "#apiserver/strategies/service/ranges.ts";
import { systemClock } from "#base/clock.ts";
import { explain } from "#base/errors.ts";
import { compileSooner } from "#base/host/compile-sooner.ts";
import { collectWhenIdle } from "#base/host/idle-collection.ts";
import type { Log } from "#base/log.ts";
import { systemRandom } from "#base/random.ts";
import { type Component, outlive, supervise } from "#base/supervise.ts";
import { delayFlag, durationFlag } from "#cli/duration-flag.ts";
import { flagTexts } from "#cli/flags.ts";
import type { AnonymousService } from "#serving/authentication.ts";
import { type HttpsFront, httpsFront } from "#serving/host/https/front.ts";
import { yamlThread } from "#wire/host/yaml-thread.ts";
import { admissionSettings } from "../admission-settings.ts";
import { auditOf } from "../audit-settings.ts";
import { authorizationOf, letsEverybodyIn } from "../authorization-settings.ts";
import { componentProbe } from "../component-probe.ts";
import { openEncrypted } from "../encryption-settings.ts";
import { trusting } from "../front-proxy.ts";
import { externalSignerOf, identityOptions } from "../identity-options.ts";
import { warnOfIneffective } from "../ineffective-flags.ts";
import type { LiveCertificates } from "../live-certificates.ts";
import { checkStore, openStore } from "../open-store.ts";
import { processMetrics } from "../process-metrics.ts";
import { requestLimitsBy } from "../request-limits.ts";
import { frontCertificates, type ServerCertificates, serverCertificates } from "../server-certificates.ts";
import { certificateByName } from "../server-names.ts";
import { http2By, tlsBy } from "../tls-settings.ts";
import { type TokenIssuers, tokenIssuers } from "../token-issuers.ts";
import { checkUpstreamFlags, warnOfUpstreamFlags } from "../upstream-flags.ts";
import { apiVersionInfo } from "../version.ts";
import { type ApiServerSettings, addressFor, addressTypesOf, checkPorts } from "./apiserver-flags.ts";

/** How long requests that are under way at the end may still take. */
const graceMs = 10_000;

/** What there is besides the settings. */
interface World {
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly certificates: LiveCertificates<ServerCertificates>;
  readonly metrics: ReturnType<typeof processMetrics>;
  readonly signer: Awaited<ReturnType<typeof externalSignerOf>>;
}

/** Returns when the signal aborts and what was under way is done. Throws UsageError before anything is opened. */
export async function runApiServer(settings: ApiServerSettings, log: Log, signal: AbortSignal): Promise<void> {
  checkFlags(settings, log);
  const certificates = serverCertificates(settings, { clock: systemClock, log });
  const signer = await externalSignerOf(settings, { clock: systemClock, log, signal });
  const metrics = processMetrics();
  const world: World = { log, signal, certificates, signer, metrics };
  const plan = planOf(settings, world);
  const address = addressFor(settings, plan.network);
  const delayMs = delayFlag("shutdown-delay-duration", settings["shutdown-delay-duration"]);
  const spoken = { ...tlsBy(settings), ...http2By(settings, systemRandom) };
  const connections = connectionsOf(settings, certificates);
  const parts = { clock: systemClock, random: systemRandom, log, metrics };
  const audit = await auditOf(settings, parts);
  const { store, healthChecks } = await openEncrypted(settings, parts, () => openStore(settings, log, metrics));
  try {
    const { nodes, webhooks, aggregation } = connections;
    const options = { ...parts, ...plan, store, healthChecks, nodes, webhooks, aggregation };
    const server = assembleApiServer({ ...options, ...(audit && { audit }) });
    const front = httpsFront({
      ...frontCertificates(certificates.current),
      handler: server.handle,
      unknownMethod: unknownMethod(),
      log,
      certificateFor: (name) => certificateByName(certificates.current.named)(name),
      ...spoken,
    });
    certificates.subscribe((now) => front.renew(frontCertificates(now)));
    await outlive(server, serving(settings, world, { server, front, address, delayMs }), signal);
  } finally {
    connections.close();
    await audit?.sink.close();
    await store.close();
  }
}

function checkFlags(settings: ApiServerSettings, log: Log): void {
  checkPorts(settings);
  checkStore(settings);
  checkUpstreamFlags(settings);
  warnOfUpstreamFlags(settings, log);
  warnOfIneffective(settings, log);
}

/** What the flags say of the server, before anything is opened. */
function planOf(settings: ApiServerSettings, { log, signal, certificates, signer, metrics }: World) {
  const { clientCa, proxy } = certificates.current;
  const identity = identityOptions(settings, clientCa, signer);
  const outside = { clock: systemClock, log, signal, metrics };
  const ownIssuers = identity.serviceAccounts?.issuers ?? [];
  const issuers = tokenIssuers(settings, { ...outside, audiences: identity.audiences, ownIssuers });
  return {
    ...identity,
    authenticators: [
      ...(settings["insecure-port"] > 0 ? [unsecured] : []),
      ...trusting(proxy.trust).authenticators,
      ...identity.authenticators,
    ],
    remoteTokens: issuers.tokens,
    servesAnonymous: strangersServed(settings, issuers, log),
    authorizers: authorizationOf(settings, outside),
    bootstrapPolicy: true,
    admission: admissionOf(admissionSettings(settings)),
    ...servedBy(settings["runtime-config"], settings["enable-admission-plugins"]),
    network: networkOf(settings),
    components: [componentProbe("scheduler", 10259), componentProbe("controller-manager", 10257)],
    version: apiVersionInfo(settings.version),
    flags: flagTexts(settings),
    eventSeconds: Math.ceil(durationFlag("event-ttl", settings["event-ttl"]) / 1000),
    ...requestLimitsBy(settings),
    readYaml: yamlThread(systemClock),
    stopping: signal,
  } satisfies Partial<AssemblyOptions>;
}

const networkOf = (settings: ApiServerSettings) => ({
  addresses: parseAddressRanges(settings["service-cluster-ip-range"]),
  nodePorts: parsePortRange(settings["service-node-port-range"]),
});

/** The ways to others; they follow the certificates. */
function connectionsOf(settings: ApiServerSettings, certificates: World["certificates"]) {
  const nodes = kubeletConnection(certificates.current.kubelet, addressTypesOf(settings));
  const webhooks = webhookConnections();
  const remote = remoteConnections(() => certificates.current.proxy.client);
  certificates.subscribe(({ kubelet }) => nodes.renew(kubelet));
  return {
    nodes,
    webhooks,
    aggregation: {
      connection: remote,
      routesToEndpoints: settings["enable-aggregator-routing"],
      believed: certificates.current.proxy.trust?.names,
    },
    close() {
      nodes.close();
      remote.close();
      webhooks.close();
    },
  };
}

interface ServingParts {
  readonly server: Assembly;
  readonly front: HttpsFront;
  /** Where pods reach the server. */
  readonly address: string | undefined;
  /** How long it goes on serving when it is told to stop. */
  readonly delayMs: number;
}

function serving(
  settings: ApiServerSettings,
  { log, certificates }: World,
  { server, front, address, delayMs }: ServingParts,
): Component {
  return {
    name: "https",
    async run(signal) {
      const port = await front.listen(settings["secure-port"], settings["bind-address"]);
      try {
        await server.ready(signal);
        const system = server.system({
          address,
          port,
          hostname: hostname(),
          get clientCa() {
            return certificates.current.clientCa;
          },
          get requestHeaders() {
            return certificates.current.proxy.trust;
          },
        });
        await system.attempt(signal);
        certificates.current.writeKubeconfig(port);
        certificates.subscribe((now) => now.writeKubeconfig(port));
        if (settings["insecure-port"] > 0) await serveInsecurely(front, settings, log);
        log.info("serving", { port, address: settings["bind-address"] });
        compileSooner();
        collectWhenIdle();
        await supervise([system, server.aggregator, certificates], signal);
        log.info("stopping", { reason: explain(signal.reason) });
        if (delayMs > 0) await systemClock.sleep(delayMs, new AbortController().signal);
      } finally {
        await front.close(graceMs); // also after a failure: what listens keeps the process alive
      }
    },
  };
}

async function serveInsecurely(front: HttpsFront, settings: ApiServerSettings, log: Log): Promise<void> {
  const address = settings["insecure-bind-address"];
  const port = await front.listenUnsecured(settings["insecure-port"], address);
  log.warn("serving without TLS: whoever can connect may do everything", { port, address });
}

/** Strangers are not served where whoever is known may do everything: nobody means to give them that. */
function strangersServed(settings: ApiServerSettings, { anonymous }: TokenIssuers, log: Log): AnonymousService {
  if (letsEverybodyIn(settings)) {
    if (settings["anonymous-auth"])
      log.warn("anonymous requests are refused, because AlwaysAllow would let them do everything");
    return false;
  }
  if (!anonymous) return settings["anonymous-auth"];
  return (path) => {
    const { enabled, paths } = anonymous() ?? { enabled: settings["anonymous-auth"], paths: [] };
    return enabled && (paths.length === 0 || paths.includes(path));
  };
}
