// Volumes, classes of volumes and the drivers of nodes.

import { accessModes } from "#api/core/v1/columns/storage.ts";
import type { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import type { CSINode } from "#api/storage/v1/csi-node.ts";
import type { StorageClass } from "#api/storage/v1/storage-class.ts";
import type { VolumeAttributesClass } from "#api/storage/v1/volume-attributes-class.ts";
import { ageText, labelText, timeText, writeEvents, writeTags } from "../common.ts";
import { type Describer, eventsOf, subjectOf } from "../describer.ts";
import type { DescriptionWriter } from "../description-writer.ts";
import { writePersistentSource } from "../volumes.ts";

export const describePersistentVolume: Describer<PersistentVolume> = async (volume, context, w) => {
  const { metadata, spec, status } = volume;
  const events = await eventsOf(context, subjectOf({ ...volume }));
  w.line(0, "Name:", metadata.name);
  writeTags(w, metadata);
  w.line(0, "Finalizers:", `[${(metadata.finalizers ?? []).join(" ")}]`);
  w.line(
    0,
    "StorageClass:",
    metadata.annotations?.["volume.beta.kubernetes.io/storage-class"] ?? spec.storageClassName ?? "",
  );
  const { deletionTimestamp } = metadata;
  w.line(
    0,
    "Status:",
    deletionTimestamp ? `Terminating (lasts ${ageText(deletionTimestamp, context.now)})` : (status.phase ?? ""),
  );
  w.line(0, "Claim:", spec.claimRef ? `${spec.claimRef.namespace ?? ""}/${spec.claimRef.name ?? ""}` : "");
  w.line(0, "Reclaim Policy:", spec.persistentVolumeReclaimPolicy ?? "");
  w.line(0, "Access Modes:", accessModes(spec.accessModes));
  if (spec.volumeMode) w.line(0, "VolumeMode:", spec.volumeMode);
  w.line(0, "Capacity:", spec.capacity?.storage ?? "0");
  writeNodeAffinity(w, spec.nodeAffinity?.required?.nodeSelectorTerms);
  w.line(0, "Message:", status.message ?? "");
  w.line(0, "Source:");
  writePersistentSource(w, spec);
  writeEvents(w, events, context.now);
};

interface AffinityTerm {
  readonly matchExpressions?:
    | readonly { readonly key: string; readonly operator: string; readonly values?: readonly string[] | undefined }[]
    | undefined;
}

function writeNodeAffinity(w: DescriptionWriter, terms: readonly AffinityTerm[] | undefined): void {
  if (!terms) {
    w.line(0, "Node Affinity:", "<none>");
    return;
  }
  w.line(0, "Node Affinity:", "");
  w.line(1, "Required Terms:", terms.length === 0 ? "<none>" : "");
  for (const [i, { matchExpressions = [] }] of terms.entries())
    writeTerm(
      w,
      2,
      `Term ${i}:`,
      matchExpressions.map(({ key, operator, values }) => ({ key, operator: operator.toLowerCase(), values })),
    );
}

function writeTerm(
  w: DescriptionWriter,
  level: number,
  title: string,
  terms: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[] | undefined;
  }[],
): void {
  const texts = terms.map(
    ({ key, operator, values = [] }) => `${key} ${operator}${values.length > 0 ? ` [${values.join(", ")}]` : ""}`,
  );
  w.line(level, title, texts[0] ?? "<none>");
  for (const text of texts.slice(1)) w.line(level, "", text);
}

export const describeStorageClass: Describer<StorageClass> = async (found, context, w) => {
  const { metadata } = found;
  const events = await eventsOf(context, subjectOf({ ...found }));
  const notes = metadata.annotations ?? {};
  const isDefault =
    notes["storageclass.kubernetes.io/is-default-class"] === "true" ||
    notes["storageclass.beta.kubernetes.io/is-default-class"] === "true";
  w.line(0, "Name:", metadata.name);
  w.line(0, "IsDefaultClass:", isDefault ? "Yes" : "No");
  w.line(0, "Annotations:", labelText(metadata.annotations));
  w.line(0, "Provisioner:", found.provisioner);
  w.line(0, "Parameters:", labelText(found.parameters));
  const { allowVolumeExpansion, mountOptions = [], allowedTopologies } = found;
  w.line(
    0,
    "AllowVolumeExpansion:",
    allowVolumeExpansion === undefined ? "<unset>" : allowVolumeExpansion ? "True" : "False",
  );
  w.line(0, "MountOptions:", ...(mountOptions.length === 0 ? ["<none>"] : []));
  for (const option of mountOptions) w.line(1, option);
  if (found.reclaimPolicy) w.line(0, "ReclaimPolicy:", found.reclaimPolicy);
  if (found.volumeBindingMode) w.line(0, "VolumeBindingMode:", found.volumeBindingMode);
  if (allowedTopologies) {
    w.line(0, "AllowedTopologies:", allowedTopologies.length === 0 ? "<none>" : "");
    for (const [i, { matchLabelExpressions = [] }] of allowedTopologies.entries())
      writeTerm(
        w,
        1,
        `Term ${i}:`,
        matchLabelExpressions.map(({ key, values }) => ({ key, operator: "in", values })),
      );
  }
  writeEvents(w, events, context.now);
};

export const describeVolumeAttributesClass: Describer<VolumeAttributesClass> = async (found, context, w) => {
  const events = await eventsOf(context, subjectOf({ ...found }));
  w.line(0, "Name:", found.metadata.name);
  w.line(0, "Annotations:", labelText(found.metadata.annotations));
  w.line(0, "DriverName:", found.driverName);
  w.line(0, "Parameters:", labelText(found.parameters));
  writeEvents(w, events, context.now);
};

export const describeCSINode: Describer<CSINode> = async (node, context, w) => {
  const events = await eventsOf(context, subjectOf({ ...node }));
  w.line(0, "Name:", node.metadata.name);
  writeTags(w, node.metadata);
  w.line(0, "CreationTimestamp:", timeText(node.metadata.creationTimestamp));
  w.line(0, "Spec:");
  const { drivers } = node.spec;
  if (drivers) w.line(1, "Drivers:");
  for (const { name, nodeID, allocatable, topologyKeys } of drivers ?? []) {
    w.line(2, `${name}:`);
    w.line(3, "Node ID:", nodeID);
    if (allocatable?.count !== undefined) {
      w.line(3, "Allocatables:");
      w.line(4, "Count:", allocatable.count);
    }
    if (topologyKeys) w.line(3, "Topology Keys:", `[${topologyKeys.join(" ")}]`);
  }
  writeEvents(w, events, context.now);
};
