// Makes certificates: our own authorities, what they sign for us, and what they sign for others who ask with a request.
import { createPrivateKey, generateKeyPairSync, type KeyObject, X509Certificate } from "node:crypto";
import type { Csr } from "#api/certificates/v1/request.ts";
import { type NameAttribute, nameAttributes } from "#base/distinguished-name.ts";
import type { CertificateTerms } from "#controllers/certificates/signing.ts";
import { parseIp } from "#schema/ip.ts";
import {
  alternativeNames,
  authorityKeyIdentifier,
  basicConstraints,
  encodedName,
  fingerprint,
  generalName,
  keyIdentifierOf,
  publicKeyOf,
  signedCertificate,
  signedRequest,
  subjectKeyIdentifier,
  subjectOf,
  usageExtensions,
  type Validity,
} from "./certificate-encoding.ts";
import type { CertificateRequest, KeyPair } from "./certificates.ts";

export function makeAuthority(validity: Validity, commonName = "knarr-ca"): KeyPair {
  const key = newKey();
  const name = nameOf({ commonName });
  const cert = signedCertificate(
    {
      issuer: name,
      subject: name,
      validity,
      publicKey: publicKeyOf(key),
      extensions: [
        basicConstraints(true),
        ...usageExtensions(["digital signature", "cert sign", "crl sign"]),
        subjectKeyIdentifier(fingerprint(key)),
      ],
    },
    key,
  );
  return { cert, key: pemOf(key) };
}

/** For the key that is given, else for a new one. */
export function makeCertificate(
  authority: KeyPair,
  request: CertificateRequest,
  validity: Validity,
  present?: string,
): KeyPair {
  const { hosts = [], isPeer = false } = request;
  const key = present === undefined ? newKey() : createPrivateKey(present);
  const isServer = hosts.length > 0;
  const cert = signedBy(authority, {
    subject: nameOf(request),
    validity,
    publicKey: publicKeyOf(key),
    usages: [
      "digital signature",
      ...(isServer ? ["server auth"] : []),
      ...(isServer && !isPeer ? [] : ["client auth"]),
    ],
    names: hosts.map(hostName),
  });
  return { cert, key: present ?? pemOf(key) };
}

/** For the subject, the names and the key that somebody asks for. Whether to sign at all is decided elsewhere. */
export function signRequest(authority: KeyPair, request: Csr, { usages, ...validity }: CertificateTerms): string {
  const { dns, emails, ips, uris } = request.names;
  return signedBy(authority, {
    subject: encodedName(plainName(nameAttributes(request.rawSubject))),
    validity,
    publicKey: request.key.whole,
    usages,
    names: [
      ...dns.map(generalName.dns),
      ...emails.map(generalName.email),
      ...ips.map(generalName.ip),
      ...uris.map(generalName.uri),
    ],
  });
}

/** A request for a certificate of a key, for the authority of somebody else. */
export function requestFor(key: string, request: CertificateRequest): string {
  const { hosts = [] } = request;
  const names = hosts.map(hostName);
  return signedRequest(nameOf(request), names.length > 0 ? [alternativeNames(names)] : [], createPrivateKey(key));
}

/** A new key, in PEM. */
export const makeKey = (): string => pemOf(newKey());

/** A key in the form in which clients read it, whatever form it is in. */
export function clientKey(pem: string): string {
  const key = createPrivateKey(pem);
  return key.asymmetricKeyType === "ec" ? pemOf(key) : pem;
}

interface Leaf {
  readonly subject: Uint8Array;
  readonly validity: Validity;
  readonly publicKey: Uint8Array;
  readonly usages: readonly string[];
  readonly names: readonly Uint8Array[];
}

function signedBy(authority: KeyPair, { subject, validity, publicKey, usages, names }: Leaf): string {
  const certificate = new X509Certificate(authority.cert);
  const id = keyIdentifierOf(certificate);
  const isNameless = subject.byteLength === 2;
  return signedCertificate(
    {
      issuer: subjectOf(certificate),
      subject,
      validity,
      publicKey,
      extensions: [
        ...usageExtensions(usages),
        basicConstraints(false),
        ...(id ? [authorityKeyIdentifier(id)] : []),
        ...(names.length > 0 ? [alternativeNames(names, isNameless)] : []),
      ],
    },
    createPrivateKey(authority.key),
  );
}

const newKey = (): KeyObject => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
/** In SEC 1's form (RFC 5915), which all clients read: fabric8 takes a key in PKCS #8 for one of RSA. */
const pemOf = (key: KeyObject): string => String(key.export({ type: "sec1", format: "pem" }));

const organization = "2.5.4.10";
const commonNameType = "2.5.4.3";

const nameOf = ({ commonName, organizations = [] }: CertificateRequest): Uint8Array =>
  encodedName([
    ...organizations.map((name) => [[organization, name] as const]),
    [[commonNameType, commonName] as const],
  ]);

/** The attributes that Go keeps of a subject, in its order, with what they are in hex. The UID is not among them: nobody asks for one. */
const keptAttributes: readonly (readonly [hex: string, type: string])[] = [
  ["550406", "2.5.4.6"], // country
  ["55040a", organization],
  ["55040b", "2.5.4.11"], // organizational unit
  ["550407", "2.5.4.7"], // locality
  ["550408", "2.5.4.8"], // province
  ["550409", "2.5.4.9"], // street
  ["550411", "2.5.4.17"], // postal code
];

/** A kind of attribute is one set, whatever sets it was asked for in; of a common name and a serial number the last counts. */
function plainName(attributes: readonly NameAttribute[]) {
  const texts = (hex: string) => attributes.filter(({ type }) => type === hex).map(({ text }) => text);
  const many = keptAttributes.map(([hex, type]) => texts(hex).map((text) => [type, text] as const));
  const last = (hex: string, type: string) =>
    texts(hex)
      .slice(-1)
      .filter((text) => text !== "")
      .map((text) => [type, text] as const);
  return [...many, last("550403", commonNameType), last("550405", "2.5.4.5")].filter((set) => set.length > 0);
}

function hostName(host: string): Uint8Array {
  const ip = parseIp(host);
  if (!ip) return generalName.dns(host);
  const digits = ip.value.toString(16).padStart(ip.family === 4 ? 8 : 32, "0");
  return generalName.ip(Buffer.from(digits, "hex"));
}
