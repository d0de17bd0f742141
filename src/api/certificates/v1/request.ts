// Reads certificate signing requests (PKCS#10, RFC 2986): who they are for, and whether they are whole.
//
//   SEQUENCE { SEQUENCE { INTEGER version, Name subject, SEQUENCE key, [0] attributes }, SEQUENCE algorithm, BIT STRING signature }
//   Name ::= SEQUENCE OF SET OF SEQUENCE { OID, text }
import { type DerElement, DerError, derElement, derElements, derInside, derTag } from "#base/der.ts";
import { hex } from "#base/hex.ts";

export interface CsrSubject {
  readonly commonName: string;
  readonly organizations: readonly string[];
}

/** SEQUENCE { OID, parameters } */
export interface Algorithm {
  /** In hex. */
  readonly oid: string;
  readonly parameters: DerElement | undefined;
}

export interface Csr {
  readonly subject: CsrSubject;
  /** The key the certificate is to be for: as a whole, and the bits that are the key. */
  readonly key: { readonly whole: Uint8Array; readonly algorithm: Algorithm; readonly bits: Uint8Array };
  /** What was signed with it, how, and what came out. */
  readonly info: Uint8Array;
  readonly algorithm: Algorithm;
  readonly signature: Uint8Array;
}

export class CsrError extends Error {
  override readonly name = "CsrError";
}

const commonNameOid = "550403";
const organizationOid = "55040a";
const { sequence, set, integer, oid, bitString, bmpString } = derTag;

/** A request in PEM, as an object carries it: in base64. Throws CsrError unless it is whole; its signature may still be wrong. */
export function parseCsr(request: string): Csr {
  const block = /-----BEGIN CERTIFICATE REQUEST-----\s([A-Za-z0-9+/=\s]+)-----END CERTIFICATE REQUEST-----/.exec(
    atob(request),
  );
  if (!block?.[1]) throw new CsrError("PEM block type must be CERTIFICATE REQUEST");
  const bytes = bytesOf(block[1]);
  try {
    return csrIn(bytes);
  } catch (cause) {
    if (cause instanceof DerError) throw new CsrError(cause.message, { cause });
    throw cause;
  }
}

export const csrSubject = (request: string): CsrSubject => parseCsr(request).subject;

function csrIn(request: Uint8Array): Csr {
  const [info, algorithm, signature, ...more] = derElements(derInside(derElement(request), sequence));
  if (more.length > 0) throw new DerError("asn1: structure error: sequence too long");
  const [version, subject, key] = derElements(derInside(info, sequence));
  derInside(version, integer);
  const [keyAlgorithm, bits] = derElements(derInside(key, sequence));
  return {
    subject: subjectIn(derInside(subject, sequence)),
    key: { whole: wholeOf(key), algorithm: algorithmIn(keyAlgorithm), bits: bitsIn(bits) },
    info: wholeOf(info),
    algorithm: algorithmIn(algorithm),
    signature: bitsIn(signature),
  };
}

const wholeOf = (element: DerElement | undefined): Uint8Array => element?.whole ?? new Uint8Array();

export function algorithmIn(element: DerElement | undefined): Algorithm {
  const [id, parameters] = derElements(derInside(element, sequence));
  return { oid: hex(derInside(id, oid)), parameters };
}

/** The first byte says how many bits of the last one do not count; keys and signatures are of whole bytes. */
const bitsIn = (element: DerElement | undefined): Uint8Array => derInside(element, bitString).subarray(1);

function subjectIn(name: Uint8Array): CsrSubject {
  const parts = derElements(name).flatMap((one) => derElements(derInside(one, set)));
  const attributes = parts.map((one) => {
    const [type, value] = derElements(derInside(one, sequence));
    return { type: hex(derInside(type, oid)), text: value ? textOf(value) : "" };
  });
  return {
    commonName: attributes.findLast(({ type }) => type === commonNameOid)?.text ?? "",
    organizations: attributes.filter(({ type }) => type === organizationOid).map(({ text }) => text),
  };
}

function bytesOf(base64: string): Uint8Array {
  try {
    return Uint8Array.from(atob(base64.replaceAll(/\s/g, "")), (character) => character.charCodeAt(0));
  } catch {
    throw new CsrError("PEM block type must be CERTIFICATE REQUEST"); // Go sees no block at all in what is no base64
  }
}

const textOf = ({ tag, content }: DerElement): string =>
  new TextDecoder(tag === bmpString ? "utf-16be" : "utf-8").decode(content);
