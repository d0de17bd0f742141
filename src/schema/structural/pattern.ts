// Regular expressions that users wrote. V8's own may take exponential time for some texts; these never do, and read as Go's.
import { RE2JS, RE2JSSyntaxException } from "re2js";

export interface Pattern {
  /** Whether it matches somewhere in the text. */
  test(text: string): boolean;
}

/** Throws PatternError. */
export function compilePattern(source: string): Pattern {
  try {
    return RE2JS.compile(source);
  } catch (cause) {
    if (!(cause instanceof RE2JSSyntaxException)) throw cause;
    throw new PatternError(cause.message, { cause });
  }
}

/** In Go's words: "error parsing regexp: missing closing ): `(`". */
export class PatternError extends Error {
  override readonly name = "PatternError";
}
