import { RE2JS } from "re2js";

/** Whether the text is a regular expression. One that the proxy could not read would keep all other changes from it. */
export function isPattern(text: string): boolean {
  try {
    RE2JS.compile(text);
    return true;
  } catch {
    return false; // it says why, but the author sees that
  }
}
