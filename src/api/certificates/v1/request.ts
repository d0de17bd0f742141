// Reads certificate signing requests (PKCS#10, RFC 2986): who they are for, and whether they are whole.
//
//   SEQUENCE { SEQUENCE { INTEGER version, Name subject, SEQUENCE key, [0] attributes }, SEQUENCE algorithm, BIT STRING signature }
//   Name ::= SEQUENCE OF SET OF SEQUENCE { OID, text }
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
const [sequence, set, integer, oid, bitString] = [0x30, 0x31, 0x02, 0x06, 0x03];

/** The subject of a request in PEM, as an object carries it: in base64. Throws CsrError unless the request is whole. */
export function csrSubject(request: string): CsrSubject {
  const block = /-----BEGIN CERTIFICATE REQUEST-----\s([A-Za-z0-9+/=\s]+)-----END CERTIFICATE REQUEST-----/.exec(
    atob(request),
  );
  if (!block?.[1]) throw new CsrError("PEM block type must be CERTIFICATE REQUEST");
  const [info, algorithm, signature, ...more] = elements(inside(only(bytesOf(block[1])), sequence));
  inside(algorithm, sequence);
  inside(signature, bitString);
  if (more.length > 0) throw new CsrError("asn1: structure error: sequence too long");
  const [version, subject, key] = elements(inside(info, sequence));
  inside(version, integer);
  inside(key, sequence);
  const parts = elements(inside(subject, sequence)).flatMap((one) => elements(inside(one, set)));
  const attributes = parts.map((one) => {
    const [type, value] = elements(inside(one, sequence));
    return { type: hex(inside(type, oid)), text: value ? textOf(value) : "" };
  });
  return {
    commonName: attributes.findLast(({ type }) => type === commonNameOid)?.text ?? "",
    organizations: attributes.filter(({ type }) => type === organizationOid).map(({ text }) => text),
  };
}

interface Element {
  readonly tag: number;
  readonly content: Uint8Array;
}

const truncated = () => new CsrError("asn1: syntax error: data truncated");

function bytesOf(base64: string): Uint8Array {
  try {
    return Uint8Array.from(atob(base64.replaceAll(/\s/g, "")), (character) => character.charCodeAt(0));
  } catch {
    throw new CsrError("PEM block type must be CERTIFICATE REQUEST"); // Go sees no block at all in what is no base64
  }
}

function only(bytes: Uint8Array): Element {
  const [first, ...others] = elements(bytes);
  if (!first) throw truncated();
  if (others.length > 0) throw new CsrError("asn1: syntax error: trailing data");
  return first;
}

function inside(element: Element | undefined, tag: number): Uint8Array {
  if (element === undefined) throw new CsrError("asn1: syntax error: sequence truncated");
  if (element.tag !== tag)
    throw new CsrError(`asn1: structure error: tags don't match (${tag & 0x1f} vs ${element.tag & 0x1f})`);
  return element.content;
}

/** The elements that bytes hold one after another. */
function elements(bytes: Uint8Array): readonly Element[] {
  const found: Element[] = [];
  for (let at = 0; at < bytes.length; ) {
    const tag = bytes[at] ?? 0;
    const { length, start } = lengthAt(bytes, at + 1);
    if (start + length > bytes.length) throw truncated();
    found.push({ tag, content: bytes.subarray(start, start + length) });
    at = start + length;
  }
  return found;
}

/** Short lengths are one byte; longer ones say first how many bytes they have. */
function lengthAt(bytes: Uint8Array, at: number): { readonly length: number; readonly start: number } {
  const first = bytes[at];
  if (first === undefined) throw truncated();
  if (first < 0x80) return { length: first, start: at + 1 };
  const count = first & 0x7f;
  if (count === 0) throw new CsrError("asn1: syntax error: indefinite length found (not DER)");
  if (count > 4) throw new CsrError("asn1: structure error: length too large");
  if (at + count >= bytes.length) throw truncated();
  let length = 0;
  for (const byte of bytes.subarray(at + 1, at + 1 + count)) length = length * 256 + byte;
  return { length, start: at + 1 + count };
}

const bmpString = 0x1e;
const textOf = ({ tag, content }: Element): string =>
  new TextDecoder(tag === bmpString ? "utf-16be" : "utf-8").decode(content);
