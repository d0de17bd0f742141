// Named formats of texts. Follows apiserver/pkg/cel/library/format.go.
import { dns1035Label, dns1123Label, dns1123Subdomain, labelValue, qualifiedName } from "../../formats.ts";
import { formatTest } from "../../structural/formats.ts";
import { isRequestUri } from "../../structural/request-uri.ts";
import { fn, global, type Library, member } from "../declarations.ts";
import { listType, optionalType, stringType, structType } from "../types.ts";
import { listOf } from "../values/list.ts";
import { none, OptionalValue } from "../values/optional.ts";
import type { OpaqueValue } from "../values/value.ts";
import { urlProblem } from "./urls.ts";

/** What is wrong with a text; nothing if it is of the format. */
type TextCheck = (text: string) => readonly string[];

export const formatType = structType("kubernetes.NamedFormat");

export class FormatValue implements OpaqueValue {
  readonly kind = "opaque";
  readonly type = formatType;
  readonly name: string;
  /** What validating costs goes by it. */
  readonly patternLength: number;
  readonly validate: (text: string) => readonly string[];

  constructor(name: string, patternLength: number, validate: (text: string) => readonly string[]) {
    this.name = name;
    this.patternLength = patternLength;
    this.validate = validate;
  }

  equals(other: OpaqueValue): boolean {
    return other instanceof FormatValue && other.name === this.name;
  }
}

/** The beginning of a name may end with a dash, since more will follow. */
const asPrefix =
  (format: TextCheck): TextCheck =>
  (text) =>
    format(text.endsWith("-") ? `${text.slice(0, -1)}a` : text);

const ofSchema =
  (format: string, problem: string): TextCheck =>
  (text) =>
    formatTest(format)?.(text) ? [] : [problem];

const named: readonly (readonly [string, number, TextCheck])[] = [
  ["dns1123Label", 30, dns1123Label],
  ["dns1123Subdomain", 60, dns1123Subdomain],
  ["dns1035Label", 30, dns1035Label],
  ["qualifiedName", 60, qualifiedName],
  ["dns1123LabelPrefix", 30, asPrefix(dns1123Label)],
  ["dns1123SubdomainPrefix", 60, asPrefix(dns1123Subdomain)],
  ["dns1035LabelPrefix", 30, asPrefix(dns1035Label)],
  ["labelValue", 40, labelValue],
  ["uri", 1103, (text) => (isRequestUri(text) ? [] : [urlProblem(text)])],
  ["uuid", 70, ofSchema("uuid", "does not match the UUID format")],
  ["byte", 84, ofSchema("byte", "invalid base64")],
  ["date", 71, ofSchema("date", "invalid date")],
  ["datetime", 71, ofSchema("date-time", "invalid datetime")],
];

const formats: ReadonlyMap<string, FormatValue> = new Map(
  named.map(([name, patternLength, format]) => [name, new FormatValue(name, patternLength, format)]),
);

function validate(format: FormatValue, text: string): OptionalValue {
  const problems = format.validate(text);
  return problems.length === 0 ? none : new OptionalValue(listOf(problems));
}

export const namedFormats: Library = {
  types: [formatType],
  functions: [
    fn("validate", member("format-validate", [formatType, stringType], optionalType(listType(stringType)), validate)),
    fn(
      "format.named",
      global("format-named", [stringType], optionalType(formatType), (name: string) => {
        const format = formats.get(name);
        return format ? new OptionalValue(format) : none;
      }),
    ),
    ...[...formats].map(([name, format]) =>
      fn(
        `format.${name}`,
        global(`format-${name}`, [], formatType, () => format),
      ),
    ),
  ],
};
