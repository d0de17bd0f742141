// The only way of commands to write for people. What they print may have come from a cluster, so control characters become visible.
import { printable } from "#base/printable.ts";

export const print = (text: string): void => console.log(printable(text));
export const printError = (text: string): void => console.error(printable(text));
export const printJson = (value: unknown): void => print(JSON.stringify(value, undefined, 2));

/** Text with colours of our own. Whoever makes it has made what is not ours printable before. */
export const printPainted = (lines: readonly string[]): void => console.log(lines.join("\n"));
