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
  prepareForStatusUpdate(object) {
    if (object.metadata.deletionTimestamp === undefined) object.status.phase = "Active";
  },
  mayGo: ({ spec }) => (spec?.finalizers ?? []).length === 0,
  prepareForDeletion(object) {
    object.status = { ...object.status, phase: "Terminating" };
  },
};
