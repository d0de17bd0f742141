// Upstream: plugin/pkg/admission/gc/gc_admission.go.
import { equal } from "#base/collections.ts";
import type { ApiObject } from "#schema/object.ts";
import type { OwnerReference } from "#schema/object-meta.ts";
import { type AdmissionRequest, admissionPlugin } from "./plugin.ts";

const ownersOf = (object: ApiObject | undefined): readonly OwnerReference[] => object?.metadata.ownerReferences ?? [];

/**
 * Owners decide when an object is deleted, and may wait for it when they are: who sets them must be allowed to delete the object,
 * and to hold back the owner.
 */
export const ownerReferencesPermissionEnforcement = admissionPlugin({
  name: "OwnerReferencesPermissionEnforcement",
  on: { verbs: ["create", "update"], through: ["*"] },
  async validate(asked) {
    const { object, old, kind, subresource, operation, namespace, user, server } = asked;
    if (kind.group === "" && kind.plural === "pods" && subresource === "status") return undefined; // kubelets write it all the time
    if (equal(ownersOf(object), ownersOf(old))) return undefined;
    if (operation === "update") {
      const { decision, reason = "" } = await server.authorize({
        type: "resource",
        user,
        verb: "delete",
        group: kind.group,
        version: asked.requestedVersion,
        resource: kind.plural,
        ...(subresource && { subresource }),
        ...(namespace && { namespace }),
        ...(asked.name && { name: asked.name }),
      });
      if (decision !== "allow") return `cannot set an ownerRef on a resource you can't delete: ${reason}, <nil>`;
    }
    const blocking = newlyBlocking(object, old);
    if (blocking.length === 0 || (await mayFinalize(asked, anything))) return undefined;
    for (const { apiVersion, kind: ownerKind, name } of blocking) {
      const found = server.kinds.find((one) => one.apiVersion === apiVersion && one.kind === ownerKind);
      if (!found)
        return `cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion ${apiVersion} Kind ${ownerKind}: no matches for kind ${JSON.stringify(ownerKind)} in version ${JSON.stringify(apiVersion)}`;
      const { group, version, plural, scope } = found;
      const owner = { group, version, resource: plural, name };
      const refusal = await refusalToFinalize(asked, scope === "Namespaced" ? { ...owner, namespace } : owner);
      if (refusal !== undefined)
        return `cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: ${refusal}, <nil>`;
    }
    return undefined;
  },
});

interface Owner {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly name: string;
  readonly namespace?: string;
}
const anything: Owner = { group: "*", version: "*", resource: "*", name: "*" };

function newlyBlocking(object: ApiObject, old: ApiObject | undefined): readonly OwnerReference[] {
  const blocked = new Set(ownersOf(old).flatMap(({ uid, blockOwnerDeletion }) => (blockOwnerDeletion ? [uid] : [])));
  return ownersOf(object).filter(({ uid, blockOwnerDeletion }) => blockOwnerDeletion && !blocked.has(uid));
}

type Asking = Pick<AdmissionRequest<unknown>, "user" | "server">;

async function refusalToFinalize({ user, server }: Asking, owner: Owner): Promise<string | undefined> {
  const { decision, reason = "" } = await server.authorize({
    type: "resource",
    user,
    verb: "update",
    subresource: "finalizers",
    ...owner,
  });
  return decision === "allow" ? undefined : reason;
}

const mayFinalize = async (asked: Asking, owner: Owner): Promise<boolean> =>
  (await refusalToFinalize(asked, owner)) === undefined;
