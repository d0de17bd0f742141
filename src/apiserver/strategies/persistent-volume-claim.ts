import type { PersistentVolumeClaimSpec } from "#api/core/v1/persistent-volume-claim.ts";
import type { Mutable } from "#schema/index.ts";
import type { Strategy } from "../registry/strategy.ts";

export const persistentVolumeClaim: Strategy = {
  prepareForCreate(object) {
    object.status = { phase: "Pending" };
    settleSource(object.spec);
  },
  prepareForUpdate(object) {
    settleSource(object.spec);
  },
};

/** Two fields say the same, an old one and one that can say more: who sets one gets the other. */
export function settleSource(spec: Mutable<PersistentVolumeClaimSpec>): void {
  const { dataSource, dataSourceRef } = spec;
  if (dataSource && !dataSourceRef) spec.dataSourceRef = { ...dataSource };
  if (!dataSourceRef || dataSource || dataSourceRef.namespace) return;
  const { namespace: _namespace, ...source } = dataSourceRef;
  spec.dataSource = source;
}
