// Namespaces: their finalizers, and a phase that says whether they are being deleted.
// Upstream: pkg/apis/core/validation/validation.go.
import { qualifiedName } from "#schema/formats.ts";
import { invalid, type Problem } from "#schema/index.ts";
import type { Namespace } from "../namespace.ts";
import { each, malformed } from "./problems.ts";

export function* checkNamespace({ spec }: Namespace): Iterable<Problem> {
  for (const name of spec.finalizers ?? []) yield* finalizer("spec.finalizers", name);
}

/** An update through the `finalize` subresource, the only one that changes the finalizers. */
export function* checkFinalize({ spec }: Namespace): Iterable<Problem> {
  for (const [at, name] of each("spec.finalizers", spec.finalizers)) yield* finalizer(at, name);
}

const standardFinalizers = new Set(["kubernetes", "orphan", "foregroundDeletion"]);

function* finalizer(at: string, name: string): Iterable<Problem> {
  yield* malformed(at, name, qualifiedName);
  if (!name.includes("/") && !standardFinalizers.has(name))
    yield invalid(at, "name is neither a standard finalizer name nor is it fully qualified", name);
}

export function* checkNamespaceStatus({ metadata, status }: Namespace): Iterable<Problem> {
  const isLeaving = metadata.deletionTimestamp !== undefined;
  if (!isLeaving && status.phase !== "Active")
    yield invalid("status.Phase", "may only be 'Active' if `deletionTimestamp` is empty", status.phase);
  if (isLeaving && status.phase !== "Terminating")
    yield invalid("status.Phase", "may only be 'Terminating' if `deletionTimestamp` is not empty", status.phase);
}
