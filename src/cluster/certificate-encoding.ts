// How certificates (RFC 5280) are written, which Node's own crypto can only read. The only file that knows it.
//
//   SEQUENCE { SEQUENCE { [0] version, INTEGER serial, algorithm, Name issuer, SEQUENCE { from, to }, Name subject, SEQUENCE key,
//              [3] SEQUENCE OF extension }, algorithm, BIT STRING signature }
//   Name ::= SEQUENCE OF SET OF SEQUENCE { OID, text }
import { createHash, createPublicKey, type KeyObject, randomBytes, sign, type X509Certificate } from "node:crypto";
import { der, derElement, derElements, derInside, derTag } from "#base/der.ts";
import { hex } from "#base/hex.ts";

export interface Validity {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

export interface CertificateContent {
  /** A Name, and so is the subject. */
  readonly issuer: Uint8Array;
  readonly subject: Uint8Array;
  readonly validity: Validity;
  /** The subject's, as SEQUENCE { algorithm, BIT STRING }. */
  readonly publicKey: Uint8Array;
  readonly extensions: readonly Uint8Array[];
}

const { sequence, set, integer, boolean, bitString, octetString, utf8String, utcTime, generalizedTime } = derTag;
/** A tag that means something in its place only. */
const inContext = (number: number): number => 0x80 | number;
const wrapping = 0x20;

const oid = (text: string): Uint8Array => {
  const [first = 0, second = 0, ...rest] = text.split(".").map(Number);
  return der(derTag.oid, Uint8Array.from([first * 40 + second, ...rest.flatMap(base128)]));
};

/** Seven bits a byte; all but the last have the eighth set. */
function base128(number: number): readonly number[] {
  const bytes = [number % 128];
  for (let rest = Math.floor(number / 128); rest > 0; rest = Math.floor(rest / 128)) bytes.unshift(0x80 | (rest % 128));
  return bytes;
}

const extensionOids = {
  subjectKeyIdentifier: oid("2.5.29.14"),
  keyUsage: oid("2.5.29.15"),
  subjectAltName: oid("2.5.29.17"),
  basicConstraints: oid("2.5.29.19"),
  authorityKeyIdentifier: oid("2.5.29.35"),
  extendedKeyUsage: oid("2.5.29.37"),
};

/** A certificate in PEM, signed by a key of RSA, of a curve or of Ed25519. */
export function signedCertificate(content: CertificateContent, signer: KeyObject): string {
  const { algorithm, hash } = signatureOf(signer);
  const { issuer, subject, validity, publicKey, extensions } = content;
  const body = der(
    sequence,
    der(inContext(0) | wrapping, der(integer, Uint8Array.of(2))), // version 3
    der(integer, serialNumber()),
    algorithm,
    issuer,
    der(sequence, timeOf(validity.notBefore), timeOf(validity.notAfter)),
    subject,
    publicKey,
    der(inContext(3) | wrapping, der(sequence, ...extensions)),
  );
  return pem("CERTIFICATE", der(sequence, body, algorithm, bits(sign(hash, body, signer))));
}

function pem(label: string, content: Uint8Array): string {
  const base64 = Buffer.from(content).toString("base64");
  return `-----BEGIN ${label}-----\n${base64.replaceAll(/.{64}(?=.)/g, "$&\n")}\n-----END ${label}-----\n`;
}

/** A request (RFC 2986) in PEM, by which the owner of a key asks for a certificate. */
export function signedRequest(subject: Uint8Array, extensions: readonly Uint8Array[], key: KeyObject): string {
  const { algorithm, hash } = signatureOf(key);
  const wanted =
    extensions.length === 0
      ? []
      : [der(sequence, oid("1.2.840.113549.1.9.14"), der(set, der(sequence, ...extensions)))];
  const body = der(
    sequence,
    der(integer, Uint8Array.of(0)),
    subject,
    publicKeyOf(key),
    der(inContext(0) | wrapping, ...wanted),
  );
  return pem("CERTIFICATE REQUEST", der(sequence, body, algorithm, bits(sign(hash, body, key))));
}

const noParameters = der(0x05);

/** As Go's crypto/x509 chooses: the longer the curve, the longer the hash. */
function signatureOf(signer: KeyObject): { readonly algorithm: Uint8Array; readonly hash: string | null } {
  const type = signer.asymmetricKeyType;
  if (type === "rsa") return { algorithm: der(sequence, oid("1.2.840.113549.1.1.11"), noParameters), hash: "sha256" };
  if (type === "ed25519") return { algorithm: der(sequence, oid("1.3.101.112")), hash: null };
  if (type !== "ec") throw new Error(`the authority's key has to be of RSA, of a curve or of Ed25519, not ${type}`);
  const curve = signer.asymmetricKeyDetails?.namedCurve;
  if (curve === "secp384r1") return { algorithm: der(sequence, oid("1.2.840.10045.4.3.3")), hash: "sha384" };
  if (curve === "secp521r1") return { algorithm: der(sequence, oid("1.2.840.10045.4.3.4")), hash: "sha512" };
  return { algorithm: der(sequence, oid("1.2.840.10045.4.3.2")), hash: "sha256" };
}

export const publicKeyOf = (key: KeyObject): Uint8Array => createPublicKey(key).export({ type: "spki", format: "der" });

/** By which keys are told apart: of the bits of the public one alone. */
export function fingerprint(key: KeyObject): Uint8Array {
  const [, publicBits] = derElements(derInside(derElement(publicKeyOf(key)), sequence));
  return createHash("sha1").update(derInside(publicBits, bitString).subarray(1)).digest();
}

/** The Name of a certificate's subject to the byte, as clients compare it. */
export const subjectOf = (certificate: X509Certificate): Uint8Array =>
  der(sequence, derInside(fieldsOf(certificate)[4], sequence));

/** By which certificates are told whose key signed them; authorities choose it in various ways, and some say none. */
export function keyIdentifierOf(certificate: X509Certificate): Uint8Array | undefined {
  const last = fieldsOf(certificate).at(-1);
  if (last?.tag !== (inContext(3) | wrapping)) return undefined;
  const wanted = hex(extensionOids.subjectKeyIdentifier);
  for (const extension of derElements(derInside(derElement(last.content), sequence))) {
    const [type, ...rest] = derElements(derInside(extension, sequence));
    const value = rest.at(-1);
    if (type && value && hex(type.whole) === wanted)
      return derInside(derElement(derInside(value, octetString)), octetString);
  }
  return undefined;
}

/** Without the version: serial, algorithm, issuer, validity, subject, key, and more. */
function fieldsOf(certificate: X509Certificate) {
  const [body] = derElements(derInside(derElement(certificate.raw), sequence));
  const fields = derElements(derInside(body, sequence));
  return fields[0]?.tag === (inContext(0) | wrapping) ? fields.slice(1) : fields;
}

/** A Name of sets, each of attributes by their OIDs. */
export const encodedName = (sets: readonly (readonly (readonly [type: string, text: string])[])[]): Uint8Array =>
  der(
    sequence,
    ...sets.map((attributes) => {
      const encoded = attributes.map(([type, text]) => der(sequence, oid(type), der(utf8String, Buffer.from(text))));
      return der(set, ...encoded.toSorted(Buffer.compare));
    }),
  );

/** Years since 2050 take four digits. */
function timeOf(date: Date): Uint8Array {
  const digits = `${date.toISOString().replaceAll(/\D/g, "").slice(0, 14)}Z`; // to the second
  return date.getUTCFullYear() < 2050
    ? der(utcTime, Buffer.from(digits.slice(2)))
    : der(generalizedTime, Buffer.from(digits));
}

function serialNumber(): Uint8Array {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x01; // positive, and without a leading zero
  return bytes;
}

const extension = (type: Uint8Array, value: Uint8Array, ...critical: readonly Uint8Array[]): Uint8Array =>
  der(sequence, type, ...critical, der(octetString, value));
const yes = der(boolean, Uint8Array.of(0xff));
const bits = (bytes: Uint8Array, unused = 0): Uint8Array => der(bitString, Uint8Array.of(unused), bytes);

export const basicConstraints = (isAuthority: boolean): Uint8Array =>
  extension(extensionOids.basicConstraints, der(sequence, ...(isAuthority ? [yes] : [])), yes);

export const subjectKeyIdentifier = (id: Uint8Array): Uint8Array =>
  extension(extensionOids.subjectKeyIdentifier, der(octetString, id));

export const authorityKeyIdentifier = (id: Uint8Array): Uint8Array =>
  extension(extensionOids.authorityKeyIdentifier, der(sequence, der(inContext(0), id)));

/** General names in DER. One without a subject has to be known by them. */
export const alternativeNames = (names: readonly Uint8Array[], isCritical = false): Uint8Array =>
  extension(extensionOids.subjectAltName, der(sequence, ...names), ...(isCritical ? [yes] : []));

export const generalName = {
  email: (text: string) => der(inContext(1), Buffer.from(text)),
  dns: (text: string) => der(inContext(2), Buffer.from(text)),
  uri: (text: string) => der(inContext(6), Buffer.from(text)),
  ip: (bytes: Uint8Array) => der(inContext(7), bytes),
};

/** The bit of each usage, from the left. */
const usageBits: Readonly<Record<string, number>> = {
  "digital signature": 0,
  signing: 0,
  "content commitment": 1,
  "key encipherment": 2,
  "data encipherment": 3,
  "key agreement": 4,
  "cert sign": 5,
  "crl sign": 6,
  "encipher only": 7,
  "decipher only": 8,
};

/** In Go's order, so that certificates look the same whoever signed them. */
const extendedUsages: Readonly<Record<string, string>> = {
  any: "2.5.29.37.0",
  "server auth": "1.3.6.1.5.5.7.3.1",
  "client auth": "1.3.6.1.5.5.7.3.2",
  "code signing": "1.3.6.1.5.5.7.3.3",
  "email protection": "1.3.6.1.5.5.7.3.4",
  "s/mime": "1.3.6.1.5.5.7.3.4",
  "ipsec end system": "1.3.6.1.5.5.7.3.5",
  "ipsec tunnel": "1.3.6.1.5.5.7.3.6",
  "ipsec user": "1.3.6.1.5.5.7.3.7",
  timestamping: "1.3.6.1.5.5.7.3.8",
  "ocsp signing": "1.3.6.1.5.5.7.3.9",
  "microsoft sgc": "1.3.6.1.4.1.311.10.3.3",
  "netscape sgc": "2.16.840.1.113730.4.1",
};

/** What a key is for, by the words of the API: none, one or two extensions. Throws for a word that means nothing. */
export function usageExtensions(usages: readonly string[]): readonly Uint8Array[] {
  const odd = usages.find((usage) => usageBits[usage] === undefined && extendedUsages[usage] === undefined);
  if (odd !== undefined) throw new Error(`unrecognized usage values: [${JSON.stringify(odd)}]`);
  const places = usages.flatMap((usage) => usageBits[usage] ?? []);
  const extended = Object.entries(extendedUsages).filter(([usage]) => usages.includes(usage));
  const types = [...new Set(extended.map(([, type]) => type))];
  return [
    ...(places.length > 0 ? [extension(extensionOids.keyUsage, bitsAt(places), yes)] : []),
    ...(types.length > 0 ? [extension(extensionOids.extendedKeyUsage, der(sequence, ...types.map(oid)))] : []),
  ];
}

function bitsAt(places: readonly number[]): Uint8Array {
  const last = Math.max(...places);
  const bytes = new Uint8Array(Math.floor(last / 8) + 1);
  for (const place of places) bytes[place >> 3] = (bytes[place >> 3] ?? 0) | (0x80 >> (place & 7));
  return bits(bytes, 7 - (last & 7));
}
