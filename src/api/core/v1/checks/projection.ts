// Several sources in one folder: each by itself, and no two of them at one path.
// Upstream: pkg/apis/core/validation/validation.go.
import { byteLength, dns1123Label, dns1123Subdomain } from "#schema/formats.ts";
import { forbidden, invalid, notSupported, type Problem, required, tooLong } from "#schema/index.ts";
import { annotationProblems } from "#schema/validate-metadata.ts";
import type {
  ClusterTrustBundleProjection,
  PodCertificateProjection,
  ProjectedVolumeSource,
  ServiceAccountTokenProjection,
  VolumeProjection,
} from "../volume.ts";
import { notReserved } from "./paths.ts";
import { each, malformed, quoted, under } from "./problems.ts";
import { checkDownwardFile } from "./volumes.ts";

export function* checkProjection({ sources }: ProjectedVolumeSource): Iterable<Problem> {
  const taken = new Set<string>();
  for (const [at, source] of each("sources", sources)) {
    yield* checkSource(at, source);
    for (const [path, shown] of pathsOf(source)) {
      if (taken.has(path)) yield invalid("", "conflicting duplicate paths", shown);
      taken.add(path);
    }
    if (Object.values(source).filter((part) => part !== undefined).length > 1)
      yield forbidden(at, "may not specify more than 1 volume type per source");
  }
}

function* checkSource(at: string, source: VolumeProjection): Iterable<Problem> {
  if (source.secret && !source.secret.name) yield required(`${at}.secret.name`);
  if (source.configMap && !source.configMap.name) yield required(`${at}.configMap.name`);
  // Upstream leaves the index out of these paths, and the source out of that of a token.
  for (const file of source.downwardAPI?.items ?? []) yield* under(`${at}.downwardAPI`, checkDownwardFile(file));
  if (source.serviceAccountToken) yield* checkToken(`${at}.serviceAccountToken`, source.serviceAccountToken);
  if (source.clusterTrustBundle) yield* under(`${at}.clusterTrustBundle`, checkTrustBundle(source.clusterTrustBundle));
  if (source.podCertificate) yield* under(`${at}.podCertificate`, checkPodCertificate(source.podCertificate));
}

/** The files a source makes, each with what is shown when another makes it too. */
function* pathsOf(source: VolumeProjection): Iterable<[path: string, shown: string]> {
  for (const keys of [source.secret, source.configMap])
    for (const { path } of keys?.items ?? []) if (path) yield [path, keys?.name ?? ""];
  for (const { path } of source.downwardAPI?.items ?? []) if (path) yield [path, path];
  const certificate = source.podCertificate;
  for (const path of [
    source.clusterTrustBundle?.path,
    certificate?.credentialBundlePath,
    certificate?.keyPath,
    certificate?.certificateChainPath,
  ])
    if (path) yield [path, path];
}

function* checkToken(at: string, { expirationSeconds, path }: ServiceAccountTokenProjection): Iterable<Problem> {
  if (expirationSeconds < 10 * 60)
    yield invalid(`${at}.expirationSeconds`, "may not specify a duration less than 10 minutes");
  if (expirationSeconds > 2 ** 32)
    yield invalid(`${at}.expirationSeconds`, "may not specify a duration larger than 2^32 seconds");
  if (path === "") yield required("path");
  else yield* notReserved("path", path);
}

function* checkTrustBundle(bundle: ClusterTrustBundleProjection): Iterable<Problem> {
  const { name, signerName, labelSelector, path } = bundle;
  if (name !== undefined && signerName !== undefined)
    yield invalid("", "only one of name and signerName may be used", bundle);
  else if (name !== undefined) {
    if (name === "") yield required("name", "must be a valid object name");
    for (const message of bundleName(name)) yield invalid("name", `not a valid clustertrustbundlename: ${message}`);
    if (labelSelector) yield invalid("labelSelector", "labelSelector must be unset if name is specified");
  } else if (signerName !== undefined) {
    if (signerName === "") yield required("signerName", "must be a valid signer name");
    yield* checkSignerName("signerName", signerName);
  } else yield required("", "either name or signerName must be specified");
  if (path === "") yield required("path");
  yield* notReserved("path", path);
}

/** Bundles of a signer carry its name in theirs: `example.com:signer:bundle`. */
const bundleName = (name: string): readonly string[] => dns1123Subdomain(name.slice(name.lastIndexOf(":") + 1));

const keyTypes = ["RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"];
const leastExpiration = 3600;
const mostExpiration = 91 * 24 * 3600;
const mostExpirationOfOwnSigners = 24 * 3600;

function* checkPodCertificate(certificate: PodCertificateProjection): Iterable<Problem> {
  const { signerName = "", keyType = "", maxExpirationSeconds: seconds } = certificate;
  yield* checkSignerName("signerName", signerName);
  yield* annotationProblems(certificate.userAnnotations, "userAnnotations");
  if (!keyTypes.includes(keyType)) yield notSupported("keyType", keyTypes, keyType);
  const most = isOwnSigner(signerName) ? mostExpirationOfOwnSigners : mostExpiration;
  if (seconds !== undefined && seconds < leastExpiration)
    yield invalid("maxExpirationSeconds", `if provided, maxExpirationSeconds must be >= ${leastExpiration}`);
  if (seconds !== undefined && seconds > most)
    yield invalid("maxExpirationSeconds", `if provided, maxExpirationSeconds must be <= ${most}`);
  const { credentialBundlePath = "", keyPath = "", certificateChainPath = "" } = certificate;
  const paths = Object.entries({ credentialBundlePath, keyPath, certificateChainPath });
  for (const [name, path] of paths) yield* notReserved(name, path);
  if (paths.every(([, path]) => path === ""))
    yield required("", "specify at least one of credentialBundlePath, keyPath, and certificateChainPath");
}

function isOwnSigner(signerName: string): boolean {
  const host = signerName.split("/")[0] ?? "";
  return host === "kubernetes.io" || host.endsWith(".kubernetes.io");
}

const mostDomainBytes = 253;
const mostSignerBytes = mostDomainBytes + 1 + mostDomainBytes + 1 + 63;

/** The name of a certificate signer: a domain of two or more labels, a slash, and a path. */
export function* checkSignerName(at: string, name: string): Iterable<Problem> {
  if (name === "") return yield required(at);
  const [domain = "", path = "", ...more] = name.split("/");
  if (!name.includes("/") || more.length > 0)
    return yield invalid(at, "must be a fully qualified domain and path of the form 'example.com/signer-name'", name);
  if (byteLength(domain) > mostDomainBytes) yield tooLong(at, mostDomainBytes);
  yield* firstBadLabel(at, domain, dns1123Label);
  if (!domain.includes("."))
    yield invalid(at, "should be a domain with at least two segments separated by dots", domain);
  yield* firstBadLabel(at, path, dns1123Subdomain);
  if (byteLength(name) > mostSignerBytes) yield tooLong(at, mostSignerBytes);
}

function* firstBadLabel(at: string, text: string, format: typeof dns1123Label): Iterable<Problem> {
  const label = text.split(".").find((one) => format(one).length > 0);
  if (label === undefined) return;
  for (const problem of malformed(at, label, format))
    yield { ...problem, detail: `validating label ${quoted(label)}: ${problem.detail}`, value: text };
}
