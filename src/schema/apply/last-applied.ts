// Moving from client-side to server-side apply. Client-side `kubectl apply` leaves its configuration in an annotation, and
// its fields are owned by an update. When kubectl then applies on the server, what it would take from such an update is its
// own: fields that stand in the annotation as they are in the object are no conflicts. The annotation is kept up to date, so
// that the way back stays open.

import { own } from "#base/collections.ts";
import { parseJson } from "../json.ts";
import { misfits } from "./check.ts";
import { compare, fieldsOf } from "./compare.ts";
import type { FieldConflict } from "./conflict.ts";
import { difference, type FieldSet, isEmptySet } from "./field-set.ts";
import type { ApplyShape } from "./shape.ts";
import { goJson, isMap, type JsonMap } from "./value.ts";

/** Only for this manager; whoever does not want it names another. */
export const lastAppliedManager = "kubectl";
const annotation = "kubectl.kubernetes.io/last-applied-configuration";
/** All annotations of an object together, in bytes. */
const maxAnnotations = 256 * 1024;

/** The conflicts that remain when what client-side apply owned is taken out. */
export function remainingConflicts(
  shape: ApplyShape,
  apiVersion: string,
  live: JsonMap,
  conflicts: readonly FieldConflict[],
): readonly FieldConflict[] {
  const allowed = lastAppliedFields(shape, apiVersion, live);
  if (allowed === undefined) return conflicts;
  return conflicts
    .map((conflict) => ({ ...conflict, fields: difference(conflict.fields, allowed) }))
    .filter(({ fields }) => !isEmptySet(fields));
}

/** The fields that the annotation and the object agree on. Undefined where the annotation says nothing about this version. */
function lastAppliedFields(shape: ApplyShape, apiVersion: string, live: JsonMap): FieldSet | undefined {
  const text = annotationsOf(live)[annotation];
  if (typeof text !== "string" || text === "" || misfits(shape, live) !== undefined) return undefined;
  const applied = parse(text);
  if (!isMap(applied) || applied.apiVersion !== apiVersion || misfits(shape, applied) !== undefined) return undefined;
  const { changed, removed } = compare(shape, applied, live);
  return difference(difference(fieldsOf({ shape, value: applied }), changed), removed);
}

function parse(text: string): unknown {
  try {
    return parseJson(text).value;
  } catch {
    // A broken annotation is no claim to any field; the conflicts then stand as they are.
    return undefined;
  }
}

/** The object with its annotation, if it has one, saying what was just applied. */
export function withLastApplied(object: JsonMap, applied: JsonMap): JsonMap {
  const annotations = annotationsOf(object);
  const present = annotations[annotation];
  if (typeof present !== "string" || present === "") return object;
  const updated = { ...annotations, [annotation]: `${goJson(withoutAnnotation(applied))}\n` };
  const kept = sizeOf(updated) > maxAnnotations ? without(annotations) : updated;
  return { ...object, metadata: { ...(object.metadata as JsonMap), annotations: kept } };
}

function withoutAnnotation(applied: JsonMap): JsonMap {
  if (!isMap(applied.metadata) || !isMap(applied.metadata.annotations)) return applied;
  return { ...applied, metadata: { ...applied.metadata, annotations: without(applied.metadata.annotations) } };
}

const without = (annotations: JsonMap): JsonMap =>
  Object.fromEntries(Object.entries(annotations).filter(([key]) => key !== annotation));

function annotationsOf(object: JsonMap): JsonMap {
  const metadata = own(object, "metadata");
  const annotations = isMap(metadata) ? own(metadata, "annotations") : undefined;
  return isMap(annotations) ? annotations : {};
}

const utf8 = new TextEncoder();
const sizeOf = (annotations: JsonMap): number =>
  Object.entries(annotations).reduce((sum, [key, value]) => sum + utf8.encode(key + String(value)).length, 0);
