// What is special about storing custom resources. Follows apiextensions-apiserver/pkg/registry/customresource/{strategy,status_strategy}.go.
import { qualifiedName } from "#schema/formats.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import type { Strategy } from "../registry/strategy.ts";

/** `refusesNew` says why no objects can be created at present, if they cannot. */
export const customStrategy = ({ subresources }: AnyKind, refusesNew: () => string | undefined): Strategy => ({
  needsResourceVersion: true,
  countsGenerations: true,
  keepsStatusOnCreate: true,
  refusesNew,
  prepareForCreate(object) {
    if (subresources?.status) delete object.status;
  },
  // Without a subresource of its own the status is a field like others.
  wanted({ apiVersion: _apiVersion, kind: _kind, metadata: _metadata, ...rest }) {
    return rest;
  },
  statusKeeps: ["metadata"],
  warnings: finalizerWarnings,
});

/** What upstream's registry of finalizers that stand without a path has. */
const standardFinalizers: ReadonlySet<string> = new Set(["orphan", "foregroundDeletion", "kubernetes"]);

/** Tells of finalizers that others might use as well; those that were there before are known. */
function* finalizerWarnings({ metadata }: ApiObject, old: ApiObject | undefined): Iterable<string> {
  const added = new Set(metadata.finalizers).difference(new Set(old?.metadata.finalizers));
  for (const finalizer of [...added].toSorted()) {
    const where = `metadata.finalizers: ${JSON.stringify(finalizer)}`;
    for (const problem of qualifiedName(finalizer)) yield `${where}: ${problem}`;
    if (finalizer.includes("/") || standardFinalizers.has(finalizer)) continue;
    const path = finalizer.includes(".") ? " including a path (/)" : "";
    yield `${where}: prefer a domain-qualified finalizer name${path} to avoid accidental conflicts with other finalizer writers`;
  }
}
