// `knarr why`: what state an object is in, who says so, what put it there, and what a person can do about it.

import type { Event } from "#api/core/v1/event.ts";
import { ClusterRole } from "#api/rbac/v1/cluster-role.ts";
import { ClusterRoleBinding } from "#api/rbac/v1/cluster-role-binding.ts";
import { Role } from "#api/rbac/v1/role.ts";
import { RoleBinding } from "#api/rbac/v1/role-binding.ts";
import { isNotFound } from "#base/errors.ts";
import { wholeKind } from "#client/metadata-kind.ts";
import { type ObjectKey, resourceName } from "#client/object-key.ts";
import type { Infer } from "#schema/infer.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { WriteRecord } from "#wire/write-record.ts";
import { reasonFor } from "./experts.ts";
import { eventsAbout, listAllowed, type Sources } from "./facts.ts";
import { notFound } from "./not-found.ts";
import { refusalReason, type Wish } from "./reasons/forbidden.ts";
import type { Reason } from "./reasons/reason.ts";
import { actorOf } from "./trace-text.ts";

export interface Explanation {
  readonly subject: { readonly kind: string; readonly namespace?: string; readonly name: string };
  readonly reason: Reason;
  /** The writes that led here, first cause first. */
  readonly chain: readonly WriteRecord[];
  /** Oldest first. */
  readonly events: readonly Event[];
}

/** Why the object is as it is. Throws NoSuchObject, which names others that may be meant. */
export async function explain(kind: AnyKind, place: ObjectKey, sources: Sources): Promise<Explanation> {
  const object = await read(kind, place, sources);
  const [events, writes] = await Promise.all([eventsAbout(object, sources.client), sources.writesOf(kind, place)]);
  const own = writes.filter((write) => isOf(write, kind, place));
  const { namespace, name } = place;
  return {
    subject: { kind: kind.kind, ...(namespace !== undefined && { namespace }), name },
    reason: await reasonFor(kind, { object, events, deletedBy: deleterIn(own), sources }),
    chain: causesOf(own, writes),
    events,
  };
}

/** Which rule is missing for what was refused. */
export async function explainRefusal(wish: Wish, { client }: Sources): Promise<Explanation> {
  const namespace = wish.namespace ?? "";
  const [roles, clusterRoles, bindings, clusterBindings] = await Promise.all([
    wish.namespace === undefined ? [] : listAllowed(client, Role, { namespace }),
    listAllowed(client, ClusterRole, {}),
    wish.namespace === undefined ? [] : listAllowed(client, RoleBinding, { namespace }),
    listAllowed(client, ClusterRoleBinding, {}),
  ]);
  return {
    subject: { kind: "User", name: wish.user },
    reason: refusalReason(wish, { roles, clusterRoles, bindings, clusterBindings }),
    chain: [],
    events: [],
  };
}

async function read(kind: AnyKind, place: ObjectKey, { client }: Sources): Promise<Infer<AnyKind>> {
  try {
    return await client.get(wholeKind(kind), place);
  } catch (error) {
    throw isNotFound(error) ? await notFound(kind, place, client) : error;
  }
}

const isOf = (write: WriteRecord, kind: AnyKind, { namespace = "", name }: ObjectKey): boolean =>
  write.resource === resourceName(kind) && write.name === name && write.namespace === namespace;

/** Who asked for the deletion, and why: the first request counts, since later ones only carry it out. */
function deleterIn(own: readonly WriteRecord[]): string | undefined {
  const write = own
    .slice(own.findLastIndex(isCreation) + 1)
    .find(({ verb, subresource }) => verb.startsWith("delete") || subresource === "eviction");
  if (!write) return undefined;
  const program = write.userAgent.split(/[/ ]/)[0];
  const who = `${actorOf(write.user)}${program && !write.user.startsWith("system:") ? ` (${program})` : ""}`;
  const other = write.because.find(({ resource, name }) => resource !== write.resource || name !== write.name);
  return other ? `${who}, because of ${other.resource}/${other.name},` : who;
}

const isCreation = ({ verb, subresource }: WriteRecord): boolean => verb === "create" && !subresource;

/** From the newest write that made the object, back to the request that began it. */
function causesOf(own: readonly WriteRecord[], writes: readonly WriteRecord[]): readonly WriteRecord[] {
  const byRevision = new Map(writes.map((write) => [write.revision, write]));
  const chain: WriteRecord[] = [];
  let one = own.findLast(isCreation);
  while (one && !chain.includes(one)) {
    chain.unshift(one);
    const causes = one.because.map(({ revision }) => byRevision.get(revision)).filter((write) => write !== undefined);
    one = causes.toSorted((a, b) => b.revision - a.revision)[0];
  }
  return chain;
}
