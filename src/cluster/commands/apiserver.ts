import { hostname } from "node:os";
import { admissionOf } from "#apiserver/admission/configuration.ts";
import { assembleApiServer } from "#apiserver/assemble.ts";
import { unsecured } from "#apiserver/authentication/token-authenticators.ts";
import { usualAddressTypes } from "#apiserver/connect/location.ts";
import { type KubeletConnectionOptions, kubeletConnection } from "#apiserver/host/kubelet-connection.ts";
import { remoteConnections } from "#apiserver/host/remote-connections.ts";
import { webhookConnections } from "#apiserver/host/webhook-connections.ts";
import { unknownMethod } from "#apiserver/respond.ts";
import { servedBy } from "#apiserver/served/runtime-config.ts";
import { parseAddressRanges, parsePortRange, type ServiceNetwork } from "#apiserver/strategies/service/ranges.ts";
import { systemClock } from "#base/clock.ts";
import { explain, UsageError } from "#base/errors.ts";
import { compileSooner } from "#base/host/compile-sooner.ts";
import { writeToStderr } from "#base/host/stderr.ts";
import { createLog, type Log } from "#base/log.ts";
import { systemRandom } from "#base/random.ts";
import { type Component, outlive, supervise } from "#base/supervise.ts";
import type { Command } from "#cli/command.ts";
import { delayFlag, durationFlag } from "#cli/duration-flag.ts";
import { type FlagValues, flagsHelp, flagTexts, parseFlags } from "#cli/flags.ts";
import { asText, flagFile } from "#cli/host/flag-file.ts";
import { parseIp } from "#schema/ip.ts";
import type { AnonymousService } from "#serving/authentication.ts";
import { type HttpsFront, httpsFront } from "#serving/host/https/front.ts";
import { isLoopback } from "#serving/host/https/unsecured.ts";
import { yamlThread } from "#wire/host/yaml-thread.ts";
import { admissionFlags, admissionSettings } from "../admission-settings.ts";
import { advertisedAddress } from "../advertised-address.ts";
import { auditFlags, auditOf } from "../audit-settings.ts";
import { authorizationFlags, authorizationOf, letsEverybodyIn } from "../authorization-settings.ts";
import { componentProbe } from "../component-probe.ts";
import { encryptionFlags, openEncrypted } from "../encryption-settings.ts";
import { frontProxyFlags, trusting } from "../front-proxy.ts";
import { identityFlags, identityOptions } from "../identity-options.ts";
import { ineffectiveServerFlags, warnOfIneffective } from "../ineffective-flags.ts";
import { checkStore, openStore } from "../open-store.ts";
import { processMetrics } from "../process-metrics.ts";
import { requestLimitFlags, requestLimitsBy } from "../request-limits.ts";
import { frontCertificates, serverCertificates } from "../server-certificates.ts";
import { http2By, http2Flags, tlsBy, tlsFlags } from "../tls-settings.ts";
import { type TokenIssuers, tokenIssuerFlags, tokenIssuers } from "../token-issuers.ts";
import { checkUpstreamFlags, upstreamFlags, warnOfUpstreamFlags } from "../upstream-flags.ts";
import { apiVersionInfo } from "../version.ts";

const flags = {
  "secure-port": { type: "int", default: 6443, help: "Port to serve HTTPS on; 0 takes a free one" },
  "bind-address": { type: "string", default: "0.0.0.0", help: "Address to listen on" },
  "insecure-port": {
    type: "int",
    default: 0,
    help: "Port to serve HTTP on without TLS, and without asking who it is: whoever connects may do everything; 0 is off",
  },
  "insecure-bind-address": {
    type: "string",
    default: "127.0.0.1",
    help: "Address of the insecure port; only those of this machine alone are taken",
  },
  "advertise-address": {
    type: "string",
    value: "IP",
    help: "Address at which pods reach this server; defaults to one of this machine",
  },
  "tls-cert-file": { type: "string", value: "FILE", help: "Certificate to serve with" },
  "tls-private-key-file": { type: "string", value: "FILE", help: "Key of that certificate" },
  ...tlsFlags,
  ...http2Flags,
  "cert-dir": {
    type: "string",
    value: "FOLDER",
    help: "Where our own certificates are kept when none are given; defaults to pki in the data folder",
  },
  "client-ca-file": { type: "string", value: "FILE", help: "Authority whose client certificates are believed" },
  ...identityFlags,
  ...frontProxyFlags,
  ...tokenIssuerFlags,
  ...authorizationFlags,
  store: {
    type: "string",
    value: "embedded|memory",
    help: "Where state lives when no etcd is named",
    default: "embedded",
  },
  "data-dir": { type: "string", value: "FOLDER", help: "Folder of the embedded store" },
  "etcd-servers": { type: "strings", value: "URLS", help: "Endpoints of an etcd to keep state in" },
  "etcd-cafile": { type: "string", value: "FILE", help: "Authority of the etcd's certificates" },
  "etcd-certfile": { type: "string", value: "FILE", help: "Certificate to show to the etcd" },
  "etcd-keyfile": { type: "string", value: "FILE", help: "Key of that certificate" },
  "service-cluster-ip-range": {
    type: "string",
    value: "CIDR",
    default: "10.96.0.0/16",
    help: "Range of service addresses",
  },
  "service-node-port-range": { type: "string", value: "A-B", default: "30000-32767", help: "Range of node ports" },
  "kubelet-client-certificate": { type: "string", value: "FILE", help: "Certificate to show to kubelets" },
  "kubelet-client-key": { type: "string", value: "FILE", help: "Key of that certificate" },
  "kubelet-certificate-authority": {
    type: "string",
    value: "FILE",
    help: "Authority of the kubelets' certificates; without it any is believed",
  },
  "kubelet-preferred-address-types": {
    type: "strings",
    value: "TYPES",
    help: "Which addresses of nodes lead to their kubelets, best first; defaults to Hostname,InternalDNS,InternalIP,ExternalDNS,ExternalIP",
  },
  ...encryptionFlags,
  ...admissionFlags,
  ...auditFlags,
  ...upstreamFlags,
  ...requestLimitFlags,
  "event-ttl": { type: "string", value: "DURATION", default: "1h0m0s", help: "How long events are kept" },
  "shutdown-delay-duration": {
    type: "string",
    value: "DURATION",
    default: "0s",
    help: "How long to go on serving when told to stop, while /readyz says so: time for others to turn elsewhere",
  },
  v: { type: "int", default: 0, help: "Log more: 2 adds details" },
} as const;
type Settings = FlagValues<typeof flags>;

export const apiserverFlags = { ...ineffectiveServerFlags, ...flags };

/** How long requests that are under way at the end may still take. */
const graceMs = 10_000;

export const apiserver: Command = {
  use: "apiserver [FLAGS]",
  help: flagsHelp(apiserverFlags),
  async run(args) {
    const { flags: settings, rest } = parseFlags(apiserverFlags, args);
    if (rest.length > 0) throw new UsageError(`apiserver takes no arguments, got ${JSON.stringify(rest[0])}`);
    const log = createLog({ clock: systemClock, level: settings.v >= 2 ? "debug" : "info", write: writeToStderr });
    const stop = new AbortController();
    for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort(new Error(`got ${name}`)));
    await serve(settings, log, stop.signal);
  },
};

async function serve(settings: Settings, log: Log, signal: AbortSignal): Promise<void> {
  checkPorts(settings);
  checkStore(settings);
  checkUpstreamFlags(settings);
  warnOfUpstreamFlags(settings, log);
  warnOfIneffective(settings, log);
  const delayMs = delayFlag("shutdown-delay-duration", settings["shutdown-delay-duration"]);
  const eventSeconds = Math.ceil(durationFlag("event-ttl", settings["event-ttl"]) / 1000);
  const requestLimits = requestLimitsBy(settings);
  const spoken = { ...tlsBy(settings), ...http2By(settings, systemRandom) };
  const certificates = serverCertificates(settings, { clock: systemClock, log });
  const { clientCa, proxy: frontProxy } = certificates.current;
  const proxies = trusting(frontProxy.trust);
  const network = {
    addresses: parseAddressRanges(settings["service-cluster-ip-range"]),
    nodePorts: parsePortRange(settings["service-node-port-range"]),
  };
  const address = addressFor(settings, network);
  const nodes = kubeletConnection(kubeletOptions(settings));
  const webhooks = webhookConnections();
  const remote = remoteConnections(() => certificates.current.proxy.client);
  const identity = identityOptions(settings, clientCa);
  const world = { clock: systemClock, log, signal };
  const { audiences } = identity;
  const ownIssuers = identity.serviceAccounts?.issuers ?? [];
  const issuers = tokenIssuers(settings, { ...world, audiences, ownIssuers });
  const authorizers = authorizationOf(settings, world);
  const admission = admissionOf(admissionSettings(settings));
  const served = servedBy(settings["runtime-config"], settings["enable-admission-plugins"]);
  const metrics = processMetrics();
  const audit = await auditOf(settings, { clock: systemClock, log, metrics });
  const { store, healthChecks } = await openEncrypted(settings, { ...world, random: systemRandom, metrics }, () =>
    openStore(settings, log, metrics),
  );
  try {
    const server = assembleApiServer({
      store,
      clock: systemClock,
      random: systemRandom,
      log,
      ...identity,
      servesAnonymous: strangersServed(settings, issuers, log),
      authenticators: [
        ...(settings["insecure-port"] > 0 ? [unsecured] : []),
        ...proxies.authenticators,
        ...identity.authenticators,
      ],
      authorizers,
      remoteTokens: issuers.tokens,
      bootstrapPolicy: true,
      admission,
      ...served,
      nodes,
      webhooks,
      network,
      aggregation: {
        connection: remote,
        routesToEndpoints: settings["enable-aggregator-routing"],
        believed: frontProxy.trust?.names,
      },
      components: [componentProbe("scheduler", 10259), componentProbe("controller-manager", 10257)],
      healthChecks,
      version: apiVersionInfo(settings.version),
      flags: flagTexts(settings),
      stopping: signal,
      eventSeconds,
      ...requestLimits,
      readYaml: yamlThread(systemClock),
      ...(audit && { audit }),
      metrics,
    });
    const front = httpsFront({
      ...frontCertificates(certificates.current),
      handler: server.handle,
      unknownMethod: unknownMethod(),
      log,
      ...spoken,
    });
    certificates.subscribe((now) => front.renew(frontCertificates(now)));
    const https: Component = {
      name: "https",
      async run(inner) {
        const port = await front.listen(settings["secure-port"], settings["bind-address"]);
        await server.ready(inner);
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
        await system.attempt(inner);
        certificates.current.writeKubeconfig(port);
        certificates.subscribe((now) => now.writeKubeconfig(port));
        if (settings["insecure-port"] > 0) await serveInsecurely(front, settings, log);
        log.info("serving", { port, address: settings["bind-address"] });
        compileSooner();
        await supervise([system, server.aggregator, certificates], inner);
        log.info("stopping", { reason: explain(inner.reason) });
        if (delayMs > 0) await systemClock.sleep(delayMs, new AbortController().signal);
        await front.close(graceMs);
      },
    };
    await outlive(server, https, signal);
  } finally {
    nodes.close();
    remote.close();
    webhooks.close();
    await audit?.sink.close();
    await store.close();
  }
}

/** Before anything is opened: nobody should find this out from a log. */
function checkPorts(settings: Settings): void {
  for (const name of ["secure-port", "insecure-port"] as const) {
    const port = settings[name];
    if (port < 0 || port > 65_535) throw new UsageError(`--${name}: ${port} is no port`);
  }
  const address = settings["insecure-bind-address"];
  if (!isLoopback(address))
    throw new UsageError(
      `--insecure-bind-address: ${JSON.stringify(address)} can be reached from elsewhere; only 127.0.0.1 and ::1 are taken`,
    );
}

async function serveInsecurely(front: HttpsFront, settings: Settings, log: Log): Promise<void> {
  const address = settings["insecure-bind-address"];
  const port = await front.listenUnsecured(settings["insecure-port"], address);
  log.warn("serving without TLS: whoever can connect may do everything", { port, address });
}

function addressFor(settings: Settings, network: ServiceNetwork): string | undefined {
  const given = settings["advertise-address"];
  const [{ family }] = network.addresses;
  if (given !== undefined && `IPv${parseIp(given)?.family}` !== family)
    throw new UsageError(
      `--advertise-address: ${JSON.stringify(given)} is not an ${family} address, as --service-cluster-ip-range is`,
    );
  return given ?? advertisedAddress(network);
}

const nodeAddressTypes: ReadonlySet<string> = new Set(usualAddressTypes);

function kubeletOptions(settings: Settings): KubeletConnectionOptions {
  const read = (name: "kubelet-client-certificate" | "kubelet-client-key" | "kubelet-certificate-authority") => {
    const file = settings[name];
    return file === undefined ? undefined : flagFile(name, file, asText);
  };
  const [cert, key] = [read("kubelet-client-certificate"), read("kubelet-client-key")];
  const ca = read("kubelet-certificate-authority");
  if ((cert === undefined) !== (key === undefined))
    throw new UsageError("--kubelet-client-certificate and --kubelet-client-key belong together");
  const addressTypes = settings["kubelet-preferred-address-types"];
  const unknown = addressTypes.find((type) => !nodeAddressTypes.has(type));
  if (unknown !== undefined)
    throw new UsageError(
      `--kubelet-preferred-address-types: ${JSON.stringify(unknown)} is not known; use ${[...nodeAddressTypes].join(", ")}`,
    );
  return {
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(ca !== undefined && { ca }),
    ...(addressTypes.length > 0 && { addressTypes }),
  };
}

/** Strangers are not served where whoever is known may do everything: nobody means to give them that. */
function strangersServed(settings: Settings, { anonymous }: TokenIssuers, log: Log): AnonymousService {
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
