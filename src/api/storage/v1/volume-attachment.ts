import { bool, type Infer, int32, map, ref, resource, string, struct, time } from "#schema/index.ts";
import { PersistentVolumeSpec } from "../../core/v1/persistent-volume.ts";

export const VolumeAttachmentSource = struct("storage/v1.VolumeAttachmentSource", {
  persistentVolumeName: string(1).pointer(),
  inlineVolumeSpec: ref(2, PersistentVolumeSpec),
});
export interface VolumeAttachmentSource extends Infer<typeof VolumeAttachmentSource> {}

export const VolumeAttachmentSpec = struct("storage/v1.VolumeAttachmentSpec", {
  attacher: string(1).required(),
  source: ref(2, VolumeAttachmentSource).required(),
  nodeName: string(3).required(),
});
export interface VolumeAttachmentSpec extends Infer<typeof VolumeAttachmentSpec> {}

export const VolumeError = struct("storage/v1.VolumeError", {
  time: time(1),
  message: string(2),
  errorCode: int32(3).pointer(),
});
export interface VolumeError extends Infer<typeof VolumeError> {}

export const VolumeAttachmentStatus = struct("storage/v1.VolumeAttachmentStatus", {
  attached: bool(1).required(),
  attachmentMetadata: map(2, "string"),
  attachError: ref(3, VolumeError),
  detachError: ref(4, VolumeError),
});
export interface VolumeAttachmentStatus extends Infer<typeof VolumeAttachmentStatus> {}

export const VolumeAttachment = resource({
  group: "storage.k8s.io",
  version: "v1",
  kind: "VolumeAttachment",
  plural: "volumeattachments",
  returnsDeleted: true,
  scope: "Cluster",
  doc: "",
  fields: {
    spec: ref(2, VolumeAttachmentSpec).required(),
    status: ref(3, VolumeAttachmentStatus).default({}),
  },
  subresources: { status: true },
});
export interface VolumeAttachment extends Infer<typeof VolumeAttachment> {}
