// Reads who a certificate signing request is for. Of the whole structure only the subject is wanted, and it comes early:
//
//   SEQUENCE { SEQUENCE { INTEGER version, Name subject, … }, … }     Name ::= SEQUENCE OF SET OF SEQUENCE { OID, text }

export interface CsrSubject {
  readonly commonName: string;
  readonly organizations: readonly string[];
}

export class CsrError extends Error {
  override readonly name = "CsrError";
}

const commonNameOid = "550403";
const organizationOid = "55040a";
const [sequence, set, integer, oid] = [0x30, 0x31, 0x02, 0x06];

/** The subject of a request in PEM, as an object carries it: in base64. Throws CsrError. */
export function csrSubject(request: string): CsrSubject {
  const block = /-----BEGIN CERTIFICATE REQUEST-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE REQUEST-----/.exec(
    atob(request),
  );
  if (!block?.[1]) throw new CsrError("PEM block type must be CERTIFICATE REQUEST");
  const bytes = Uint8Array.from(atob(block[1].replaceAll(/\s/g, "")), (character) => character.charCodeAt(0));
  const [info] = elements(inside(only(bytes), sequence));
  const [version, subject] = elements(inside(info, sequence));
  inside(version, integer);
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

function only(bytes: Uint8Array): Element {
  const [first, ...others] = elements(bytes);
  if (!first || others.length > 0) throw new CsrError("trailing data");
  return first;
}

function inside(element: Element | undefined, tag: number): Uint8Array {
  if (element?.tag !== tag) throw new CsrError("the request is not well-formed");
  return element.content;
}

/** The elements that bytes hold one after another. */
function elements(bytes: Uint8Array): readonly Element[] {
  const found: Element[] = [];
  for (let at = 0; at < bytes.length; ) {
    const tag = bytes[at] ?? 0;
    const { length, start } = lengthAt(bytes, at + 1);
    if (start + length > bytes.length) throw new CsrError("the request ends too early");
    found.push({ tag, content: bytes.subarray(start, start + length) });
    at = start + length;
  }
  return found;
}

/** Short lengths are one byte; longer ones say first how many bytes they have. */
function lengthAt(bytes: Uint8Array, at: number): { readonly length: number; readonly start: number } {
  const first = bytes[at];
  if (first === undefined) throw new CsrError("the request ends too early");
  if (first < 0x80) return { length: first, start: at + 1 };
  const count = first & 0x7f;
  if (count === 0 || count > 4 || at + count >= bytes.length) throw new CsrError("a length in the request is wrong");
  let length = 0;
  for (const byte of bytes.subarray(at + 1, at + 1 + count)) length = length * 256 + byte;
  return { length, start: at + 1 + count };
}

const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

const bmpString = 0x1e;
const textOf = ({ tag, content }: Element): string =>
  new TextDecoder(tag === bmpString ? "utf-16be" : "utf-8").decode(content);
