import { type Infer, int32, list, ref, string, struct, typeMeta } from "#schema/index.ts";
import { ListMeta } from "#schema/object-meta.ts";

export const StatusCause = struct("meta/v1.StatusCause", {
  reason: string(1),
  message: string(2),
  field: string(3),
});
export interface StatusCause extends Infer<typeof StatusCause> {}

export const StatusDetails = struct("meta/v1.StatusDetails", {
  name: string(1),
  group: string(2),
  kind: string(3),
  uid: string(6),
  causes: list(4, StatusCause),
  retryAfterSeconds: int32(5),
});
export interface StatusDetails extends Infer<typeof StatusDetails> {}

export const Status = struct("meta/v1.Status", {
  ...typeMeta,
  metadata: ref(1, ListMeta).default({}),
  status: string(2),
  message: string(3),
  reason: string(4),
  details: ref(5, StatusDetails),
  code: int32(6),
});
export interface Status extends Infer<typeof Status> {}
