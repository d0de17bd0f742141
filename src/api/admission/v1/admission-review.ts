import { bool, bytes, type Infer, list, map, rawExtension, ref, string, struct, typeMeta } from "#schema/index.ts";
import { UserInfo } from "../../authentication/v1/user-info.ts";
import { GroupVersionKind, GroupVersionResource } from "../../meta/group-version.ts";
import { Status } from "../../meta/status.ts";

export const AdmissionRequest = struct(
  "admission/v1.AdmissionRequest",
  {
    uid: string(1, "Tells this review from others; the answer repeats it.").always(),
    kind: ref(2, GroupVersionKind, "The kind of the object as the webhook sees it.").default({}),
    resource: ref(3, GroupVersionResource, "The resource as the webhook sees it.").default({}),
    subResource: string(4, "The subresource, if any."),
    requestKind: ref(13, GroupVersionKind, "The kind as it was sent."),
    requestResource: ref(14, GroupVersionResource, "The resource as it was sent."),
    requestSubResource: string(15, "The subresource as it was sent."),
    name: string(5, "Name of the object; empty where the server will make one."),
    namespace: string(6, "Namespace of the object."),
    operation: string(7, "CREATE, UPDATE, DELETE or CONNECT.").always(),
    userInfo: ref(8, UserInfo, "Who is asking.").default({}),
    object: rawExtension(9, "The object as it would become."),
    oldObject: rawExtension(10, "The object as it is; of an update and a deletion."),
    dryRun: bool(11, "Whether nothing will be stored.").pointer(),
    options: rawExtension(12, "The options of the request."),
  },
  { doc: "A request that waits to be admitted." },
);
export interface AdmissionRequest extends Infer<typeof AdmissionRequest> {}

export const AdmissionResponse = struct(
  "admission/v1.AdmissionResponse",
  {
    uid: string(1, "That of the request.").always(),
    allowed: bool(2, "Whether it is admitted.").always(),
    status: ref(3, Status, "Why it is not."),
    patch: bytes(4, "Changes to the object, as a JSON Patch."),
    patchType: string(5, "JSONPatch, where there is a patch.").pointer(),
    auditAnnotations: map(6, "string", "What to note in the audit log."),
    warnings: list(7, "string", "What to tell the client."),
  },
  { doc: "Whether the request is admitted." },
);
export interface AdmissionResponse extends Infer<typeof AdmissionResponse> {}

export const AdmissionReview = struct(
  "admission/v1.AdmissionReview",
  {
    ...typeMeta,
    request: ref(1, AdmissionRequest, "The question."),
    response: ref(2, AdmissionResponse, "The answer."),
  },
  { doc: "What is asked of a webhook, and what it answers." },
);
export interface AdmissionReview extends Infer<typeof AdmissionReview> {}
