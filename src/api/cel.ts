// The one place where rules meet CEL: everything about expressions but what they mean is checked by the kinds that hold
// them, and each expression that is there at all comes by here.
import { type Problem, required } from "#schema/index.ts";

const reserved = new Set(
  "true false null in as break const continue else for function if import let loop package namespace return var void while".split(
    " ",
  ),
);

export const isCelIdentifier = (name: string): boolean => /^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name) && !reserved.has(name);

/** An expression must be there. Compiling it is for the server, which knows the types it is about. */
export function* checkExpression(field: string, expression: string, whenMissing = ""): Iterable<Problem> {
  if (expression.trim() === "") yield required(field, whenMissing);
}
