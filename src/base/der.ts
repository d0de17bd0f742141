// DER (X.690): how certificates, and requests for them, are written.

export class DerError extends Error {
  override readonly name = "DerError";
}

export interface DerElement {
  readonly tag: number;
  readonly content: Uint8Array;
  /** With its tag and length. */
  readonly whole: Uint8Array;
}

export const derTag = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utf8String: 0x0c,
  numericString: 0x12,
  printableString: 0x13,
  t61String: 0x14,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  bmpString: 0x1e,
  sequence: 0x30,
  set: 0x31,
} as const;

/** An element whose content are these bytes, one after another. */
export function der(tag: number, ...content: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const length = content.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const head = [tag, ...lengthBytes(length)];
  const bytes = new Uint8Array(head.length + length);
  bytes.set(head);
  let at = head.length;
  for (const part of content) {
    bytes.set(part, at);
    at += part.byteLength;
  }
  return bytes;
}

/** Short lengths are one byte; longer ones say first how many bytes they have. */
function lengthBytes(length: number): readonly number[] {
  if (length < 0x80) return [length];
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return [0x80 | bytes.length, ...bytes];
}

/** The elements that bytes hold one after another. Throws DerError, in Go's words. */
export function derElements(bytes: Uint8Array): readonly DerElement[] {
  const elements: DerElement[] = [];
  for (let at = 0; at < bytes.length; ) {
    const tag = bytes[at] ?? 0;
    const { length, start } = lengthAt(bytes, at + 1);
    if (start + length > bytes.length) throw truncated();
    const end = start + length;
    elements.push({ tag, content: bytes.subarray(start, end), whole: bytes.subarray(at, end) });
    at = end;
  }
  return elements;
}

function lengthAt(bytes: Uint8Array, at: number): { readonly length: number; readonly start: number } {
  const first = bytes[at];
  if (first === undefined) throw truncated();
  if (first < 0x80) return { length: first, start: at + 1 };
  const count = first & 0x7f;
  if (count === 0) throw new DerError("asn1: syntax error: indefinite length found (not DER)");
  if (count > 4) throw new DerError("asn1: structure error: length too large");
  if (at + count >= bytes.length) throw truncated();
  let length = 0;
  for (const byte of bytes.subarray(at + 1, at + 1 + count)) length = length * 256 + byte;
  return { length, start: at + 1 + count };
}

/** The one element that bytes are. */
export function derElement(bytes: Uint8Array): DerElement {
  const [first, ...others] = derElements(bytes);
  if (!first) throw truncated();
  if (others.length > 0) throw new DerError("asn1: syntax error: trailing data");
  return first;
}

/** What is inside an element that has to be there and of this kind. */
export function derInside(element: DerElement | undefined, tag: number): Uint8Array {
  if (element === undefined) throw new DerError("asn1: syntax error: sequence truncated");
  if (element.tag !== tag)
    throw new DerError(`asn1: structure error: tags don't match (${tag & 0x1f} vs ${element.tag & 0x1f})`);
  return element.content;
}

const truncated = () => new DerError("asn1: syntax error: data truncated");
