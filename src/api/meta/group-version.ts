import { type Infer, string, struct } from "#schema/index.ts";

export const GroupVersionKind = struct("meta/v1.GroupVersionKind", {
  group: string(1).required(),
  version: string(2).required(),
  kind: string(3).required(),
});
export interface GroupVersionKind extends Infer<typeof GroupVersionKind> {}

export const GroupVersionResource = struct("meta/v1.GroupVersionResource", {
  group: string(1).required(),
  version: string(2).required(),
  resource: string(3).required(),
});
export interface GroupVersionResource extends Infer<typeof GroupVersionResource> {}
