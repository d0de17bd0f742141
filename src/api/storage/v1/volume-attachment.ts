import { ageColumn, nameColumn } from "#schema/columns.ts";
import { dns1123Subdomain } from "#schema/formats.ts";
import {
  bool,
  forbidden,
  type Infer,
  int32,
  invalid,
  map,
  type Problem,
  ref,
  required,
  resource,
  string,
  struct,
  time,
  tooLong,
} from "#schema/index.ts";
import { checkInlineVolume } from "../../core/v1/checks/persistent-volume.ts";
import { under } from "../../core/v1/checks/problems.ts";
import { PersistentVolumeSpec } from "../../core/v1/persistent-volume.ts";
import { unchangedStruct } from "../../rules.ts";
import { checkSize, driverName, mostDriverNameBytes } from "./checks.ts";

export const VolumeAttachmentSource = struct(
  "storage/v1.VolumeAttachmentSource",
  {
    persistentVolumeName: string(1, "Name of the volume.").pointer(),
    inlineVolumeSpec: ref(2, PersistentVolumeSpec, "The volume itself, where it comes from the inside of a pod."),
  },
  {
    *check({ persistentVolumeName: name, inlineVolumeSpec: inline }) {
      const words = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
      if (name === undefined && !inline) yield required("", words);
      else if (name !== undefined && inline) yield forbidden("", words);
      else if (name === "") yield required("persistentVolumeName", "must specify non empty persistentVolumeName");
      if (name !== undefined)
        for (const detail of dns1123Subdomain(name)) yield invalid("persistentVolumeName", detail);
      if (inline && name === undefined) yield* under("inlineVolumeSpec", checkInlineVolume(inline));
    },
  },
);
export interface VolumeAttachmentSource extends Infer<typeof VolumeAttachmentSource> {}

export const VolumeAttachmentSpec = struct(
  "storage/v1.VolumeAttachmentSpec",
  {
    attacher: string(1, "The driver that attaches it.")
      .nonEmpty()
      .maxLength(mostDriverNameBytes)
      .is(driverName)
      .required(),
    source: ref(2, VolumeAttachmentSource, "What is attached.").required(),
    nodeName: string(3, "The node it is attached to.").required(),
  },
  {
    *check({ nodeName }) {
      for (const detail of dns1123Subdomain(nodeName)) yield invalid("nodeName", detail);
    },
  },
);
export interface VolumeAttachmentSpec extends Infer<typeof VolumeAttachmentSpec> {}

export const VolumeError = struct(
  "storage/v1.VolumeError",
  {
    time: time(1, "When it happened."),
    message: string(2, "What happened."),
    errorCode: int32(3, "The code the driver gave.").pointer(),
  },
  {
    *check({ message = "", errorCode = 0 }) {
      if (message.length > 1024) yield tooLong("message", 256 * 1024);
      if (errorCode < 0) yield invalid("errorCode", "must be between 0 and 2147483647, inclusive");
    },
  },
);
export interface VolumeError extends Infer<typeof VolumeError> {}

export const VolumeAttachmentStatus = struct(
  "storage/v1.VolumeAttachmentStatus",
  {
    attached: bool(1, "Whether it is attached.").required(),
    attachmentMetadata: map(2, "string", "What the driver needs to know for mounting."),
    attachError: ref(3, VolumeError, "Why it could not be attached the last time."),
    detachError: ref(4, VolumeError, "Why it could not be detached the last time."),
  },
  {
    *check({ attachmentMetadata }) {
      yield* checkSize("attachmentMetadata", attachmentMetadata);
    },
  },
);
export interface VolumeAttachmentStatus extends Infer<typeof VolumeAttachmentStatus> {}

export const VolumeAttachment = resource({
  group: "storage.k8s.io",
  version: "v1",
  kind: "VolumeAttachment",
  plural: "volumeattachments",
  returnsDeleted: true,
  scope: "Cluster",
  doc: "The wish to have a volume attached to a node, and whether it is.",
  fields: {
    spec: ref(2, VolumeAttachmentSpec, "What to attach, and where; cannot change.").required(),
    status: ref(3, VolumeAttachmentStatus, "Whether it is attached.").default({}),
  },
  subresources: { status: true },
  columns: [
    nameColumn,
    { name: "Attacher", format: "name", doc: "The driver that attaches it.", cell: ({ spec }) => spec.attacher },
    { name: "PV", doc: "What is attached.", cell: ({ spec }) => spec.source.persistentVolumeName },
    { name: "Node", doc: "The node it is attached to.", cell: ({ spec }) => spec.nodeName },
    { name: "Attached", type: "boolean", doc: "Whether it is attached.", cell: ({ status }) => status.attached },
    ageColumn,
  ],
  *check({ spec }, old): Iterable<Problem> {
    if (old) yield* unchangedStruct("spec", VolumeAttachmentSpec, spec, old.spec);
  },
});
export interface VolumeAttachment extends Infer<typeof VolumeAttachment> {}
