import { groupOf } from "#schema/api-version.ts";
import { ageColumn, nameColumn } from "#schema/columns.ts";
import { type Infer, int64, rawExtension, required, resource } from "#schema/index.ts";
import type { OwnerReference } from "#schema/object-meta.ts";

export const ControllerRevision = resource({
  group: "apps",
  version: "v1",
  kind: "ControllerRevision",
  plural: "controllerrevisions",
  scope: "Namespaced",
  doc: "One state a StatefulSet or DaemonSet once had, kept so that a rollout can be undone.",
  fields: {
    data: rawExtension(2, "The state that was saved.").opaque().immutable(),
    revision: int64(3, "Counts the states of one owner; a higher one is newer.").min(0).required(),
  },
  columns: [
    nameColumn,
    { name: "Controller", doc: "Whose state it is.", cell: ({ metadata }) => controllerOf(metadata.ownerReferences) },
    { name: "Revision", doc: "Its number among the states of one owner.", cell: ({ revision }) => revision },
    ageColumn,
  ],
  *check({ data }, old) {
    if (old) return;
    if (data === undefined || data === null) yield required("data", "data is mandatory");
    else if (typeof data !== "object" || Array.isArray(data))
      yield required("data", "data must be a valid JSON object");
  },
});
export interface ControllerRevision extends Infer<typeof ControllerRevision> {}

/** The controlling owner as kubectl names it: `statefulset.apps/web`. */
function controllerOf(owners: readonly OwnerReference[] = []): string {
  const owner = owners.find(({ controller }) => controller);
  if (!owner) return "<none>";
  return `${[owner.kind, groupOf(owner.apiVersion)].filter(Boolean).join(".").toLowerCase()}/${owner.name}`;
}
