// The revisions of a DaemonSet: the one of its present template, and the old ones it can go back to.
// Upstream: pkg/controller/daemon/update.go.
import { ControllerRevision } from "#api/apps/v1/controller-revision.ts";
import { DaemonSet } from "#api/apps/v1/daemon-set.ts";
import { Pod } from "#api/core/v1/pod.ts";
import type { Reconcile } from "#client/controller.ts";
import { controlledBy } from "#rules/owners.ts";
import {
  createRevision,
  deleteRevision,
  holds,
  renumbered,
  revisionLabel,
  revisionsOf,
  templatePatch,
} from "../controller-revisions.ts";
import { templateHash } from "../template-hash.ts";

export interface RevisionHistory {
  /** Which value of the revision label pods of the present template have. */
  readonly hash: string;
  /** The oldest first. */
  readonly old: readonly ControllerRevision[];
  /** The pods with the labels they have now. */
  readonly pods: readonly Pod[];
}

const hashOf = ({ metadata }: ControllerRevision): string => metadata.labels?.[revisionLabel] ?? "";

/** Creates the revision of a new template, or makes an old one the newest again. */
export async function historyOf(ds: DaemonSet, pods: readonly Pod[], context: Reconcile): Promise<RevisionHistory> {
  const { client } = context;
  const patch = templatePatch(ds.spec.template);
  const revisions: ControllerRevision[] = [];
  for (const revision of await revisionsOf(DaemonSet, ds, context))
    revisions.push(hashOf(revision) ? revision : await labelled(revision, context));
  const same = revisions.filter((revision) => holds(revision, patch));
  const old = revisions.filter((revision) => !holds(revision, patch));
  const number = Math.max(0, ...old.map(({ revision }) => revision)) + 1;
  const [current] = same.toReversed();
  if (!current) return { hash: hashOf(await snapshot(ds, number, context)), old, pods };
  const merged = await merge(same.slice(0, -1), current, pods, context);
  if (current.revision < number) await renumbered(client, current, number);
  return { hash: hashOf(current), old, pods: merged };
}

/** A revision that came without the label gets its name as its hash: that is unique, too. */
const labelled = (revision: ControllerRevision, { client }: Reconcile): Promise<ControllerRevision> => {
  const { metadata } = revision;
  const labels = { ...metadata.labels, [revisionLabel]: metadata.name ?? "" };
  return client.update(ControllerRevision, { ...revision, metadata: { ...metadata, labels } });
};

/** Of several revisions of the same template the newest stays, and its label is that of all their pods. */
async function merge(
  duplicates: readonly ControllerRevision[],
  current: ControllerRevision,
  pods: readonly Pod[],
  { client }: Reconcile,
): Promise<readonly Pod[]> {
  if (duplicates.length === 0) return pods;
  const hashes = new Set(duplicates.map(hashOf));
  const labels = { [revisionLabel]: hashOf(current) };
  const merged: Pod[] = [];
  for (const pod of pods) {
    const isOfDuplicate = hashes.has(pod.metadata.labels?.[revisionLabel] ?? "");
    merged.push(isOfDuplicate ? await client.patch(Pod, pod.metadata, "merge", { metadata: { labels } }) : pod);
  }
  for (const duplicate of duplicates) await deleteRevision(client, duplicate);
  return merged;
}

/** A name that is taken by another template gets a different hash next time. */
async function snapshot(ds: DaemonSet, revision: number, { client }: Reconcile): Promise<ControllerRevision> {
  const { name = "", namespace = "", annotations } = ds.metadata;
  const { template } = ds.spec;
  const { collisionCount } = ds.status;
  const hash = templateHash(template, collisionCount);
  const labels = { ...template.metadata.labels, [revisionLabel]: hash };
  const ownerReferences = [controlledBy(DaemonSet, ds)];
  const metadata = { name: `${name}-${hash}`, namespace, labels, annotations, ownerReferences };
  const created = await createRevision(client, { metadata, data: templatePatch(template), revision });
  if (created) return created;
  const status = { ...ds.status, collisionCount: (collisionCount ?? 0) + 1 };
  await client.update(DaemonSet, { ...ds, status }, "status");
  throw new Error(`revision ${namespace}/${metadata.name} is of another template: trying another name`);
}

/** Deletes the oldest revisions beyond the history that is to be kept, but none that a pod is of. */
export async function truncateHistory(
  { spec }: DaemonSet,
  old: readonly ControllerRevision[],
  pods: readonly Pod[],
  { client }: Reconcile,
): Promise<void> {
  const live = new Set(pods.map(({ metadata }) => metadata.labels?.[revisionLabel]));
  const excess = old.length - spec.revisionHistoryLimit;
  const dispensable = old.filter((revision) => !live.has(hashOf(revision)));
  for (const revision of dispensable.slice(0, Math.max(0, excess))) await deleteRevision(client, revision);
}
