// How servers speak TLS and HTTP/2, by upstream's flags.
import { UsageError } from "#base/errors.ts";
import type { Random } from "#base/random.ts";
import type { FlagValues } from "#cli/flags.ts";
import type { HttpsOptions } from "#serving/host/https/front.ts";

export const tlsFlags = {
  "tls-min-version": {
    type: "string",
    value: "VersionTLS12|VersionTLS13",
    default: "VersionTLS12",
    help: "Oldest version of TLS that is spoken",
  },
  "tls-cipher-suites": {
    type: "strings",
    value: "NAMES",
    help: "Suites that may be chosen with TLS 1.2, by Go's names; those of TLS 1.3 may be in any case",
  },
} as const;

export const http2Flags = {
  "http2-max-streams-per-connection": {
    type: "int",
    default: 0,
    help: "How many requests at a time a client may have on one connection; 0 is 1000",
  },
  "goaway-chance": {
    type: "string",
    value: "SHARE",
    default: "0",
    help: "Share of requests over HTTP/2 after which the client is told to connect anew, to whatever server it finds then; at most 0.02",
  },
} as const;

const tlsVersions: ReadonlyMap<string, NonNullable<HttpsOptions["minVersion"]>> = new Map([
  ["VersionTLS12", "TLSv1.2"],
  ["VersionTLS13", "TLSv1.3"],
]);

/** Those of TLS 1.3 have the same names everywhere, and cannot be chosen among, as with Go. */
const newSuites = ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"];

/** OpenSSL's names of Go's suites for TLS 1.2. Go calls those insecure that have no forward secrecy; they have to be asked for. */
const suites: Readonly<Record<string, string>> = {
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA: "ECDHE-ECDSA-AES128-SHA",
  TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA: "ECDHE-ECDSA-AES256-SHA",
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA: "ECDHE-RSA-AES128-SHA",
  TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA: "ECDHE-RSA-AES256-SHA",
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: "ECDHE-ECDSA-AES128-GCM-SHA256",
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: "ECDHE-ECDSA-AES256-GCM-SHA384",
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: "ECDHE-RSA-AES128-GCM-SHA256",
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: "ECDHE-RSA-AES256-GCM-SHA384",
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: "ECDHE-RSA-CHACHA20-POLY1305",
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305: "ECDHE-RSA-CHACHA20-POLY1305",
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: "ECDHE-ECDSA-CHACHA20-POLY1305",
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305: "ECDHE-ECDSA-CHACHA20-POLY1305",
  TLS_RSA_WITH_AES_128_CBC_SHA: "AES128-SHA",
  TLS_RSA_WITH_AES_256_CBC_SHA: "AES256-SHA",
  TLS_RSA_WITH_AES_128_GCM_SHA256: "AES128-GCM-SHA256",
  TLS_RSA_WITH_AES_256_GCM_SHA384: "AES256-GCM-SHA384",
};

/** Throws UsageError. */
export function tlsBy(settings: FlagValues<typeof tlsFlags>): Pick<HttpsOptions, "minVersion" | "ciphers"> {
  const asked = settings["tls-min-version"];
  const minVersion = tlsVersions.get(asked);
  if (!minVersion)
    throw new UsageError(
      `--tls-min-version: ${JSON.stringify(asked)} is not spoken; use ${[...tlsVersions.keys()].join(" or ")}`,
    );
  const names = settings["tls-cipher-suites"];
  const known = (name: string) => newSuites.includes(name) || Object.hasOwn(suites, name);
  const unknown = names.find((name) => !known(name));
  if (unknown !== undefined)
    throw new UsageError(`--tls-cipher-suites: Cipher suite ${unknown} not supported or doesn't exist`);
  if (names.length === 0) return { minVersion };
  return { minVersion, ciphers: [...newSuites, ...names.flatMap((name) => suites[name] ?? [])].join(":") };
}

/** Throws UsageError. */
export function http2By(
  settings: FlagValues<typeof http2Flags>,
  random: Random,
): Pick<HttpsOptions, "limits" | "sendsAway"> {
  const streams = settings["http2-max-streams-per-connection"];
  if (streams < 0) throw new UsageError(`--http2-max-streams-per-connection: ${streams} is less than none`);
  const chance = Number(settings["goaway-chance"]);
  if (settings["goaway-chance"].trim() === "" || !(chance >= 0 && chance <= mostAway))
    throw new UsageError(`--goaway-chance can not be less than 0 or greater than ${mostAway}`);
  return {
    ...(streams > 0 && { limits: { streams } }),
    ...(chance > 0 && { sendsAway: () => random.next() < chance }),
  };
}

const mostAway = 0.02;
