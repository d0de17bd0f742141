import { type Infer, int64, rawExtension, resource } from "#schema/index.ts";

export const ControllerRevision = resource({
  group: "apps",
  version: "v1",
  kind: "ControllerRevision",
  plural: "controllerrevisions",
  scope: "Namespaced",
  doc: "",
  fields: {
    data: rawExtension(2),
    revision: int64(3).required(),
  },
});
export interface ControllerRevision extends Infer<typeof ControllerRevision> {}
