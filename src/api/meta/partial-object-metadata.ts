import { type Infer, list, ref, struct, typeMeta } from "#schema/index.ts";
import { ListMeta, ObjectMeta } from "#schema/object-meta.ts";

export const PartialObjectMetadata = struct(
  "meta/v1.PartialObjectMetadata",
  {
    ...typeMeta,
    metadata: ref(1, ObjectMeta, "Name, labels and the other things all objects have.").default({}),
  },
  { doc: "An object of any kind, without what only that kind has." },
);
export interface PartialObjectMetadata extends Infer<typeof PartialObjectMetadata> {}

export const PartialObjectMetadataList = struct(
  "meta/v1.PartialObjectMetadataList",
  {
    ...typeMeta,
    metadata: ref(1, ListMeta, "The revision, and how to continue.").default({}),
    items: list(2, PartialObjectMetadata, "The objects.").required(),
  },
  { doc: "Objects of any kind, without what only that kind has." },
);
export interface PartialObjectMetadataList extends Infer<typeof PartialObjectMetadataList> {}
