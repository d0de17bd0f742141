import { type Infer, int32, list, ref, string, struct, typeMeta } from "#schema/index.ts";
import { ListMeta } from "#schema/object-meta.ts";

export const StatusCause = struct(
  "meta/v1.StatusCause",
  {
    reason: string(1, "What kind of reason, for programs."),
    message: string(2, "The reason in words."),
    field: string(3, "Where it lies in what was sent: spec.ports[0].name."),
  },
  { doc: "One of the reasons for a failure." },
);
export interface StatusCause extends Infer<typeof StatusCause> {}

export const StatusDetails = struct(
  "meta/v1.StatusDetails",
  {
    name: string(1, "Name of the object."),
    group: string(2, "Group of the object."),
    kind: string(3, "Resource or kind of the object."),
    uid: string(6, "Uid of the object."),
    causes: list(4, StatusCause, "The single reasons."),
    retryAfterSeconds: int32(5, "Seconds to wait before trying again."),
  },
  { doc: "What a failure is about." },
);
export interface StatusDetails extends Infer<typeof StatusDetails> {}

export const Status = struct(
  "meta/v1.Status",
  {
    ...typeMeta,
    metadata: ref(1, ListMeta, "Nothing that clients need.").default({}),
    status: string(2, "Success or Failure."),
    message: string(3, "The outcome in words."),
    reason: string(4, "The kind of failure, for programs."),
    details: ref(5, StatusDetails, "More about it."),
    code: int32(6, "The HTTP status code."),
  },
  { doc: "The outcome of a request that answers with no object." },
);
export interface Status extends Infer<typeof Status> {}
