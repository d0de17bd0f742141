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

export class CsrError extends Error {
  override readonly name = "CsrError";
}

const commonNameOid = "550403";
const organizationOid = "55040a";
const { sequence, set, integer, oid, bitString, bmpString } = derTag;

/** The subject of a request in PEM, as an object carries it: in base64. Throws CsrError unless the request is whole. */
export function csrSubject(request: string): CsrSubject {
  const block = /-----BEGIN CERTIFICATE REQUEST-----\s([A-Za-z0-9+/=\s]+)-----END CERTIFICATE REQUEST-----/.exec(
    atob(request),
  );
  if (!block?.[1]) throw new CsrError("PEM block type must be CERTIFICATE REQUEST");
  const bytes = bytesOf(block[1]);
  try {
    return subjectIn(bytes);
  } catch (cause) {
    if (cause instanceof DerError) throw new CsrError(cause.message, { cause });
    throw cause;
  }
}

function subjectIn(request: Uint8Array): CsrSubject {
  const [info, algorithm, signature, ...more] = derElements(derInside(derElement(request), sequence));
  derInside(algorithm, sequence);
  derInside(signature, bitString);
  if (more.length > 0) throw new DerError("asn1: structure error: sequence too long");
  const [version, subject, key] = derElements(derInside(info, sequence));
  derInside(version, integer);
  derInside(key, sequence);
  const parts = derElements(derInside(subject, sequence)).flatMap((one) => derElements(derInside(one, set)));
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
