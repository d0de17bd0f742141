import { type Infer, int64, rawExtension, resource } from "#schema/index.ts";

export const ControllerRevision = resource({
  group: "apps",
  version: "v1",
  kind: "ControllerRevision",
  plural: "controllerrevisions",
  scope: "Namespaced",
  doc: "One state a StatefulSet or DaemonSet once had, kept so that a rollout can be undone.",
  fields: {
    data: rawExtension(2, "The state that was saved.").immutable(),
    revision: int64(3, "Counts the states of one owner; a higher one is newer.").min(0).required(),
  },
});
export interface ControllerRevision extends Infer<typeof ControllerRevision> {}
