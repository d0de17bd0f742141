// Text of others on a terminal. Names, messages and logs of a cluster are written by its users, and a terminal obeys what it is sent: a
// condition's message could clear the screen, change the title, or answer for whoever reads it.

/** All control characters but the ends of lines and tabs, and what turns the direction of the text around. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** The text with each control character as JSON would write it, so that JSON stays the same JSON. */
export const printable = (text: string): string =>
  text.replaceAll(controls, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);

/** The same for every string in a value. */
export function printableDeep<T>(value: T): T {
  if (typeof value === "string") return printable(value) as T; // a string for a string
  if (Array.isArray(value)) return value.map((one) => printableDeep(one)) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [printable(key), printableDeep(one)])) as T;
}
