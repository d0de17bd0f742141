// Fields that a request cannot set, because the server puts back what was there: the status of an object written as a whole,
// the spec of one written through /status. Nobody comes to own them that way.
import { fieldElement } from "./element.ts";
import { emptySet, type FieldSet, isEmptySet, recursiveDifference, self, setOf } from "./field-set.ts";

/** The part of a set that a request may own. */
export type Filter = (set: FieldSet) => FieldSet;

/** All but these fields and what lies below them. Paths such as "status" or "metadata.deletionTimestamp". */
export function excluding(...paths: readonly string[]): Filter {
  const fields = setOf(...paths.map((path) => path.split(".").map(fieldElement)));
  return (set) => recursiveDifference(set, fields);
}

/** Nothing but these fields and what lies below them. In "spec.containers.*.resources" the star stands for any item. */
export function including(...paths: readonly string[]): Filter {
  const patterns = paths.map((path) => path.split(".").map((step) => (step === "*" ? step : fieldElement(step))));
  return (set) => (isEmptySet(set) ? set : (matching(set, patterns) ?? emptySet));
}

/** The fields on the way to what matches stay in the set if they were in it, as upstream has it. */
function matching(node: FieldSet, patterns: readonly (readonly string[])[]): FieldSet | undefined {
  if (patterns.some((pattern) => pattern.length === 0)) return node;
  const member = isEmptySet(node) || node[self] !== undefined;
  const out: Record<string, FieldSet> = member ? { [self]: emptySet } : {};
  let parts = 0;
  for (const element in node) {
    const rest = patterns.filter(([step]) => step === "*" || step === element).map((pattern) => pattern.slice(1));
    const kept = element === self || rest.length === 0 ? undefined : matching(node[element] as FieldSet, rest);
    if (kept === undefined) continue;
    out[element] = kept;
    parts++;
  }
  if (parts > 0) return out;
  return member ? emptySet : undefined;
}
