// What `metadata` must look like, for every kind alike.
import { equal } from "#base/collections.ts";
import { byteLength, dns1123Label, dns1123Subdomain, labelValue, maxLengthMessage, qualifiedName } from "./formats.ts";
import type { AnyKind } from "./kind.ts";
import type { ObjectMeta, OwnerReference } from "./object-meta.ts";
import { addProblems, forbidden, invalid, mostProblems, type Problem, required, tooLong } from "./problem.ts";

const annotationBytes = 256 * 1024;
const orphan = "orphan";
const foregroundDeletion = "foregroundDeletion";

/** Adds the problems of `metadata`, with paths relative to it. */
export function validateMetadata(
  kind: MetadataRules,
  object: WithMetadata,
  old: ObjectMeta | undefined,
  problems: Problem[],
): void {
  const { metadata } = object;
  if (old) addProblems(problems, updateProblems(metadata, old));
  else addNameProblems(kind, object, problems);
  addNamespaceProblems(kind, metadata, problems);
  if ((metadata.generation ?? 0) < 0)
    problems.push(invalid("generation", "must be greater than or equal to 0", metadata.generation));
  if (metadata.labels) addProblems(problems, labelProblems(metadata.labels, "labels"));
  if (metadata.annotations) addProblems(problems, annotationProblems(metadata.annotations, "annotations"));
  if (metadata.ownerReferences) addProblems(problems, ownerProblems(metadata.ownerReferences));
  if (metadata.finalizers) addProblems(problems, finalizerProblems(kind, metadata.finalizers));
  for (const { operation, fieldsType, subresource } of metadata.managedFields ?? []) {
    if (problems.length >= mostProblems) return;
    if (operation !== "Apply" && operation !== "Update")
      problems.push(invalid("managedFields.operation", "must be `Apply` or `Update`", operation ?? ""));
    if (fieldsType && fieldsType !== "FieldsV1")
      problems.push(invalid("managedFields.fieldsType", "must be `FieldsV1`", fieldsType));
    if (byteLength(subresource ?? "") > 256) problems.push(tooLong("managedFields.subresource", 256));
  }
}

/** What kinds may ask of metadata beyond what all do. */
export type MetadataRules = Pick<AnyKind, "scope" | "nameFormat" | "anyFinalizers">;

export interface WithMetadata {
  readonly metadata: ObjectMeta;
}

function addNameProblems(kind: MetadataRules, object: WithMetadata, problems: Problem[]): void {
  const { name, generateName } = object.metadata;
  const format = (text: string) => kind.nameFormat?.(text, object as never) ?? dns1123Subdomain(text);
  if (generateName)
    for (const message of format(withoutTrailingDash(generateName)))
      problems.push(invalid("generateName", message, generateName));
  if (!name) problems.push(required("name", "name or generateName is required"));
  else for (const message of format(name)) problems.push(invalid("name", message, name));
}

/** A prefix may end in a dash, since more will follow; a dash at the end is judged as a letter would be. */
const withoutTrailingDash = (prefix: string): string =>
  prefix.length > 1 && prefix.endsWith("-") ? `${prefix.slice(0, -1)}a` : prefix;

function addNamespaceProblems(kind: MetadataRules, { namespace }: ObjectMeta, problems: Problem[]): void {
  if (kind.scope === "Namespaced") {
    if (!namespace) problems.push(required("namespace"));
    else for (const message of dns1123Label(namespace)) problems.push(invalid("namespace", message, namespace));
  } else if (namespace) problems.push(forbidden("namespace", "not allowed on this type"));
}

export function labelProblems(labels: Readonly<Record<string, string>> | undefined, field: string): readonly Problem[] {
  const problems: Problem[] = [];
  for (const key in labels) {
    for (const message of qualifiedName(key)) problems.push(invalid(field, message, key));
    const value = labels[key] as string;
    for (const message of labelValue(value)) problems.push(invalid(field, message, value));
    if (problems.length >= mostProblems) break;
  }
  return problems;
}

export function* annotationProblems(
  annotations: Readonly<Record<string, string>> | undefined,
  field: string,
): Iterable<Problem> {
  let bytes = 0;
  for (const key in annotations) {
    for (const message of qualifiedName(key.toLowerCase())) yield invalid(field, message, key);
    bytes += byteLength(key) + byteLength(annotations[key] as string);
  }
  if (bytes > annotationBytes) yield tooLong(field, annotationBytes);
}

function* ownerProblems(owners: readonly OwnerReference[]): Iterable<Problem> {
  let controller: string | undefined;
  for (const owner of owners) {
    const version = owner.apiVersion.split("/").at(-1);
    if (!version) yield invalid("ownerReferences.apiVersion", "version must not be empty", owner.apiVersion);
    for (const field of ["kind", "name", "uid"] as const)
      if (!owner[field]) yield invalid(`ownerReferences.${field}`, "must not be empty", owner[field]);
    if (owner.apiVersion === "v1" && owner.kind === "Event")
      yield invalid("ownerReferences", "/v1, Kind=Event is disallowed from being an owner", owner);
    if (!owner.controller) continue;
    const name = `${owner.kind}/${owner.name}`;
    if (controller === undefined) controller = name;
    else
      yield invalid(
        "ownerReferences",
        `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${name}`,
        owners,
      );
  }
}

function* finalizerProblems({ anyFinalizers }: MetadataRules, finalizers: readonly string[]): Iterable<Problem> {
  for (const finalizer of finalizers) {
    const messages = qualifiedName(finalizer);
    for (const message of messages) yield invalid("finalizers", message, finalizer);
  }
  if (finalizers.includes(orphan) && finalizers.includes(foregroundDeletion))
    yield invalid("finalizers", `finalizer ${orphan} and ${foregroundDeletion} cannot be both set`, finalizers);
  if (anyFinalizers) return;
  for (const [i, finalizer] of finalizers.entries())
    for (const message of nonstandardFinalizer(finalizer)) yield invalid(`finalizers[${i}]`, message, finalizer);
}

const standardFinalizers: ReadonlySet<string> = new Set(["kubernetes", orphan, foregroundDeletion]);

/** A finalizer names who is to remove it, unless it is one of those that everybody knows. */
export const nonstandardFinalizer = (finalizer: string): readonly string[] =>
  finalizer.includes("/") || standardFinalizers.has(finalizer)
    ? []
    : ["name is neither a standard finalizer name nor is it fully qualified"];

function* updateProblems(metadata: ObjectMeta, old: ObjectMeta): Iterable<Problem> {
  if (old.deletionTimestamp !== undefined) {
    const present = new Set(old.finalizers);
    const added = (metadata.finalizers ?? []).filter((finalizer) => !present.has(finalizer)).toSorted();
    if (added.length > 0)
      yield forbidden(
        "finalizers",
        `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map((one) => JSON.stringify(one)).join(", ")}}`,
      );
  }
  if (!metadata.resourceVersion) yield invalid("resourceVersion", "must be specified for an update", "");
  if ((metadata.generation ?? 0) < (old.generation ?? 0))
    yield invalid("generation", "must not be decremented", metadata.generation ?? 0);
  for (const field of [
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
  ] as const)
    if (!equal(metadata[field], old[field])) yield invalid(field, "field is immutable", metadata[field] ?? null);
}

/** For kinds that bound the length of their names more tightly than their format does. */
export const withMaxLength =
  (format: (name: string) => readonly string[], most: number) =>
  (name: string): readonly string[] => [...format(name), ...(name.length > most ? [maxLengthMessage(most)] : [])];
