// Reads certificate signing requests (PKCS#10, RFC 2986): who they are for, and whether they are whole.
//
//   SEQUENCE { SEQUENCE { INTEGER version, Name subject, SEQUENCE key, [0] attributes }, SEQUENCE algorithm, BIT STRING signature }
import { fromBase64 } from "#base/base64.ts";
import { type DerElement, DerError, derElement, derElements, derInside, derTag } from "#base/der.ts";
import { type DistinguishedName, parseDistinguishedName } from "#base/distinguished-name.ts";
import { hex } from "#base/hex.ts";
import { type AlternativeNames, requestedNames } from "./alternative-names.ts";

/** SEQUENCE { OID, parameters } */
export interface Algorithm {
  /** In hex. */
  readonly oid: string;
  readonly parameters: DerElement | undefined;
}

export interface Csr {
  readonly subject: DistinguishedName;
  /** The content of the Name that the subject is. */
  readonly rawSubject: Uint8Array;
  /** The names and addresses that the certificate is asked to be good for besides its subject. */
  readonly names: AlternativeNames;
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

const { sequence, integer, oid, bitString } = derTag;

/** Far more than the longest key and a hundred names take. Reading more would keep others waiting. */
const mostBytes = 64 * 1024;

/** A request in PEM, as an object carries it: in base64. Throws CsrError unless it is whole; its signature may still be wrong. */
export function parseCsr(request: string): Csr {
  if (request.length > (mostBytes * 4) / 3) throw new CsrError(`may not be more than ${mostBytes} bytes`);
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

export const csrSubject = (request: string): DistinguishedName => parseCsr(request).subject;

function csrIn(request: Uint8Array): Csr {
  const [info, algorithm, signature, ...more] = derElements(derInside(derElement(request), sequence));
  if (more.length > 0) throw new DerError("asn1: structure error: sequence too long");
  const [version, subject, key, attributes] = derElements(derInside(info, sequence));
  derInside(version, integer);
  const [keyAlgorithm, bits] = derElements(derInside(key, sequence));
  const rawSubject = derInside(subject, sequence);
  return {
    subject: parseDistinguishedName(rawSubject),
    rawSubject,
    names: requestedNames(attributes),
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

function bytesOf(base64: string): Uint8Array {
  const bytes = fromBase64(base64.replaceAll(/\s/g, ""));
  if (!bytes) throw new CsrError("PEM block type must be CERTIFICATE REQUEST"); // Go sees no block at all in what is no base64
  return bytes;
}
