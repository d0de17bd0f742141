import { type Infer, string, struct } from "#schema/index.ts";

export const GroupVersionKind = struct(
  "meta/v1.GroupVersionKind",
  {
    group: string(1, "The group.").required(),
    version: string(2, "The version.").required(),
    kind: string(3, "The kind.").required(),
  },
  { doc: "Names a kind." },
);
export interface GroupVersionKind extends Infer<typeof GroupVersionKind> {}

export const GroupVersionResource = struct(
  "meta/v1.GroupVersionResource",
  {
    group: string(1, "The group.").required(),
    version: string(2, "The version.").required(),
    resource: string(3, "The plural name.").required(),
  },
  { doc: "Names a resource." },
);
export interface GroupVersionResource extends Infer<typeof GroupVersionResource> {}
