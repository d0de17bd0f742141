import { byteLength, dns1123Subdomain, qualifiedName } from "#schema/formats.ts";
import { duplicate, invalid, type Problem, required, tooLong } from "#schema/index.ts";
import type { TopologySelectorTerm } from "../../core/v1/affinity.ts";

/** Names of drivers are read without regard to case. */
export const driverName = (name: string): readonly string[] => dns1123Subdomain(name.toLowerCase());
export const provisionerName = (name: string): readonly string[] => qualifiedName(name.toLowerCase());

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

/** No two terms of the same topology, and no key twice within one. */
export function* checkTopologies(terms: readonly TopologySelectorTerm[] = []): Iterable<Problem> {
  const seen = new Set<string>();
  for (const [i, { matchLabelExpressions = [] }] of terms.entries()) {
    const path = `allowedTopologies[${i}].matchLabelExpressions`;
    const keys = new Map<string, string>();
    for (const [j, { key, values }] of matchLabelExpressions.entries()) {
      if (values.length === 0) yield required(`${path}[${j}].values`);
      for (const [k, value] of values.entries())
        if (values.indexOf(value) < k) yield duplicate(`${path}[${j}].values[${k}]`);
      for (const detail of qualifiedName(key)) yield invalid(`${path}[${j}].key`, detail);
      if (keys.has(key)) yield duplicate(`${path}[${j}].key`);
      keys.set(key, JSON.stringify([...new Set(values)].toSorted()));
    }
    const whole = JSON.stringify([...keys].toSorted());
    if (seen.has(whole)) yield duplicate(path, "");
    seen.add(whole);
  }
}
