// Upstream: pkg/registry/core/namespace/strategy.go and pkg/registry/core/namespace/storage/storage.go.
import { Namespace } from "#api/core/v1/namespace.ts";
import { excluding } from "#schema/apply/filter.ts";
import { qualifiedName } from "#schema/formats.ts";
import type { ApiObject } from "#schema/object.ts";
import { invalid, type Problem } from "#schema/problem.ts";
import { validateObject } from "#schema/validate.ts";
import { nonstandardFinalizer } from "#schema/validate-metadata.ts";
import { takeFrom } from "../registry/prepare.ts";
import type { Strategy } from "../registry/strategy.ts";

/** A namespace stays, terminating, until the namespace controller has emptied it and taken away its own finalizer. */
export const namespace: Strategy = {
  prepareForCreate(object) {
    const finalizers: readonly string[] = object.spec?.finalizers ?? [];
    object.spec = {
      ...object.spec,
      finalizers: finalizers.includes("kubernetes") ? finalizers : [...finalizers, "kubernetes"],
    };
    object.status = { phase: "Active" };
  },
  prepareForUpdate(object, old) {
    object.spec = { ...object.spec, finalizers: old.spec.finalizers };
  },
  parts: {
    /** Takes finalizers of a namespace away. The last one gone, so is the namespace. */
    finalize: {
      prepare(object, old) {
        takeFrom(object, old, "status");
      },
      problems: (object, old) => [...validateObject(Namespace, object, old), ...finalizerProblems(object)],
      owned: excluding("status"),
    },
  },
  mayGo: ({ spec }) => (spec?.finalizers ?? []).length === 0,
  prepareForDeletion(object) {
    object.status = { ...object.status, phase: "Terminating" };
    delete object.metadata.deletionGracePeriodSeconds;
  },
};

function* finalizerProblems({ spec }: ApiObject): Iterable<Problem> {
  const finalizers: readonly string[] = spec.finalizers ?? [];
  for (const [i, finalizer] of finalizers.entries())
    for (const message of [...qualifiedName(finalizer), ...nonstandardFinalizer(finalizer)])
      yield invalid(`spec.finalizers[${i}]`, message, finalizer);
}
