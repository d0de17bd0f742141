// Arguments that are literals are looked at before anything is evaluated. Follows cel-go's cel/validator.go and ext/formatting.go.
import type { CallExpr, Expr } from "./ast.ts";
import type { CheckedExpr } from "./checker.ts";
import { regularExpression } from "./libraries/regular-expressions.ts";
import { checkFormat } from "./libraries/string-format.ts";
import type { CelProblem } from "./problems.ts";
import { parseDuration } from "./values/duration.ts";
import { EvaluationFailure } from "./values/failure.ts";
import { parseTimestamp } from "./values/timestamp.ts";

export function checkLiterals(checked: CheckedExpr, problems: CelProblem[]): void {
  for (const expr of descendants(checked.expr)) {
    if (expr.kind !== "call") continue;
    checkArgument(expr, problems);
    checkFormatCall(expr, checked, problems);
  }
}

/** Whether the literal is what the function takes. */
const literalChecks: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ["duration", (text: string) => parseDuration(text) !== undefined],
  ["timestamp", (text: string) => parseTimestamp(text) !== undefined],
  ["matches", isRegularExpression],
]);

function isRegularExpression(text: string): boolean {
  try {
    regularExpression(text);
    return true;
  } catch (failure) {
    if (failure instanceof EvaluationFailure) return false;
    throw failure;
  }
}

function checkArgument(call: CallExpr, problems: CelProblem[]): void {
  const isValid = literalChecks.get(call.name);
  const argument = call.args.at(-1);
  if (!isValid || argument?.kind !== "literal" || typeof argument.value !== "string") return;
  if (!isValid(argument.value)) problems.push({ message: `invalid ${call.name} argument`, offset: argument.offset });
}

function checkFormatCall(call: CallExpr, checked: CheckedExpr, problems: CelProblem[]): void {
  const [args] = call.args;
  if (call.name !== "format" || call.target?.kind !== "literal" || typeof call.target.value !== "string") return;
  if (args?.kind !== "list") return;
  const problem = checkFormat(call.target.value, args.elements, (expr) => checked.typeOf(expr));
  if (problem) problems.push({ message: problem.message, offset: (problem.argument ?? call).offset });
}

/** An expression and all that it is made of. */
export function* descendants(expr: Expr): Generator<Expr> {
  yield expr;
  for (const part of partsOf(expr)) yield* descendants(part);
}

function partsOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case "select":
      return [expr.operand];
    case "call":
      return expr.target ? [expr.target, ...expr.args] : expr.args;
    case "list":
      return expr.elements;
    case "map":
      return expr.entries.flatMap(({ key, value }) => [key, value]);
    case "struct":
      return expr.fields.map(({ value }) => value);
    case "comprehension":
      return [expr.range, expr.init, expr.condition, expr.step, expr.result];
    default:
      return [];
  }
}
