// Rules that kinds of several groups share.
import { dns1123Subdomain, patternMessage } from "#schema/formats.ts";
import { invalid, type Problem, required } from "#schema/index.ts";
import type { AnyStruct } from "#schema/struct.ts";
import { valueAt } from "#schema/validate.ts";
import { same } from "./core/v1/checks/same.ts";
import { internalForm } from "./internal-form.ts";

/** Fields that cannot change in this place, though the same struct may change in another. */
export function* unchanged(value: unknown, old: unknown, ...fields: readonly string[]): Iterable<Problem> {
  for (const field of fields)
    if (!same(valueAt(value, field), valueAt(old, field))) yield invalid(field, "field is immutable");
}

/** A struct, or none, that cannot change. */
export function* unchangedStruct(
  field: string,
  struct: AnyStruct,
  value: Readonly<Record<string, unknown>> | undefined,
  old: Readonly<Record<string, unknown>> | undefined,
): Iterable<Problem> {
  if (!same(value, old)) yield invalid(field, "field is immutable", value ? internalForm(struct, value) : null);
}

/** An invalid value that the answer does not repeat. */
export const invalidUnseen = (field: string, detail: string): Problem => ({ ...invalid(field, detail), hidden: true });

const pathPattern = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
const pathOnly = new RegExp(`^${pathPattern}$`);

/** `acme.io/foo`: a domain, and a path below it. */
export function* domainPrefixedPath(field: string, value: string): Iterable<Problem> {
  if (value === "") {
    yield required(field);
    return;
  }
  const slash = value.indexOf("/");
  const [host, path] = slash < 0 ? ["", ""] : [value.slice(0, slash), value.slice(slash + 1)];
  if (host === "" || path === "") {
    yield invalid(field, 'must be a domain-prefixed path (such as "acme.io/foo")');
    return;
  }
  for (const detail of dns1123Subdomain(host)) yield invalid(field, detail, host);
  if (!pathOnly.test(path)) yield invalid(field, patternMessage("Invalid path", pathPattern), path);
}

/** Go's `%q` of a list of words: `["a" "b"]`. */
export const quotedList = (values: readonly string[]): string => `[${values.map((one) => `"${one}"`).join(" ")}]`;
