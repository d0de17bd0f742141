// Authenticating proxies in front of this server, and this server as such a proxy in front of aggregated ones.
import { systemClock } from "#base/clock.ts";
import { UsageError } from "#base/errors.ts";
import type { Log } from "#base/log.ts";
import type { FlagValues } from "#cli/flags.ts";
import { asCertificates, asPrivateKey, flagFile, isPair } from "#cli/host/flag-file.ts";
import type { Authenticator } from "#serving/authentication.ts";
import { frontProxyAuthority, requestHeaderAuthenticator } from "#serving/host/request-header-authenticator.ts";
import type { RequestHeaderTrust } from "#serving/request-headers.ts";
import type { KeyPair } from "./certificates.ts";
import { type FrontProxyCertificates, frontProxyName } from "./control-plane-certificates.ts";

export const frontProxyFlags = {
  "requestheader-client-ca-file": {
    type: "string",
    value: "FILE",
    help: "Authority of proxies that are believed when they say in headers who asks",
  },
  "requestheader-allowed-names": {
    type: "strings",
    value: "NAMES",
    help: "Names of those proxies in their certificates; without it all that the authority has signed",
  },
  "requestheader-username-headers": { type: "strings", value: "HEADERS", help: "Headers that name the user" },
  "requestheader-uid-headers": { type: "strings", value: "HEADERS", help: "Headers with the user's UID" },
  "requestheader-group-headers": { type: "strings", value: "HEADERS", help: "Headers that name the user's groups" },
  "requestheader-extra-headers-prefix": {
    type: "strings",
    value: "PREFIXES",
    help: "How the headers begin that tell more of the user",
  },
  "proxy-client-cert-file": {
    type: "string",
    value: "FILE",
    help: "Certificate to show to aggregated API servers; defaults to one of our own where the serving certificate is",
  },
  "proxy-client-key-file": { type: "string", value: "FILE", help: "Key of that certificate" },
  "enable-aggregator-routing": {
    type: "bool",
    default: false,
    help: "Reach aggregated API servers at the endpoints of their services instead of the services' addresses",
  },
} as const;

type FrontProxySettings = FlagValues<typeof frontProxyFlags>;

export interface FrontProxy {
  /** The proxies whose headers are believed; none without it. */
  readonly trust: RequestHeaderTrust | undefined;
  /** Who this server is to aggregated ones. */
  readonly client: KeyPair | undefined;
}

/** As kubeadm sets it up. */
export const ownFrontProxy = ({ authority, client }: FrontProxyCertificates): FrontProxy => ({
  trust: {
    clientCa: authority,
    names: {
      username: ["X-Remote-User"],
      uid: ["X-Remote-Uid"],
      group: ["X-Remote-Group"],
      extraPrefixes: ["X-Remote-Extra-"],
    },
    allowedNames: [frontProxyName],
  },
  client,
});

/** As the flags say; where they name neither an authority nor a certificate, our own, if there are any. Throws UsageError. */
export function frontProxyBy(
  settings: FrontProxySettings,
  own: FrontProxyCertificates | undefined,
  log: Log,
): FrontProxy {
  checkNames(settings, log);
  const usual = own && ownFrontProxy(own);
  const caFile = settings["requestheader-client-ca-file"];
  return {
    trust: caFile === undefined ? usual?.trust : trustBy(settings, caFile),
    client: clientBy(settings) ?? (caFile === undefined ? usual?.client : undefined),
  };
}

const trustBy = (settings: FrontProxySettings, caFile: string): RequestHeaderTrust => ({
  clientCa: flagFile("requestheader-client-ca-file", caFile, asCertificates),
  names: {
    username: settings["requestheader-username-headers"],
    uid: settings["requestheader-uid-headers"],
    group: settings["requestheader-group-headers"],
    extraPrefixes: settings["requestheader-extra-headers-prefix"],
  },
  allowedNames: settings["requestheader-allowed-names"],
});

function clientBy(settings: FrontProxySettings): KeyPair | undefined {
  const [certFile, keyFile] = [settings["proxy-client-cert-file"], settings["proxy-client-key-file"]];
  if ((certFile === undefined) !== (keyFile === undefined))
    throw new UsageError("--proxy-client-cert-file and --proxy-client-key-file belong together");
  if (certFile === undefined || keyFile === undefined) return undefined;
  const cert = flagFile("proxy-client-cert-file", certFile, asCertificates);
  const key = flagFile("proxy-client-key-file", keyFile, asPrivateKey);
  if (!isPair(cert, key))
    throw new UsageError(`--proxy-client-key-file: ${keyFile} is not the key of the certificate in ${certFile}`);
  return { cert, key };
}

const standard = {
  "requestheader-username-headers": "X-Remote-User",
  "requestheader-uid-headers": "X-Remote-Uid",
  "requestheader-group-headers": "X-Remote-Group",
  "requestheader-extra-headers-prefix": "X-Remote-Extra-",
} as const;

/** This server sends the standard headers to those behind it, which believe what the flags name here. */
function checkNames(settings: FrontProxySettings, log: Log): void {
  const flags = Object.keys(standard) as (keyof typeof standard)[];
  for (const flag of [...flags, "requestheader-allowed-names"] as const)
    if (settings[flag].some((name) => name.trim() === ""))
      throw new UsageError(`empty value in ${JSON.stringify(flag)}`);
  for (const flag of flags) {
    const names = settings[flag];
    if (names.length === 0 || names.some((name) => name.toLowerCase() === standard[flag].toLowerCase())) continue;
    const text = `--${flag} is set without specifying the standard ${standard[flag]} header - API aggregation will not work`;
    if (flag === "requestheader-uid-headers") throw new UsageError(text);
    log.warn(text);
  }
}

/** What the front and the chain of authenticators take from it: the proxies come before the users' own certificates. */
export const trusting = (
  trust: RequestHeaderTrust | undefined,
): { readonly authenticators: readonly Authenticator[]; readonly otherClientCas: Readonly<Record<string, string>> } =>
  trust
    ? {
        authenticators: [requestHeaderAuthenticator(trust, systemClock)],
        otherClientCas: { [frontProxyAuthority]: trust.clientCa },
      }
    : { authenticators: [], otherClientCas: {} };
