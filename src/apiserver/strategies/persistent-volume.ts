// Upstream: pkg/registry/core/persistentvolume/strategy.go.
import { timeOf } from "#schema/time.ts";
import type { Strategy } from "../registry/strategy.ts";

export const persistentVolume: Strategy = {
  prepareForCreate(object, { clock }) {
    object.status = { phase: "Pending", lastPhaseTransitionTime: timeOf(clock.now()) };
  },
  prepareForStatusUpdate(object, old, { clock }) {
    if (
      object.status.phase !== old.status.phase &&
      object.status.lastPhaseTransitionTime === old.status.lastPhaseTransitionTime
    )
      object.status.lastPhaseTransitionTime = timeOf(clock.now());
  },
};
