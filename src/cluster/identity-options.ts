import { generateKeyPairSync } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AssemblyOptions } from "#apiserver/assembly/options.ts";
import { basicPasswords } from "#apiserver/authentication/basic-passwords.ts";
import type { TokenKeys } from "#apiserver/authentication/service-account-tokens.ts";
import { staticTokens } from "#apiserver/authentication/token-authenticators.ts";
import { type ExternalSignerOptions, externalSigner } from "#apiserver/host/external-signer.ts";
import { tokenKeys } from "#apiserver/host/token-keys.ts";
import { systemClock } from "#base/clock.ts";
import { DurationError, parseDuration } from "#base/duration.ts";
import { UsageError } from "#base/errors.ts";
import { makeFolder } from "#base/host/make-folder.ts";
import { type FlagValues, parseFlags } from "#cli/flags.ts";
import { asPrivateKey, asPublicKey, flagFile } from "#cli/host/flag-file.ts";
import { certificateAuthenticator } from "#serving/host/certificate-authenticator.ts";
import { type CertificateFlags, certificateFolder } from "./serving-certificates.ts";

/** The options of authentication, by the names of the flags. */
export const identityFlags = {
  "token-auth-file": { type: "string", value: "FILE", help: 'Lines of token,user,uid,"group,group"' },
  "basic-auth-file": {
    type: "string",
    value: "FILE",
    help: 'Lines of password,user,uid,"group,group"; passwords travel with every request, so prefer anything else',
  },
  "enable-bootstrap-token-auth": {
    type: "bool",
    default: false,
    help: "Believe tokens of secrets of type bootstrap.kubernetes.io/token in kube-system, by which nodes join",
  },
  "anonymous-auth": {
    type: "bool",
    default: true,
    help: "Serve those who show nothing, as system:anonymous; otherwise they are refused, also by the paths of health",
  },
  "service-account-issuer": {
    type: "strings",
    value: "URLS",
    help: "Who issues tokens of service accounts: the first makes them, all are believed",
  },
  "service-account-signing-key-file": {
    type: "string",
    value: "FILE",
    help: "Key that signs tokens of service accounts; defaults to one of our own",
  },
  "service-account-signing-endpoint": {
    type: "string",
    value: "SOCKET",
    help: "Socket of a service that signs tokens of service accounts and has the keys to check them, instead of files",
  },
  "service-account-key-file": {
    type: "strings",
    value: "FILES",
    help: "Further keys whose tokens of service accounts are believed",
  },
  "service-account-jwks-uri": { type: "string", value: "URL", help: "Where others find the public keys" },
  "service-account-max-token-expiration": {
    type: "string",
    value: "DURATION",
    help: "Longest life of a token of a service account; defaults to as asked for",
  },
  "service-account-extend-token-expiration": {
    type: "bool",
    default: true,
    help: "Let tokens in pods live a year where nobody chose a time",
  },
  "api-audiences": {
    type: "strings",
    value: "NAMES",
    help: "Names of the server for which tokens are good; defaults to its issuers",
  },
} as const;

export type IdentitySettings = FlagValues<typeof identityFlags> & Pick<CertificateFlags, "cert-dir" | "data-dir">;

/** The options without any flags; keys of our own are kept in this folder. */
export const usualIdentity = (folder: string): IdentitySettings => ({
  ...parseFlags(identityFlags, []).flags,
  "cert-dir": folder,
  "data-dir": undefined,
});

const defaultIssuer = "https://kubernetes.default.svc.cluster.local";
const minMaxSeconds = 3600;
const maxMaxSeconds = 2 ** 32;

type IdentityOptions = Pick<
  AssemblyOptions,
  "authenticators" | "tokens" | "bootstrapTokens" | "servesAnonymous" | "serviceAccounts" | "audiences"
>;

/** `signer` is the service that `--service-account-signing-endpoint` names, once it has answered. */
export function identityOptions(
  settings: IdentitySettings,
  clientCa: string | undefined,
  signer?: TokenKeys,
): IdentityOptions {
  const given = settings["service-account-issuer"];
  const issuers = given.length > 0 ? given : [defaultIssuer];
  const audiences = settings["api-audiences"].length > 0 ? settings["api-audiences"] : issuers;
  const tokenFile = settings["token-auth-file"];
  const passwordFile = settings["basic-auth-file"];
  return {
    authenticators: [
      ...(clientCa === undefined ? [] : [certificateAuthenticator(systemClock)]),
      ...(passwordFile === undefined ? [] : [flagFile("basic-auth-file", passwordFile, basicPasswords)]),
    ],
    bootstrapTokens: settings["enable-bootstrap-token-auth"],
    tokens:
      tokenFile === undefined ? [] : [flagFile("token-auth-file", tokenFile, (text) => staticTokens(text, audiences))],
    servesAnonymous: settings["anonymous-auth"],
    audiences,
    serviceAccounts: {
      keys:
        signer ??
        tokenKeys(
          signingKey(settings),
          settings["service-account-key-file"].map((file) => flagFile("service-account-key-file", file, asPublicKey)),
        ),
      issuers,
      keySetUrl: settings["service-account-jwks-uri"],
      maxExpirationSeconds: maxExpirationSeconds(settings["service-account-max-token-expiration"], signer?.maxSeconds),
      extendExpiration: settings["service-account-extend-token-expiration"],
    },
  };
}

/** The one that was given, or our own: made at the first start beside the certificates, or for this run alone where there is no folder. */
function signingKey(settings: IdentitySettings): string {
  const given = settings["service-account-signing-key-file"];
  if (given !== undefined) return flagFile("service-account-signing-key-file", given, asPrivateKey);
  const folder = certificateFolder(settings);
  return folder === undefined ? newSigningKey() : signingKeyIn(folder);
}

export const signingKeyName = "sa.key";

/** The key in a folder of certificates that tokens of service accounts are signed with, made at the first call. */
export function signingKeyIn(folder: string): string {
  const file = join(folder, signingKeyName);
  if (existsSync(file)) return readFileSync(file, "utf8");
  const key = newSigningKey();
  makeFolder(folder);
  writeFileSync(file, key, { mode: 0o600 });
  return key;
}

const newSigningKey = (): string =>
  generateKeyPairSync("ec", {
    namedCurve: "P-256",
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  }).privateKey;

function maxExpirationSeconds(text: string | undefined, ofSigner: number | undefined): number | undefined {
  if (text === undefined) return ofSigner;
  const seconds = Number(durationOf(text)) / 1e9;
  if (seconds < minMaxSeconds || seconds > maxMaxSeconds)
    throw new UsageError(
      `--service-account-max-token-expiration is at least 1h and at most 2^32 seconds, not ${JSON.stringify(text)}`,
    );
  if (ofSigner !== undefined && seconds > ofSigner)
    throw new UsageError(
      `--service-account-max-token-expiration: the signer lets tokens live ${ofSigner} s at most, not ${seconds} s`,
    );
  return seconds;
}

/** The service that signs, where one is named. Rejects if it does not answer as it should. */
export async function externalSignerOf(
  settings: IdentitySettings,
  world: Omit<ExternalSignerOptions, "endpoint">,
): Promise<TokenKeys | undefined> {
  const endpoint = settings["service-account-signing-endpoint"];
  if (endpoint === undefined) return undefined;
  for (const flag of ["service-account-signing-key-file", "service-account-key-file"] as const)
    if ((settings[flag] ?? []).length > 0)
      throw new UsageError(`--${flag} and --service-account-signing-endpoint cannot be given together`);
  const path = endpoint.replace(/^unix:(\/\/)?/, "");
  if (!/^(\/|@)./.test(path))
    throw new UsageError(`--service-account-signing-endpoint: ${JSON.stringify(endpoint)} is no absolute path`);
  return externalSigner({ ...world, endpoint: `unix://${path}` });
}

function durationOf(text: string): bigint {
  try {
    return parseDuration(text);
  } catch (error) {
    if (error instanceof DurationError)
      throw new UsageError(`--service-account-max-token-expiration: ${error.message}`);
    throw error;
  }
}
