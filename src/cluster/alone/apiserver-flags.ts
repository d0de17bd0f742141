// The flags of an API server that runs alone, and what they must not say.
import { usualAddressTypes } from "#apiserver/connect/location.ts";
import type { ServiceNetwork } from "#apiserver/strategies/service/ranges.ts";
import { UsageError } from "#base/errors.ts";
import type { FlagValues } from "#cli/flags.ts";
import { parseIp } from "#schema/ip.ts";
import { isLoopback } from "#serving/host/https/unsecured.ts";
import { admissionFlags } from "../admission-settings.ts";
import { advertisedAddress } from "../advertised-address.ts";
import { auditFlags } from "../audit-settings.ts";
import { authorizationFlags } from "../authorization-settings.ts";
import { encryptionFlags } from "../encryption-settings.ts";
import { frontProxyFlags } from "../front-proxy.ts";
import { identityFlags } from "../identity-options.ts";
import { ineffectiveServerFlags } from "../ineffective-flags.ts";
import { kubeletTrustFlags } from "../kubelet-trust.ts";
import { requestLimitFlags } from "../request-limits.ts";
import { serverNameFlags } from "../server-names.ts";
import { http2Flags, tlsFlags } from "../tls-settings.ts";
import { tokenIssuerFlags } from "../token-issuers.ts";
import { upstreamFlags } from "../upstream-flags.ts";

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
  ...serverNameFlags,
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
  ...kubeletTrustFlags,
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
export type ApiServerSettings = FlagValues<typeof flags>;

export const apiserverFlags = { ...ineffectiveServerFlags, ...flags };

/** Before anything is opened: nobody should find this out from a log. */
export function checkPorts(settings: ApiServerSettings): void {
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

export function addressFor(settings: ApiServerSettings, network: ServiceNetwork): string | undefined {
  const given = settings["advertise-address"];
  const [{ family }] = network.addresses;
  if (given !== undefined && `IPv${parseIp(given)?.family}` !== family)
    throw new UsageError(
      `--advertise-address: ${JSON.stringify(given)} is not an ${family} address, as --service-cluster-ip-range is`,
    );
  return given ?? advertisedAddress(network);
}

const nodeAddressTypes: ReadonlySet<string> = new Set(usualAddressTypes);

/** In the order in which nodes are tried; undefined for the usual one. Throws UsageError. */
export function addressTypesOf(settings: ApiServerSettings): readonly string[] | undefined {
  const addressTypes = settings["kubelet-preferred-address-types"];
  const unknown = addressTypes.find((type) => !nodeAddressTypes.has(type));
  if (unknown !== undefined)
    throw new UsageError(
      `--kubelet-preferred-address-types: ${JSON.stringify(unknown)} is not known; use ${[...nodeAddressTypes].join(", ")}`,
    );
  return addressTypes.length > 0 ? addressTypes : undefined;
}
