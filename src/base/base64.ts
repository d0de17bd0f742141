// Base64 (RFC 4648). In JSON bytes are base64, so also in memory; that is much of what a cluster holds, so it has to be fast.

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const codes = Uint8Array.from(alphabet, (letter) => letter.charCodeAt(0));
const values = new Uint8Array(128).fill(0xff);
for (const [value, code] of codes.entries()) values[code] = value;
const pad = 0x3d;
const encoder = new TextEncoder();
const decoder = new TextDecoder("latin1");

export function toBase64(bytes: Uint8Array): string {
  const text = new Uint8Array(Math.ceil(bytes.length / 3) * 4).fill(pad);
  let out = 0;
  for (let i = 0; i < bytes.length; i += 3) {
    const a = bytes[i] as number;
    const b = bytes[i + 1];
    const c = bytes[i + 2];
    text[out++] = codes[a >> 2] as number;
    text[out++] = codes[((a & 3) << 4) | ((b ?? 0) >> 4)] as number;
    if (b === undefined) break;
    text[out++] = codes[((b & 15) << 2) | ((c ?? 0) >> 6)] as number;
    if (c === undefined) break;
    text[out++] = codes[c & 63] as number;
  }
  return decoder.decode(text);
}

/** Of a text's UTF-8; most texts are ASCII, which the platform turns faster. */
export const textToBase64 = (text: string): string =>
  /^\p{ASCII}*$/u.test(text) ? btoa(text) : toBase64(encoder.encode(text));

/** Undefined if the text is no base64. Line breaks within it are passed over, as Go does. */
export function fromBase64(text: string): Uint8Array | undefined {
  const bytes = new Uint8Array(Math.ceil((text.length * 3) / 4));
  let out = 0;
  let letters = 0;
  let bits = 0;
  let i = 0;
  for (; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0x0a || code === 0x0d) continue;
    if (code === pad) break;
    const value = values[code];
    if (value === undefined || value === 0xff) return undefined;
    bits = (bits << 6) | value;
    if (++letters % 4 !== 0) continue;
    bytes[out++] = bits >> 16;
    bytes[out++] = bits >> 8;
    bytes[out++] = bits;
    bits = 0;
  }
  const rest = letters % 4;
  if (/[^\r\n=]/.test(text.slice(i)) || text.slice(i).replace(/[\r\n]/g, "").length !== (4 - rest) % 4 || rest === 1)
    return undefined;
  if (rest === 2) bytes[out++] = bits >> 4;
  if (rest === 3) {
    bytes[out++] = bits >> 10;
    bytes[out++] = bits >> 2;
  }
  return bytes.subarray(0, out);
}

/** In the alphabet for URLs and file names, without padding. */
export const toBase64Url = (bytes: Uint8Array): string =>
  toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");

/** Undefined if the text is none. */
export function fromBase64Url(text: string): Uint8Array | undefined {
  if (!/^[\w-]*$/.test(text)) return undefined;
  return fromBase64(
    text
      .replaceAll("-", "+")
      .replaceAll("_", "/")
      .padEnd(Math.ceil(text.length / 4) * 4, "="),
  );
}
