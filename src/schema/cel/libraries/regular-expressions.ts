// Regular expressions: `matches`, and Kubernetes' `find` and `findAll`. Follows apiserver/pkg/cel/library/regex.go. They are compiled by
// re2js, whose time grows with the text and nothing else.
import { RE2JS } from "re2js";
import { compilePattern, PatternError } from "../../structural/pattern.ts";
import { fn, type Library, member } from "../declarations.ts";
import { intType, listType, stringType } from "../types.ts";
import { fail } from "../values/failure.ts";
import type { Int } from "../values/int.ts";
import { type ListValue, listOf } from "../values/list.ts";

/** A cache: patterns are nearly always literals, and evaluated for many objects. */
const mostKept = 512;
const compiled = new Map<string, RE2JS>();

export function regularExpression(source: string): RE2JS {
  const known = compiled.get(source);
  if (known) return known;
  let pattern: RE2JS;
  try {
    pattern = RE2JS.compile(source);
  } catch {
    pattern = fail(patternMessage(source));
  }
  if (compiled.size >= mostKept) compiled.clear();
  compiled.set(source, pattern);
  return pattern;
}

function patternMessage(source: string): string {
  try {
    compilePattern(source);
  } catch (error) {
    if (error instanceof PatternError) return error.message;
  }
  return `error parsing regexp: ${source}`;
}

export function matches(text: string, source: string): boolean {
  return regularExpression(source).test(text);
}

function find(text: string, source: string): string {
  const matcher = regularExpression(source).matcher(text);
  return matcher.find() ? (matcher.group() ?? "") : "";
}

function findAll(text: string, source: string, limit: Int = -1): ListValue {
  const found: string[] = [];
  const matcher = regularExpression(source).matcher(text);
  while ((limit < 0 || found.length < limit) && matcher.find()) found.push(matcher.group() ?? "");
  return listOf(found);
}

export const regularExpressions: Library = {
  functions: [
    fn("find", member("string_find_string", [stringType, stringType], stringType, find)),
    fn(
      "findAll",
      member("string_find_all_string", [stringType, stringType], listType(stringType), findAll),
      member("string_find_all_string_int", [stringType, stringType, intType], listType(stringType), findAll),
    ),
  ],
};
