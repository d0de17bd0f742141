import { type Infer, list, ref, struct, typeMeta } from "#schema/index.ts";
import { ListMeta, ObjectMeta } from "#schema/object-meta.ts";

export const PartialObjectMetadata = struct("meta/v1.PartialObjectMetadata", {
  ...typeMeta,
  metadata: ref(1, ObjectMeta).default({}),
});
export interface PartialObjectMetadata extends Infer<typeof PartialObjectMetadata> {}

export const PartialObjectMetadataList = struct("meta/v1.PartialObjectMetadataList", {
  ...typeMeta,
  metadata: ref(1, ListMeta).default({}),
  items: list(2, PartialObjectMetadata).required(),
});
export interface PartialObjectMetadataList extends Infer<typeof PartialObjectMetadataList> {}
