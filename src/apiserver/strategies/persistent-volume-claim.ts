// Upstream: pkg/registry/core/persistentvolumeclaim/strategy.go and pkg/api/persistentvolumeclaim/util.go.
import type { PersistentVolumeClaimSpec } from "#api/core/v1/persistent-volume-claim.ts";
import type { Mutable } from "#schema/index.ts";
import type { Strategy } from "../registry/strategy.ts";

export const persistentVolumeClaim: Strategy = {
  prepareForCreate(object) {
    object.status = { phase: "Pending" };
    dropForeignSource(object.spec);
    dropOddSource(object.spec);
    settleSource(object.spec);
  },
  prepareForUpdate(object, old) {
    const { dataSource, dataSourceRef }: PersistentVolumeClaimSpec = old.spec;
    if (!dataSourceRef) dropForeignSource(object.spec);
    if (!dataSource && !dataSourceRef) dropOddSource(object.spec);
    settleSource(object.spec);
  },
};

/** Sources in other namespaces are behind a gate that is off (CrossNamespaceVolumeDataSource). */
function dropForeignSource(spec: Mutable<PersistentVolumeClaimSpec>): void {
  if (spec.dataSourceRef?.namespace) delete spec.dataSourceRef;
}

/** The old field only ever took claims and snapshots, and ignored the rest without a word. */
function dropOddSource(spec: Mutable<PersistentVolumeClaimSpec>): void {
  if (!spec.dataSource || spec.dataSourceRef) return;
  const { kind, apiGroup = "" } = spec.dataSource;
  const isKnown =
    (kind === "PersistentVolumeClaim" && apiGroup === "") ||
    (kind === "VolumeSnapshot" && apiGroup === "snapshot.storage.k8s.io");
  if (!isKnown) delete spec.dataSource;
}

/** Two fields say the same, an old one and one that can say more: who sets one gets the other. */
function settleSource(spec: Mutable<PersistentVolumeClaimSpec>): void {
  const { dataSource, dataSourceRef } = spec;
  if (dataSource && !dataSourceRef) spec.dataSourceRef = { ...dataSource };
  if (!dataSourceRef || dataSource || dataSourceRef.namespace) return;
  const { namespace: _namespace, ...source } = dataSourceRef;
  spec.dataSource = source;
}
