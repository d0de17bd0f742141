// Semantic versions. Follows apiserver/pkg/cel/library/semverlib.go and the texts of blang/semver.
import { fn, global, type Library, member } from "../declarations.ts";
import { boolType, intType, stringType, structType } from "../types.ts";
import { fail } from "../values/failure.ts";
import type { OpaqueValue } from "../values/value.ts";

export const semverType = structType("kubernetes.Semver");

export class SemverValue implements OpaqueValue {
  readonly kind = "opaque";
  readonly type = semverType;
  readonly numbers: readonly [major: number, minor: number, patch: number];
  readonly prerelease: readonly string[];

  constructor(numbers: readonly [number, number, number], prerelease: readonly string[]) {
    this.numbers = numbers;
    this.prerelease = prerelease;
  }

  equals(other: OpaqueValue): boolean {
    return other instanceof SemverValue && compare(this, other) === 0;
  }
}

function compare(a: SemverValue, b: SemverValue): number {
  for (const [i, number] of a.numbers.entries()) {
    const difference = Math.sign(number - (b.numbers[i] ?? 0));
    if (difference !== 0) return difference;
  }
  if (a.prerelease.length === 0 || b.prerelease.length === 0)
    return Math.sign(b.prerelease.length - a.prerelease.length);
  for (const [i, part] of a.prerelease.entries()) {
    const other = b.prerelease[i];
    if (other === undefined) return 1;
    const difference = comparePart(part, other);
    if (difference !== 0) return difference;
  }
  return a.prerelease.length < b.prerelease.length ? -1 : 0;
}

/** Numbers come before words, and are compared as numbers. */
function comparePart(a: string, b: string): number {
  const [aIsNumber, bIsNumber] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (aIsNumber && bIsNumber) return Math.sign(Number(a) - Number(b));
  if (aIsNumber !== bIsNumber) return aIsNumber ? -1 : 1;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The version, or what is wrong with the text. */
function readSemver(text: string): SemverValue | string {
  if (text === "") return "Version string empty";
  const [major, minor, ...rest] = text.split(".");
  if (major === undefined || minor === undefined || rest.length === 0) return "No Major.Minor.Patch elements found";
  const match = /^([^+-]*)(?:-([^+]*))?(?:\+(.*))?$/s.exec(rest.join("."));
  const numbers: number[] = [];
  for (const [name, digits] of [
    ["major", major],
    ["minor", minor],
    ["patch", match?.[1] ?? ""],
  ] as const) {
    const title = `${name[0]?.toUpperCase()}${name.slice(1)}`;
    if (!/^\d+$/.test(digits)) return `Invalid character(s) found in ${name} number ${JSON.stringify(digits)}`;
    if (digits.length > 1 && digits.startsWith("0"))
      return `${title} number must not contain leading zeroes ${JSON.stringify(digits)}`;
    numbers.push(Number(digits));
  }
  const prerelease = match?.[2] === undefined ? [] : match[2].split(".");
  for (const part of [...prerelease, ...(match?.[3] === undefined ? [] : match[3].split("."))]) {
    if (part === "") return "Prerelease is empty";
    if (!/^[0-9A-Za-z-]+$/.test(part)) return `Invalid character(s) found in prerelease ${JSON.stringify(part)}`;
  }
  for (const part of prerelease)
    if (/^0\d+$/.test(part))
      return `Numeric PreRelease version must not contain leading zeroes ${JSON.stringify(part)}`;
  const [first = 0, second = 0, third = 0] = numbers;
  return new SemverValue([first, second, third], prerelease);
}

/** `v1.02` becomes `1.2.0`. */
function normalized(text: string): string {
  const parts = text.replace(/^v/, "").split(".");
  const shown = [...parts.slice(0, 2), ...(parts.length > 2 ? [parts.slice(2).join(".")] : [])].map((part) => {
    if (part.length <= 1) return part;
    const trimmed = part.replace(/^0+/, "");
    return /^\d/.test(trimmed) ? trimmed : `0${trimmed}`;
  });
  if (shown.length < 3 && /[+-]/.test(shown.at(-1) ?? ""))
    return fail("short version cannot contain PreRelease/Build meta data");
  while (shown.length < 3) shown.push("0");
  return shown.join(".");
}

export function toSemver(text: string, normalize = false): SemverValue {
  const version = readSemver(normalize ? normalized(text) : text);
  return typeof version === "string" ? fail(version) : version;
}

function isSemver(text: string, normalize = false): boolean {
  const parts = text.replace(/^v/, "").split(".");
  if (normalize && parts.length < 3 && /[+-]/.test(parts.at(-1) ?? "")) return false;
  return typeof readSemver(normalize ? normalized(text) : text) !== "string";
}

const two = [semverType, semverType];
const numbers = ["major", "minor", "patch"] as const;

export const semver: Library = {
  types: [semverType],
  functions: [
    fn(
      "semver",
      global("string_to_semver", [stringType], semverType, toSemver),
      global("string_bool_to_semver", [stringType, boolType], semverType, toSemver),
    ),
    fn(
      "isSemver",
      global("is_semver_string", [stringType], boolType, isSemver),
      global("is_semver_string_bool", [stringType, boolType], boolType, isSemver),
    ),
    fn(
      "isGreaterThan",
      member("semver_is_greater_than", two, boolType, (a: SemverValue, b: SemverValue) => compare(a, b) > 0),
    ),
    fn(
      "isLessThan",
      member("semver_is_less_than", two, boolType, (a: SemverValue, b: SemverValue) => compare(a, b) < 0),
    ),
    fn("compareTo", member("semver_compare_to", two, intType, compare)),
    ...numbers.map((name, i) =>
      fn(
        name,
        member(`semver_${name}`, [semverType], intType, (version: SemverValue) => version.numbers[i] ?? 0),
      ),
    ),
  ],
};
