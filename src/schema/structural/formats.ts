// Formats of texts. Follows kube-openapi/pkg/validation/strfmt, which takes some of its words less literally than their standards do.
import { DurationError, parseDuration } from "#base/duration.ts";
import { byteLength } from "../formats.ts";
import { parseInt64 } from "../int64.ts";
import { parseCidr, parseIp } from "../ip.ts";
import { isEmail } from "./email.ts";
import { isRequestUri } from "./request-uri.ts";
import { formatKey } from "./schema.ts";

type Test = (text: string) => boolean;
const matches =
  (pattern: RegExp): Test =>
  (text) =>
    pattern.test(text);

/** Undefined of a format that is not known. */
export const formatTest = (format: string): Test | undefined => tests.get(formatKey(format));

const isIsbn10: Test = (text) => {
  const digits = text.replace(/[\s-]+/g, "");
  if (!/^(?:[0-9]{9}X|[0-9]{10})$/.test(digits)) return false;
  return [...digits].reduce((sum, digit, i) => sum + (i + 1) * (digit === "X" ? 10 : Number(digit)), 0) % 11 === 0;
};
const isIsbn13: Test = (text) => {
  const digits = text.replace(/[\s-]+/g, "");
  if (!/^[0-9]{13}$/.test(digits)) return false;
  return [...digits].reduce((sum, digit, i) => sum + (i % 2 === 0 ? 1 : 3) * Number(digit), 0) % 10 === 0;
};

const card =
  /^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$/;
const isCreditCard: Test = (text) => {
  const digits = text.replace(/[^0-9]+/g, "");
  if (!card.test(digits)) return false;
  const sum = [...digits].toReversed().reduce((all, digit, i) => {
    const number = Number(digit) * (i % 2 === 0 ? 1 : 2);
    return all + (number > 9 ? number - 9 : number);
  }, 0);
  return sum % 10 === 0;
};

const isDate: Test = (text) => {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  if (!match) return false;
  const [year, month, day] = match.slice(1).map(Number) as [number, number, number];
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0;
  return day >= 1 && day <= days;
};
const isDateTime: Test = (text) => {
  const lower = text.toLowerCase();
  const end = lower.indexOf("t", "2006-01-02T".length);
  const time = lower.slice("2006-01-02T".length, end < 0 ? undefined : end); // upstream does not look further
  const match = /^([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))$/.exec(time);
  return (
    isDate(lower.slice(0, 10)) &&
    lower[10] === "t" &&
    match !== null &&
    Number(match[1]) < 24 &&
    Number(match[2]) < 60 &&
    Number(match[3]) < 60
  );
};

/** Units of durations in words; the last of a line may go on ("nanoseconds"). */
const units = ["ns nano", "us µs micro", "ms milli", "s sec", "m min", "h hr hour", "d day", "w wk week"].map((line) =>
  line.split(" "),
);
const isUnit: Test = (word) =>
  units.some((names) => names.includes(word) || word.startsWith(names[names.length - 1] as string));
const isDuration: Test = (text) => {
  try {
    parseDuration(text);
    return true;
  } catch (error) {
    if (!(error instanceof DurationError)) throw error;
    // The unit is not asked for by the expression: it would look for one anew behind each digit of a long number.
    const parts = [...text.matchAll(/(\d+)\s*([A-Za-zµ]+)?/g)].filter(([, , unit]) => unit !== undefined);
    if (parts.some(([, count = ""]) => parseInt64(count) === undefined)) return false;
    return parts.some(([, , unit = ""]) => isUnit(unit.toLowerCase()));
  }
};

const letter = String.raw`[a-zA-Z0-9\p{S}\p{L}]`;
const hostname = new RegExp(
  String.raw`^(?:${letter}(?:-?${letter}{0,62})?|(?:${letter}(?:[-a-zA-Z0-9\p{S}\p{L}]{0,61}${letter})?\.)+[a-zA-Z\p{L}]{2,63})$`,
  "u",
);
/** The length bounds the time that the expression can take. */
const isHostname: Test = (text) =>
  byteLength(text) <= 255 && hostname.test(text) && text.split(".").every((label) => byteLength(label) <= 63);

const isIpv6: Test = (text) => text.includes(":") && parseIp(text) !== undefined && !parseIp(text)?.leadingZeros;
const hexPairs = (separator: string): string => `(?:[0-9a-f]{2}${separator})`;
const isMac = matches(
  new RegExp(
    `^(?:${[":", "-"].flatMap((one) => [5, 7, 19].map((count) => `${hexPairs(one)}{${count}}[0-9a-f]{2}`)).join("|")}|${[2, 3, 9].map((count) => `(?:[0-9a-f]{4}\\.){${count}}[0-9a-f]{4}`).join("|")})$`,
    "i",
  ),
);
const uuid = (third: string, fourth: string): Test =>
  matches(new RegExp(`^[0-9a-f]{8}-?[0-9a-f]{4}-?${third}-?${fourth}-?[0-9a-f]{12}$`, "i"));
const any = "[0-9a-f]{4}";
const variant = "[89ab][0-9a-f]{3}";
const color = String.raw`\s*(?:0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*`;
const name = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?";
const shortName = new RegExp(`^${name}$`);
const longName = new RegExp(`^${name}(?:\\.${name})*$`);

const isBase64: Test = (text) =>
  text.length > 0 && text.length % 4 === 0 && /^[A-Za-z0-9+/]*$/.test(text.replace(/={1,2}$/, ""));

const tests: ReadonlyMap<string, Test> = new Map([
  ["bsonobjectid", matches(/^[0-9a-f]{24}$/i)],
  ["uri", isRequestUri],
  ["email", isEmail],
  ["hostname", isHostname],
  ["ipv4", (text) => text.includes(".") && parseIp(text) !== undefined],
  ["ipv6", isIpv6],
  ["cidr", (text) => parseCidr(text) !== undefined],
  ["mac", isMac],
  ["uuid", uuid(any, any)],
  ["uuid3", uuid("3[0-9a-f]{3}", any)],
  ["uuid4", uuid("4[0-9a-f]{3}", variant)],
  ["uuid5", uuid("5[0-9a-f]{3}", variant)],
  ["isbn", (text) => isIsbn10(text) || isIsbn13(text)],
  ["isbn10", isIsbn10],
  ["isbn13", isIsbn13],
  ["creditcard", isCreditCard],
  ["ssn", (text) => text.length === 11 && /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text)],
  ["hexcolor", matches(/^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/)],
  ["rgbcolor", matches(new RegExp(`^rgb\\(${color},${color},${color}\\)$`))],
  ["byte", isBase64],
  ["password", () => true],
  ["date", isDate],
  ["duration", isDuration],
  ["datetime", isDateTime],
  ["k8sshortname", (text) => text.length <= 63 && shortName.test(text)],
  ["k8slongname", (text) => text.length <= 253 && longName.test(text)],
]);
