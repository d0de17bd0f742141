// What names, keys and addresses must look like. Each format lists what is wrong with a value, in upstream's words;
// an empty list means it is fine. Used as `.is(dns1123Label)` in declarations and called directly in checks.
import type { Format } from "./field.ts";
import { formatIp, parseCidr, parseIp } from "./ip.ts";

export const maxLengthMessage = (most: number): string => `must be no more than ${most} characters`;
/** Keys and values of labels are measured in the same bytes, but upstream says so. */
const maxBytesMessage = (most: number): string => `must be no more than ${most} bytes`;
export const rangeMessage = (least: number, most: number): string => `must be between ${least} and ${most}, inclusive`;

/** `msg (e.g. 'a', or 'b', regex used for validation is '…')`, as upstream puts it together. */
export function patternMessage(message: string, pattern: string, ...examples: readonly string[]): string {
  const used = `regex used for validation is '${pattern}')`;
  return examples.length === 0
    ? `${message} (${used}`
    : `${message} (e.g. ${examples.map((one) => `'${one}', `).join(" or ")}${used}`;
}

/** A format given by a regular expression and optionally a maximum length in bytes. */
function pattern(
  source: string,
  message: string,
  examples: readonly string[],
  longest = Number.POSITIVE_INFINITY,
): Format {
  const whole = new RegExp(`^(?:${source})$`);
  const complaint = patternMessage(message, source, ...examples);
  const tooLong = maxLengthMessage(longest);
  return (value) => {
    const long = value.length > longest || (value.length * 3 > longest && byteLength(value) > longest);
    const fits = whole.test(value);
    if (!long && fits) return fine;
    return [...(long ? [tooLong] : []), ...(fits ? [] : [complaint])];
  };
}

const fine: readonly string[] = [];

/** The same, for names that come again and again: of those that are fine some are remembered. */
function remembering(format: Format): Format {
  const known = new Set<string>();
  return (value) => {
    if (known.has(value)) return fine;
    const messages = format(value);
    if (messages.length > 0) return messages;
    if (known.size === mostKnown) known.clear();
    known.add(value);
    return fine;
  };
}
const mostKnown = 1000;

/** Bytes of the UTF-8 form, which is what upstream counts. */
export function byteLength(value: string): number {
  let bytes = 0;
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i);
    if (code < 0x80) bytes += 1;
    else if (code < 0x800) bytes += 2;
    else if (code >= 0xd800 && code < 0xdc00 && i + 1 < value.length) {
      bytes += 4;
      i++;
    } else bytes += 3;
  }
  return bytes;
}

const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const subdomain = `${label}(\\.${label})*`;
const underscoreLabel = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?";

export const dns1123Subdomain = pattern(
  subdomain,
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  ["example.com"],
  253,
);

/** The same in the words of upstream's declarative validation, which counts bytes. */
export const longName = (value: string): readonly string[] =>
  dns1123Subdomain(value).map((message) => (message === maxLengthMessage(253) ? maxBytesMessage(253) : message));

export const dns1123SubdomainWithUnderscore = pattern(
  `${underscoreLabel}(\\.${underscoreLabel})*`,
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
  ["example.com"],
  253,
);

const plainLabel = pattern(
  label,
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  ["my-name", "123-abc"],
  63,
);
const wholeLabel = new RegExp(`^(?:${label})$`);
const wholeSubdomain = new RegExp(`^(?:${subdomain})$`);

/** A single DNS label; of a name that would be right but for its dots, only the dots are named. */
export const dns1123Label: Format = (value) => {
  const messages = plainLabel(value);
  if (messages.length === 0 || wholeLabel.test(value) || !wholeSubdomain.test(value)) return messages;
  return [...(byteLength(value) > 63 ? [maxLengthMessage(63)] : []), "must not contain dots"];
};

export const dns1035Label = pattern(
  "[a-z]([-a-z0-9]*[a-z0-9])?",
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  ["my-name", "abc-123"],
  63,
);

export const wildcardDns1123Subdomain = pattern(
  `\\*\\.${subdomain}`,
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
  ["*.example.com"],
  253,
);

const namePart = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const wholeName = new RegExp(`^(?:${namePart})$`);
const nameMessage = patternMessage(
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  namePart,
  "MyName",
  "my.name",
  "123-abc",
);

/** A label or annotation key: a name, with a DNS subdomain and a slash before it if it is not the user's own. */
export const qualifiedName = remembering((value) => {
  const parts = value.split("/");
  if (parts.length > 2)
    return [
      `a valid label key ${nameMessage} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  const name = parts.at(-1) as string;
  const prefix = parts.length === 2 ? (parts[0] as string) : undefined;
  if (
    wholeName.test(name) &&
    name.length <= 63 &&
    (prefix === undefined || (prefix !== "" && dns1123Subdomain(prefix).length === 0))
  )
    return fine;
  const messages: string[] = [];
  if (prefix === "") messages.push("prefix part must be non-empty");
  else if (prefix !== undefined) for (const message of longName(prefix)) messages.push(`prefix part ${message}`);
  if (name === "") messages.push("name part must be non-empty");
  else if (byteLength(name) > 63) messages.push(`name part ${maxBytesMessage(63)}`);
  if (!wholeName.test(name)) messages.push(`name part ${nameMessage}`);
  return messages;
});

const labelText = pattern(
  `(${namePart})?`,
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  ["MyValue", "my_value", "12345"],
);
export const labelValue: Format = (value) => {
  const long = value.length * 3 > 63 && byteLength(value) > 63;
  return long ? [maxBytesMessage(63), ...labelText(value)] : labelText(value);
};

export const cIdentifier = pattern(
  "[A-Za-z_][A-Za-z0-9_]*",
  "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'",
  ["my_name", "MY_NAME", "MyName"],
);

export const percent = pattern("[0-9]+%", "a valid percent string must be a numeric string followed by an ending '%'", [
  "1%",
  "93%",
]);

export const httpHeaderName = pattern(
  "[-A-Za-z0-9]+",
  "a valid HTTP header must consist of alphanumeric characters or '-'",
  ["X-Header-Name"],
);

const plainConfigMapKey = pattern(
  "[-._a-zA-Z0-9]+",
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
  ["key.name", "KEY_NAME", "key-name"],
  253,
);
/** A key of a ConfigMap or Secret; it becomes a file name, so it must not climb. */
export const configMapKey: Format = (value) => [...plainConfigMapKey(value), ...climbs(value)];

const plainEnvVarName = pattern(
  "[-._a-zA-Z][-._a-zA-Z0-9]*",
  "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit",
  ["my.env-name", "MY_ENV.NAME", "MyEnvName1"],
);
export const envVarName: Format = (value) => [...plainEnvVarName(value), ...climbs(value)];

export const relaxedEnvVarName: Format = (value) => {
  if (value === "") return ["environment variable name must be non-empty"];
  return /^[ -<>-~]*$/.test(value)
    ? fine
    : ["a valid environment variable name must consist only of printable ASCII characters other than '='"];
};

function climbs(value: string): readonly string[] {
  if (value === ".") return ["must not be '.'"];
  if (value === "..") return ["must not be '..'"];
  return value.startsWith("..") ? ["must not start with '..'"] : fine;
}

export const portName: Format = (value) => {
  const messages: string[] = [];
  if (byteLength(value) > 15) messages.push(maxLengthMessage(15));
  if (!/^[-a-z0-9]+$/.test(value))
    messages.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  if (!/[a-z]/.test(value)) messages.push("must contain at least one letter (a-z)");
  if (value.includes("--")) messages.push("must not contain consecutive hyphens");
  if (value.startsWith("-") || value.endsWith("-")) messages.push("must not begin or end with a hyphen");
  return messages;
};

/** A name that can stand in a URL path, for kinds whose names are otherwise free (roles). */
export const pathSegment: Format = (value) => {
  if (value === "." || value === "..") return [`may not be '${value}'`];
  return pathSegmentPrefix(value);
};

/** As `pathSegment`, but for a prefix to which a suffix will be added: `.` alone is then no danger. */
export const pathSegmentPrefix: Format = (value) => [
  ...["/", "%"].filter((character) => value.includes(character)).map((character) => `may not contain '${character}'`),
  // Upstream takes it, but no path to such an object would be served here.
  ...(value.includes("\0") ? ["may not contain '\\x00'"] : []),
];

const badIp = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
const badCidr = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

/** An address in fields that always took sloppy ones: leading zeros and IPv4 inside IPv6 pass. */
export const ipSloppy: Format = (value) => (parseIp(value) ? fine : [badIp]);
export const cidrSloppy: Format = (value) => (parseCidr(value) ? fine : [badCidr]);

/** An address in fields that are older than the canonical form: any unambiguous way to write it will do. */
export const ipAnyForm: Format = (value) => {
  const parsed = parseIp(value);
  if (!parsed) return [badIp];
  if (parsed.leadingZeros) return ["must not have leading 0s"];
  return parsed.mapped ? ["must not be an IPv4-mapped IPv6 address"] : fine;
};

export const cidrAnyForm: Format = (value) => {
  const parsed = parseCidr(value);
  if (!parsed) return [badCidr];
  if (parsed.leadingZeros) return ["must not have leading 0s in IP or prefix length"];
  if (parsed.address.mapped) return ["must not have an IPv4-mapped IPv6 address"];
  return parsed.network === parsed.address.value ? fine : ["must not have bits set beyond the prefix length"];
};

/** An address as new fields want it: strict, and in its one canonical form. */
export const ip: Format = (value) => {
  const messages = ipAnyForm(value);
  const parsed = parseIp(value);
  if (messages.length > 0 || !parsed) return messages;
  return canonically(value, formatIp(parsed));
};

export const cidr: Format = (value) => {
  const messages = cidrAnyForm(value);
  const parsed = parseCidr(value);
  if (messages.length > 0 || !parsed) return messages;
  return canonically(value, `${formatIp(parsed.address)}/${parsed.length}`);
};

const canonically = (value: string, canonical: string): readonly string[] =>
  value === canonical ? fine : [`must be in canonical form (${JSON.stringify(canonical)})`];

/** For numbers, which have no `Format`: undefined when fine. */
export const portNumber = (value: number): string | undefined =>
  value >= 1 && value <= 65535 ? undefined : rangeMessage(1, 65535);
