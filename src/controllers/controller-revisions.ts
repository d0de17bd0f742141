// The history of a StatefulSet or DaemonSet: a ControllerRevision for each template it has had.
// Upstream: pkg/controller/history/controller_history.go.

import { ControllerRevision } from "#api/apps/v1/controller-revision.ts";
import type { PodTemplateSpec } from "#api/core/v1/pod-spec.ts";
import { equal } from "#base/collections.ts";
import { isNotFound, isReason } from "#base/errors.ts";
import { index } from "#client/cache.ts";
import type { Client } from "#client/client.ts";
import type { Reconcile } from "#client/controller.ts";
import { controllerOf } from "#rules/owners.ts";
import type { Draft } from "#schema/infer.ts";
import type { AnyKind } from "#schema/kind.ts";
import { metadataOf } from "#schema/object.ts";
import type { SelectorStruct } from "#schema/selector.ts";
import { selectorMatcher } from "#schema/selector.ts";
import { claim } from "./owner.ts";

/** The label of pods that says which revision they are of. */
export const revisionLabel = "controller-revision-hash";

/** Names of objects may have this many characters; a hash and a hyphen follow. */
const longestPrefix = 223;

const orphanRevisions = index(ControllerRevision, (revision) =>
  controllerOf(revision) ? [] : [revision.metadata.namespace ?? ""],
);

/** The revisions of the owner, the oldest first: those it controls, and orphans that it selects, which it adopts. */
export async function revisionsOf(
  ownerKind: AnyKind,
  owner: { readonly spec: { readonly selector: SelectorStruct } },
  { client, cache }: Reconcile,
): Promise<readonly ControllerRevision[]> {
  const orphans = cache.by(orphanRevisions, metadataOf(owner).namespace ?? "");
  const revisions = await claim(client, {
    kind: ControllerRevision,
    candidates: [...cache.owned(ControllerRevision, owner), ...orphans],
    ownerKind,
    owner,
    selects: selectorMatcher(owner.spec.selector),
  });
  return revisions.toSorted(byRevision);
}

/**
 * What a revision keeps: a strategic patch that brings the template back. Its keys stand in the order of the alphabet, as upstream
 * writes them: kubectl compares the bytes of a revision with those it makes of the present template.
 */
export const templatePatch = (template: PodTemplateSpec) => ({
  spec: { template: sortedKeys({ ...template, $patch: "replace" }) },
});

function sortedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortedKeys);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  return Object.fromEntries(
    entries.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([key, one]) => [key, sortedKeys(one)]),
  );
}

export const holds = ({ data }: ControllerRevision, patch: unknown): boolean => equal(data, patch);

export const revisionName = (owner: string, hash: string): string => `${owner.slice(0, longestPrefix)}-${hash}`;

/** Creates the revision, or returns it if it exists already; undefined if a different one has its name. */
export async function createRevision(
  client: Client,
  draft: Draft<ControllerRevision> & { readonly metadata: { readonly namespace: string; readonly name: string } },
): Promise<ControllerRevision | undefined> {
  try {
    return await client.create(ControllerRevision, draft);
  } catch (error) {
    if (!isReason(error, "AlreadyExists")) throw error;
    const taken = await client.get(ControllerRevision, draft.metadata);
    return holds(taken, draft.data) ? taken : undefined;
  }
}

export const renumbered = (client: Client, revision: ControllerRevision, number: number): Promise<ControllerRevision> =>
  client.update(ControllerRevision, { ...revision, revision: number });

export async function deleteRevision(client: Client, { metadata }: ControllerRevision): Promise<void> {
  try {
    await client.delete(ControllerRevision, metadata);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

function byRevision(a: ControllerRevision, b: ControllerRevision): number {
  if (a.revision !== b.revision) return a.revision - b.revision;
  const [one, other] = [a.metadata.creationTimestamp ?? "", b.metadata.creationTimestamp ?? ""];
  if (one !== other) return one < other ? -1 : 1;
  return (a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1;
}
