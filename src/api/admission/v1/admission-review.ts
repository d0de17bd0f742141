import { bool, bytes, type Infer, list, map, rawExtension, ref, string, struct, typeMeta } from "#schema/index.ts";
import { UserInfo } from "../../authentication/v1/user-info.ts";
import { GroupVersionKind, GroupVersionResource } from "../../meta/group-version.ts";
import { Status } from "../../meta/status.ts";

export const AdmissionRequest = struct("admission/v1.AdmissionRequest", {
  uid: string(1).always(),
  kind: ref(2, GroupVersionKind).default({}),
  resource: ref(3, GroupVersionResource).default({}),
  subResource: string(4),
  requestKind: ref(13, GroupVersionKind),
  requestResource: ref(14, GroupVersionResource),
  requestSubResource: string(15),
  name: string(5),
  namespace: string(6),
  operation: string(7).always(),
  userInfo: ref(8, UserInfo).default({}),
  object: rawExtension(9),
  oldObject: rawExtension(10),
  dryRun: bool(11).pointer(),
  options: rawExtension(12),
});
export interface AdmissionRequest extends Infer<typeof AdmissionRequest> {}

export const AdmissionResponse = struct("admission/v1.AdmissionResponse", {
  uid: string(1).always(),
  allowed: bool(2).always(),
  status: ref(3, Status),
  patch: bytes(4),
  patchType: string(5).pointer(),
  auditAnnotations: map(6, "string"),
  warnings: list(7, "string"),
});
export interface AdmissionResponse extends Infer<typeof AdmissionResponse> {}

export const AdmissionReview = struct("admission/v1.AdmissionReview", {
  ...typeMeta,
  request: ref(1, AdmissionRequest),
  response: ref(2, AdmissionResponse),
});
export interface AdmissionReview extends Infer<typeof AdmissionReview> {}
