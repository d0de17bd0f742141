import { type Infer, list, map, ref, resource, string, struct, time } from "#schema/index.ts";
import { LabelSelector } from "../../meta/label-selector.ts";
import { TypedLocalObjectReference, TypedObjectReference } from "./references.ts";
import { VolumeResourceRequirements } from "./resources.ts";

export const ModifyVolumeStatus = struct("core/v1.ModifyVolumeStatus", {
  targetVolumeAttributesClassName: string(1),
  status: string(2).oneOf("InProgress", "Infeasible", "Pending").required(),
});
export interface ModifyVolumeStatus extends Infer<typeof ModifyVolumeStatus> {}

export const PersistentVolumeClaimCondition = struct("core/v1.PersistentVolumeClaimCondition", {
  type: string(1).required(),
  status: string(2).required(),
  lastProbeTime: time(3),
  lastTransitionTime: time(4),
  reason: string(5),
  message: string(6),
});
export interface PersistentVolumeClaimCondition extends Infer<typeof PersistentVolumeClaimCondition> {}

export const PersistentVolumeClaimSpec = struct("core/v1.PersistentVolumeClaimSpec", {
  accessModes: list(1, "string").oneOf("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"),
  selector: ref(4, LabelSelector),
  resources: ref(2, VolumeResourceRequirements).default({}),
  volumeName: string(3),
  storageClassName: string(5).pointer(),
  volumeMode: string(6).oneOf("Block", "Filesystem").pointer().default("Filesystem"),
  dataSource: ref(7, TypedLocalObjectReference),
  dataSourceRef: ref(8, TypedObjectReference),
  volumeAttributesClassName: string(9).pointer(),
});
export interface PersistentVolumeClaimSpec extends Infer<typeof PersistentVolumeClaimSpec> {}

export const PersistentVolumeClaimStatus = struct("core/v1.PersistentVolumeClaimStatus", {
  phase: string(1).oneOf("Bound", "Lost", "Pending").default("Pending"),
  accessModes: list(2, "string").oneOf("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"),
  capacity: map(3, "quantity"),
  conditions: list(4, PersistentVolumeClaimCondition).keyedBy("type"),
  allocatedResources: map(5, "quantity"),
  allocatedResourceStatuses: map(7, "string")
    .oneOf(
      "ControllerResizeInProgress",
      "ControllerResizeInfeasible",
      "NodeResizeInProgress",
      "NodeResizeInfeasible",
      "NodeResizePending",
    )
    .granular(),
  currentVolumeAttributesClassName: string(8).pointer(),
  modifyVolumeStatus: ref(9, ModifyVolumeStatus),
});
export interface PersistentVolumeClaimStatus extends Infer<typeof PersistentVolumeClaimStatus> {}

export const PersistentVolumeClaim = resource({
  group: "",
  version: "v1",
  kind: "PersistentVolumeClaim",
  plural: "persistentvolumeclaims",
  returnsDeleted: true,
  shortNames: ["pvc"],
  scope: "Namespaced",
  doc: "",
  fields: {
    spec: ref(2, PersistentVolumeClaimSpec).default({}),
    status: ref(3, PersistentVolumeClaimStatus).default({}),
  },
  subresources: { status: true },
});
export interface PersistentVolumeClaim extends Infer<typeof PersistentVolumeClaim> {}
