// Upstream: pkg/apis/storage/validation/validation.go.
import { byteLength, dns1123Subdomain, qualifiedName } from "#schema/formats.ts";
import { duplicate, invalid, type Problem, required, tooLong } from "#schema/index.ts";
import type { TopologySelectorTerm } from "../../core/v1/affinity.ts";

/** Names of drivers are read without regard to case. */
export const driverName = (name: string): readonly string[] => dns1123Subdomain(name.toLowerCase());

/** The name of a provisioner, which is checked and shown in lower case. */
export function* checkProvisioner(field: string, name: string): Iterable<Problem> {
  const lower = name.toLowerCase();
  if (lower === "") yield required(field);
  else for (const detail of qualifiedName(lower)) yield invalid(field, detail, lower);
}

export const mostDriverNameBytes = 63;
const mostParameters = 512;
const mostParameterBytes = 256 * 1024;

export function* checkParameters(parameters: Readonly<Record<string, string>> = {}): Iterable<Problem> {
  const entries = Object.entries(parameters);
  if (entries.length > mostParameters) {
    yield tooLong("parameters", mostParameters);
    return;
  }
  if (Object.hasOwn(parameters, "")) yield invalid("parameters", "field can not be empty.", "");
  yield* checkSize("parameters", parameters);
}

export function* checkSize(field: string, texts: Readonly<Record<string, string>> = {}): Iterable<Problem> {
  const bytes = Object.entries(texts).reduce((sum, [key, value]) => sum + byteLength(key) + byteLength(value), 0);
  if (bytes > mostParameterBytes) yield tooLong(field, mostParameterBytes);
}

/** No two terms of the same topology. The terms themselves are checked where they are declared. */
export function* checkTopologies(terms: readonly TopologySelectorTerm[] = []): Iterable<Problem> {
  const seen = new Map<string, number>();
  for (const [i, { matchLabelExpressions = [] }] of terms.entries()) {
    const values = new Map(matchLabelExpressions.map((one) => [one.key, [...new Set(one.values)].toSorted()]));
    const whole = JSON.stringify([...values].toSorted());
    // Upstream compares each term with as many empty ones as there are terms, and with all that came before.
    const empty = values.size === 0 ? terms.length : 0;
    const before = seen.get(whole) ?? 0;
    for (let times = empty + before; times > 0; times--)
      yield duplicate(`allowedTopologies[${i}].matchLabelExpressions`, "");
    seen.set(whole, before + 1);
  }
}
