// Makes certificates (RFC 5280), which Node's own crypto can only read. The only file that knows how they are written.
//
//   SEQUENCE { SEQUENCE { [0] version, INTEGER serial, algorithm, Name issuer, SEQUENCE { from, to }, Name subject, SEQUENCE key,
//              [3] SEQUENCE OF extension }, algorithm, BIT STRING signature }
//   Name ::= SEQUENCE OF SET OF SEQUENCE { OID, text }
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from "node:crypto";
import { der, derElement, derElements, derInside, derTag } from "#base/der.ts";
import { parseIp } from "#schema/ip.ts";
import type { CertificateRequest, KeyPair } from "./certificates.ts";

export interface Validity {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

export function makeAuthority(validity: Validity, commonName = "knarr-ca"): KeyPair {
  const key = newKey();
  const name = nameOf({ commonName });
  const cert = signed(
    {
      issuer: name,
      subject: name,
      validity,
      key,
      extensions: [
        basicConstraints(true),
        keyUsage(usageBit.digitalSignature | usageBit.keyCertSign | usageBit.crlSign),
        extension(oids.subjectKeyIdentifier, der(octetString, fingerprint(key))),
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
  const { hosts = [] } = request;
  const signer = createPrivateKey(authority.key);
  const key = present === undefined ? newKey() : createPrivateKey(present);
  const isServer = hosts.length > 0;
  const cert = signed(
    {
      issuer: subjectOf(authority.cert),
      subject: nameOf(request),
      validity,
      key,
      extensions: [
        basicConstraints(false),
        keyUsage(usageBit.digitalSignature),
        extension(oids.extendedKeyUsage, der(sequence, isServer ? oids.serverAuth : oids.clientAuth)),
        extension(oids.authorityKeyIdentifier, der(sequence, der(inContext(0), fingerprint(signer)))),
        ...(isServer ? [extension(oids.subjectAltName, der(sequence, ...hosts.map(generalName)))] : []),
      ],
    },
    signer,
  );
  return { cert, key: present ?? pemOf(key) };
}

/** A key in the form in which clients read it, whatever form it is in. */
export function clientKey(pem: string): string {
  const key = createPrivateKey(pem);
  return key.asymmetricKeyType === "ec" ? pemOf(key) : pem;
}

const { sequence, set, integer, boolean, bitString, octetString, utf8String, utcTime, generalizedTime } = derTag;
/** A tag that means something in its place only. */
const inContext = (number: number): number => 0x80 | number;
const wrapping = 0x20;

const oid = (...bytes: readonly number[]) => der(derTag.oid, Uint8Array.from(bytes));
const oids = {
  commonName: oid(0x55, 4, 3),
  organization: oid(0x55, 4, 10),
  subjectKeyIdentifier: oid(0x55, 0x1d, 0x0e),
  keyUsage: oid(0x55, 0x1d, 0x0f),
  subjectAltName: oid(0x55, 0x1d, 0x11),
  basicConstraints: oid(0x55, 0x1d, 0x13),
  authorityKeyIdentifier: oid(0x55, 0x1d, 0x23),
  extendedKeyUsage: oid(0x55, 0x1d, 0x25),
  serverAuth: oid(0x2b, 6, 1, 5, 5, 7, 3, 1),
  clientAuth: oid(0x2b, 6, 1, 5, 5, 7, 3, 2),
  ecdsaWithSha256: oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2),
};

interface Content {
  readonly issuer: Uint8Array;
  readonly subject: Uint8Array;
  readonly validity: Validity;
  /** Of the subject. */
  readonly key: KeyObject;
  readonly extensions: readonly Uint8Array[];
}

/** A certificate in PEM. */
function signed({ issuer, subject, validity, key, extensions }: Content, signer: KeyObject): string {
  if (signer.asymmetricKeyType !== "ec")
    throw new Error(`the authority's key has to be one of an elliptic curve, not ${signer.asymmetricKeyType}`);
  const algorithm = der(sequence, oids.ecdsaWithSha256);
  const content = der(
    sequence,
    der(inContext(0) | wrapping, der(integer, Uint8Array.of(2))), // version 3
    der(integer, serialNumber()),
    algorithm,
    issuer,
    der(sequence, timeOf(validity.notBefore), timeOf(validity.notAfter)),
    subject,
    publicKeyOf(key),
    der(inContext(3) | wrapping, der(sequence, ...extensions)),
  );
  const signature = sign("sha256", content, signer);
  const base64 = Buffer.from(der(sequence, content, algorithm, bits(signature))).toString("base64");
  return `-----BEGIN CERTIFICATE-----\n${base64.replaceAll(/.{64}(?=.)/g, "$&\n")}\n-----END CERTIFICATE-----\n`;
}

const newKey = (): KeyObject => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
/** In SEC 1's form (RFC 5915), which all clients read: fabric8 takes a key in PKCS #8 for one of RSA. */
const pemOf = (key: KeyObject): string => String(key.export({ type: "sec1", format: "pem" }));
const publicKeyOf = (key: KeyObject): Uint8Array => createPublicKey(key).export({ type: "spki", format: "der" });

/** By which keys are told apart: of the bits of the public one alone. */
function fingerprint(key: KeyObject): Uint8Array {
  const [, publicBits] = derElements(derInside(derElement(publicKeyOf(key)), sequence));
  return createHash("sha1").update(derInside(publicBits, bitString).subarray(1)).digest();
}

/** The subject of a certificate to the byte, as clients compare it. */
function subjectOf(cert: string): Uint8Array {
  const [content] = derElements(derInside(derElement(new X509Certificate(cert).raw), sequence));
  const fields = derElements(derInside(content, sequence));
  const hasVersion = fields[0]?.tag === (inContext(0) | wrapping);
  return der(sequence, derInside(fields[hasVersion ? 5 : 4], sequence));
}

function nameOf({ commonName, organizations = [] }: CertificateRequest): Uint8Array {
  const part = (type: Uint8Array, text: string) => der(set, der(sequence, type, der(utf8String, Buffer.from(text))));
  return der(
    sequence,
    ...organizations.map((name) => part(oids.organization, name)),
    part(oids.commonName, commonName),
  );
}

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

const basicConstraints = (isAuthority: boolean): Uint8Array =>
  extension(oids.basicConstraints, der(sequence, ...(isAuthority ? [yes] : [])), yes);

/** From the left, as the bits stand in the byte. */
const usageBit = { digitalSignature: 0x80, keyCertSign: 0x04, crlSign: 0x02 };
const keyUsage = (usages: number): Uint8Array =>
  extension(oids.keyUsage, bits(Uint8Array.of(usages), 31 - Math.clz32(usages & -usages)), yes);

function generalName(host: string): Uint8Array {
  const ip = parseIp(host);
  if (!ip) return der(inContext(2), Buffer.from(host));
  const digits = ip.value.toString(16).padStart(ip.family === 4 ? 8 : 32, "0");
  return der(inContext(7), Buffer.from(digits, "hex"));
}
