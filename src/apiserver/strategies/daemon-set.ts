// Upstream: pkg/registry/apps/daemonset/strategy.go.
import { equal } from "#base/collections.ts";
import { int64Problem, nextInt64, parseInt64 } from "#schema/int64.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { badRequest } from "#wire/status.ts";
import type { Strategy } from "../registry/strategy.ts";

const annotation = "deprecated.daemonset.template.generation";

/** Templates are counted as they once were in the spec: clients see the count as an annotation, and pods have it as a label. */
export const daemonSet: Strategy = {
  countsGenerations: true,
  // What was once a field is an annotation, which whoever writes the object owns.
  prepareForTracking({ metadata }) {
    metadata.annotations = { [annotation]: "0", ...metadata.annotations };
  },
  prepareForCreate(object) {
    const templates = countOf(object);
    count(object, templates < 1n ? 1n : templates);
  },
  prepareForUpdate(object, old) {
    const before = countOf(old);
    count(object, equal(object.spec?.template, old.spec.template) ? before : nextInt64(before));
  },
  prepareForStatusUpdate: (object, old) => count(object, countOf(old)),
};

function countOf({ metadata }: DraftObject | ApiObject): bigint {
  const text = metadata.annotations?.[annotation];
  if (text === undefined) return 0n;
  const templates = parseInt64(text);
  if (templates === undefined) throw badRequest(int64Problem(text));
  return templates;
}

function count({ metadata }: DraftObject, templates: bigint): void {
  metadata.annotations = { ...metadata.annotations, [annotation]: String(templates) };
}
