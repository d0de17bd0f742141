import { ageColumn, nameColumn } from "#schema/columns.ts";
import { dns1123Subdomain } from "#schema/formats.ts";
import { type Infer, list, map, type Problem, ref, resource, string, struct, time } from "#schema/index.ts";
import { LabelSelector } from "../../meta/label-selector.ts";
import { checkClaimSpec, checkClaimStatus, checkClaimUpdate } from "./checks/persistent-volume-claim.ts";
import { accessModes, storageClassOf } from "./columns/storage.ts";
import { roundUpAmounts } from "./defaults.ts";
import { TypedLocalObjectReference, TypedObjectReference } from "./references.ts";
import { VolumeResourceRequirements } from "./resources.ts";

export const ModifyVolumeStatus = struct(
  "core/v1.ModifyVolumeStatus",
  {
    targetVolumeAttributesClassName: string(1, "The class the volume is being changed to."),
    status: string(2, "How far that has come.").known("InProgress", "Infeasible", "Pending").required(),
  },
  { doc: "A change of a volume's attributes." },
);
export interface ModifyVolumeStatus extends Infer<typeof ModifyVolumeStatus> {}

export const PersistentVolumeClaimCondition = struct(
  "core/v1.PersistentVolumeClaimCondition",
  {
    type: string(1, "What it is about, such as Resizing.").required(),
    status: string(2, "Whether it holds: True, False or Unknown.").required(),
    lastProbeTime: time(3, "When it was last looked at."),
    lastTransitionTime: time(4, "When the status last changed."),
    reason: string(5, "Why, in one CamelCase word."),
    message: string(6, "Why, in words."),
  },
  { doc: "One thing that is known about a claim." },
);
export interface PersistentVolumeClaimCondition extends Infer<typeof PersistentVolumeClaimCondition> {}

export const PersistentVolumeClaimSpec = struct(
  "core/v1.PersistentVolumeClaimSpec",
  {
    accessModes: list(1, "string", "By how many nodes or pods it is used, and whether they write.").known(
      "ReadOnlyMany",
      "ReadWriteMany",
      "ReadWriteOnce",
      "ReadWriteOncePod",
    ),
    selector: ref(4, LabelSelector, "Volumes that will do, by their labels."),
    resources: ref(2, VolumeResourceRequirements, "How much storage is needed.").default({}),
    volumeName: string(3, "The volume the claim has got, or insists on."),
    storageClassName: string(5, "Class of the storage; the default one when left out, none when empty.")
      .is(dns1123Subdomain)
      .pointer(),
    volumeMode: string(6, "Whether it is used as files or as a block device.")
      .oneOf("Block", "Filesystem")
      .pointer()
      .default("Filesystem"),
    dataSource: ref(7, TypedLocalObjectReference, "A snapshot or claim to start with; see dataSourceRef."),
    dataSourceRef: ref(8, TypedObjectReference, "Any object that storage can be filled from."),
    volumeAttributesClassName: string(9, "Class of attributes that may change while the volume is used.")
      .is(dns1123Subdomain)
      .pointer(),
  },
  { doc: "The storage that is asked for.", check: (spec): Iterable<Problem> => checkClaimSpec(spec) },
);
export interface PersistentVolumeClaimSpec extends Infer<typeof PersistentVolumeClaimSpec> {}

export const PersistentVolumeClaimStatus = struct(
  "core/v1.PersistentVolumeClaimStatus",
  {
    phase: string(1, "Whether the claim has got a volume.").known("Bound", "Lost", "Pending").default("Pending"),
    accessModes: list(2, "string", "Ways the volume can be used.").known(
      "ReadOnlyMany",
      "ReadWriteMany",
      "ReadWriteOnce",
      "ReadWriteOncePod",
    ),
    capacity: map(3, "quantity", "Size of the volume."),
    conditions: list(4, PersistentVolumeClaimCondition, "What is known about the claim.").keyedBy("type"),
    allocatedResources: map(5, "quantity", "Size the volume is being changed to."),
    allocatedResourceStatuses: map(7, "string", "How far the change of size has come.")
      .known(
        "ControllerResizeInProgress",
        "ControllerResizeInfeasible",
        "NodeResizeInProgress",
        "NodeResizeInfeasible",
        "NodeResizePending",
      )
      .granular(),
    currentVolumeAttributesClassName: string(8, "The class of attributes that is in force.").pointer(),
    modifyVolumeStatus: ref(9, ModifyVolumeStatus, "A change of attributes that is under way."),
  },
  {
    doc: "The storage that was given.",
    complete(status): void {
      roundUpAmounts(status.capacity);
      roundUpAmounts(status.allocatedResources);
    },
  },
);
export interface PersistentVolumeClaimStatus extends Infer<typeof PersistentVolumeClaimStatus> {}

export const PersistentVolumeClaim = resource({
  group: "",
  version: "v1",
  kind: "PersistentVolumeClaim",
  plural: "persistentvolumeclaims",
  shortNames: ["pvc"],
  scope: "Namespaced",
  returnsDeleted: true,
  doc: "Asks for storage that outlives the pods that use it.",
  fields: {
    spec: ref(2, PersistentVolumeClaimSpec, "The storage that is asked for.").default({}),
    status: ref(3, PersistentVolumeClaimStatus, "The storage that was given.").default({}),
  },
  subresources: { status: true },
  columns: [
    nameColumn,
    {
      name: "Status",
      doc: "Whether it has got a volume.",
      cell: ({ metadata, status }) => (metadata.deletionTimestamp ? "Terminating" : status.phase),
    },
    { name: "Volume", doc: "The volume it has got.", cell: ({ spec }) => spec.volumeName ?? "" },
    {
      name: "Capacity",
      doc: "Size of that volume.",
      cell: ({ spec, status }) => (spec.volumeName ? (status.capacity?.storage ?? "0") : ""),
    },
    {
      name: "Access Modes",
      doc: "Ways that volume can be used.",
      cell: ({ spec, status }) => (spec.volumeName ? accessModes(status.accessModes) : ""),
    },
    {
      name: "StorageClass",
      doc: "Class of the storage.",
      cell: ({ metadata, spec }) => storageClassOf(metadata, spec),
    },
    {
      name: "VolumeAttributesClass",
      doc: "Class of attributes that may change.",
      cell: ({ spec }) => spec.volumeAttributesClassName ?? "<unset>",
    },
    ageColumn,
    { name: "VolumeMode", wide: true, doc: "Files or block device.", cell: ({ spec }) => spec.volumeMode },
  ],
  check: (claim, old): Iterable<Problem> => (old ? checkClaimUpdate(claim, old) : []),
  checkStatus: (claim): Iterable<Problem> => checkClaimStatus(claim),
});
export interface PersistentVolumeClaim extends Infer<typeof PersistentVolumeClaim> {}
