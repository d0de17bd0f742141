// The header Warning of successful responses.

/** Beyond this many characters in all, each warning is cut to `mostOfOne`, as upstream does. */
const mostOfAll = 4096;
const mostOfOne = 256;

/** The values of the header, one for each text that can stand in one; a text with control characters or half a character cannot. */
export function warningHeaders(texts: readonly string[]): readonly string[] {
  const told = texts.filter((text) => text !== "" && text.isWellFormed() && !/\p{Cc}/u.test(text));
  const isTooMuch = told.reduce((sum, text) => sum + text.length, 0) > mostOfAll;
  let written = 0;
  return told.flatMap((text) => {
    if (!isTooMuch) return [headerOf(text)];
    if (written >= mostOfAll) return [];
    const short = [...text].slice(0, mostOfOne).join("");
    written += short.length;
    return [headerOf(short)];
  });
}

const utf8 = new TextEncoder();

/** Headers are bytes: what is beyond ASCII goes out as UTF-8, a character for each byte. */
function headerOf(text: string): string {
  const quoted = `299 - "${text.replaceAll(/["\\]/g, "\\$&")}"`;
  return /^[ -~]*$/.test(quoted)
    ? quoted
    : Array.from(utf8.encode(quoted), (byte) => String.fromCharCode(byte)).join("");
}
