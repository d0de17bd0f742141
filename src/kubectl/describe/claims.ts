// What claims of volumes and templates of claims have in common.

import { accessModes, storageClassOf } from "#api/core/v1/columns/storage.ts";
import type { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import type { EphemeralVolumeSource } from "#api/core/v1/volume.ts";
import { ageText, writeTags } from "./common.ts";
import type { DescriptionWriter } from "./description-writer.ts";

type ClaimTemplate = NonNullable<EphemeralVolumeSource["volumeClaimTemplate"]>;
type ClaimStatus = PersistentVolumeClaim["status"];

/** Without a time it is a template, of which less can be told. */
export function writeClaim(
  w: DescriptionWriter,
  claim: ClaimTemplate & { readonly status?: ClaimStatus },
  now: number | undefined,
): void {
  const { metadata = {}, spec } = claim;
  const status: Partial<ClaimStatus> = claim.status ?? {};
  if (now !== undefined) {
    w.line(0, "Name:", metadata.name);
    w.line(0, "Namespace:", metadata.namespace);
  }
  w.line(0, "StorageClass:", storageClassOf(metadata, spec));
  if (now !== undefined)
    w.line(
      0,
      "Status:",
      metadata.deletionTimestamp
        ? `Terminating (lasts ${ageText(metadata.deletionTimestamp, now)})`
        : (status.phase ?? ""),
    );
  const { volumeName = "", volumeMode, dataSource } = spec;
  w.line(0, "Volume:", volumeName);
  writeTags(w, metadata);
  if (now !== undefined) w.line(0, "Finalizers:", `[${(metadata.finalizers ?? []).join(" ")}]`);
  w.line(0, "Capacity:", volumeName === "" ? "" : (status.capacity?.storage ?? "0"));
  w.line(0, "Access Modes:", volumeName === "" ? "" : accessModes(status.accessModes));
  if (volumeMode !== undefined) w.line(0, "VolumeMode:", volumeMode);
  if (!dataSource) return;
  w.line(0, "DataSource:");
  if (dataSource.apiGroup !== undefined) w.line(1, "APIGroup:", dataSource.apiGroup);
  w.line(1, "Kind:", dataSource.kind);
  w.line(1, "Name:", dataSource.name);
}
