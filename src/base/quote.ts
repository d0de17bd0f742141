/** As Go's time package quotes what it refuses: anything but plain ASCII byte by byte. */
export function quote(text: string): string {
  const escaped = text.replace(/["\\]/g, "\\$&");
  return `"${escaped.replace(/[^ -\x7f]+/g, (odd) => [...utf8.encode(odd)].map(hexByte).join(""))}"`;
}
const utf8 = new TextEncoder();
const hexByte = (byte: number): string => `\\x${byte.toString(16).padStart(2, "0")}`;
