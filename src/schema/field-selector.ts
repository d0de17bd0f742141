// Which fields are wanted: `status.phase=Running,spec.nodeName!=`. A kind says which of its fields may be named.
import type { AnyKind } from "./kind.ts";

export interface FieldRequirement {
  readonly field: string;
  readonly operator: "=" | "!=";
  readonly value: string;
}

/** Text that is no field selector, or names a field that cannot be selected by. */
export class FieldSelectorError extends Error {
  override readonly name = "FieldSelectorError";
}

/** Reads `a=1,b==2,c!=3`, sorted. A backslash makes data of a comma, an equals sign and itself. Throws FieldSelectorError. */
export function parseFieldSelector(text: string): readonly FieldRequirement[] {
  return splitTerms(text)
    .filter((term) => term !== "")
    .sort()
    .map((term) => {
      const operator = /!=|==?/.exec(term);
      if (operator === null) throw new FieldSelectorError(`invalid selector: '${text}'; can't understand '${term}'`);
      return {
        field: term.slice(0, operator.index),
        operator: operator[0] === "!=" ? "!=" : "=",
        value: unescapeValue(term.slice(operator.index + operator[0].length)),
      };
    });
}

export const formatFieldSelector = (requirements: readonly FieldRequirement[]): string =>
  requirements.map(({ field, operator, value }) => `${field}${operator}${escapeFieldValue(value)}`).join(",");

export const escapeFieldValue = (value: string): string => value.replace(/[\\,=]/g, "\\$&");

/** A function that says whether an object of the kind meets all requirements. Throws FieldSelectorError for unknown fields. */
export function fieldMatcher(
  kind: AnyKind,
  requirements: readonly FieldRequirement[],
): (object: Readonly<Record<string, any>>) => boolean {
  const tests = requirements.map(({ field, operator, value }) => {
    const read = fieldReader(kind, field);
    return operator === "=" ? (object: object) => read(object) === value : (object: object) => read(object) !== value;
  });
  return (object) => tests.every((test) => test(object));
}

/** The one value a field must have, if there is one: `metadata.name=web` reads one object instead of all. */
export const exactFieldValue = (requirements: readonly FieldRequirement[], field: string): string | undefined =>
  requirements.find((one) => one.field === field && one.operator === "=")?.value;

function fieldReader(kind: AnyKind, field: string): (object: any) => string {
  if (field === "metadata.name") return (object) => object.metadata?.name ?? "";
  if (field === "metadata.namespace") return (object) => object.metadata?.namespace ?? "";
  const { selectableFields } = kind;
  const own = selectableFields && Object.hasOwn(selectableFields, field) ? selectableFields[field] : undefined;
  if (own !== undefined) return own;
  throw new FieldSelectorError(
    selectableFields === undefined
      ? `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`
      : `field label not supported: ${field}`,
  );
}

function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "\\") i++;
    else if (text[i] === ",") {
      terms.push(text.slice(start, i));
      start = i + 1;
    }
  }
  return [...terms, text.slice(start)];
}

function unescapeValue(text: string): string {
  return text.replace(/\\(.?)|[,=]/gsu, (found, escaped: string | undefined) => {
    if (escaped === undefined)
      throw new FieldSelectorError(`invalid field selector: unescaped character in value: ${found.codePointAt(0)}`);
    if (escaped !== "\\" && escaped !== "," && escaped !== "=")
      throw new FieldSelectorError(`invalid field selector: invalid escape sequence: ${found}`);
    return escaped;
  });
}
