import { equal } from "#base/collections.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { badRequest } from "#wire/status.ts";
import type { Strategy } from "../registry/strategy.ts";

const annotation = "deprecated.daemonset.template.generation";

/** Templates are counted as they once were in the spec: clients see the count as an annotation, and pods have it as a label. */
export const daemonSet: Strategy = {
  countsGenerations: true,
  prepareForCreate: (object) => count(object, Math.max(1, countOf(object))),
  prepareForUpdate(object, old) {
    const before = countOf(old);
    count(object, equal(object.spec?.template, old.spec.template) ? before : before + 1);
  },
  prepareForStatusUpdate: (object, old) => count(object, countOf(old)),
};

function countOf({ metadata }: DraftObject | ApiObject): number {
  const text = metadata.annotations?.[annotation];
  if (text === undefined) return 0;
  if (!/^[+-]?[0-9]{1,15}$/.test(text))
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  return Number(text);
}

function count({ metadata }: DraftObject, templates: number): void {
  metadata.annotations = { ...metadata.annotations, [annotation]: String(templates) };
}
