// The revisions of a StatefulSet: the one its pods are moved to, the one they are moved away from, and those kept to go back to.
// Upstream: pkg/controller/statefulset/stateful_set_control.go and pkg/controller/statefulset/stateful_set_utils.go.
import type { ControllerRevision } from "#api/apps/v1/controller-revision.ts";
import { StatefulSet } from "#api/apps/v1/stateful-set.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { equal } from "#base/collections.ts";
import type { Client } from "#client/client.ts";
import { controlledBy } from "#rules/owners.ts";
import { decodeValue } from "#schema/decode.ts";
import { applyDefaults } from "#schema/defaults.ts";
import { applyStrategicPatch } from "#schema/patch/strategic-merge.ts";
import {
  createRevision,
  deleteRevision,
  holds,
  renumbered,
  revisionName,
  templatePatch,
} from "../controller-revisions.ts";
import { dataHash } from "../template-hash.ts";
import { revisionOf } from "./identity.ts";

const hashLabel = "controller.kubernetes.io/hash";

/** The set as it was, or is to be, under the name of its revision. */
export interface Version {
  readonly name: string;
  readonly set: StatefulSet;
}

export interface RevisionPair {
  readonly current: Version;
  readonly update: Version;
  readonly collisionCount: number;
}

/** The versions that the set's pods are between. Creates the revision of a new template, or makes an old one the newest again. */
export async function versionsOf(
  set: StatefulSet,
  revisions: readonly ControllerRevision[],
  client: Client,
): Promise<RevisionPair> {
  const { revision: update, collisionCount } = await updateRevision(set, revisions, client);
  const current = revisions.find(({ metadata }) => metadata.name === set.status.currentRevision) ?? update;
  return { current: versionOf(set, current), update: versionOf(set, update), collisionCount };
}

async function updateRevision(set: StatefulSet, revisions: readonly ControllerRevision[], client: Client) {
  const { collisionCount = 0 } = set.status;
  const patch = templatePatch(set.spec.template);
  const latest = revisions.at(-1);
  const same = revisions.findLast((revision) => holds(revision, patch));
  if (latest && same && holds(latest, same.data)) return { revision: latest, collisionCount };
  const number = (latest?.revision ?? 0) + 1;
  if (same) return { revision: await renumbered(client, same, number), collisionCount };
  if (latest && restoresSame(set, latest)) return { revision: latest, collisionCount };
  return createNext(set, number, collisionCount, client);
}

/** A name that is taken by another template gets a different hash with the next count. */
async function createNext(set: StatefulSet, number: number, firstCount: number, client: Client) {
  const { name = "", namespace = "", annotations } = set.metadata;
  const data = templatePatch(set.spec.template);
  for (let collisionCount = firstCount; ; collisionCount++) {
    const hash = dataHash(data, collisionCount);
    const labels = { ...set.spec.template.metadata.labels, [hashLabel]: hash };
    const ownerReferences = [controlledBy(StatefulSet, set)];
    const metadata = { name: revisionName(name, hash), namespace, labels, annotations, ownerReferences };
    const revision = await createRevision(client, { metadata, data, revision: number });
    if (revision) return { revision, collisionCount };
  }
}

/** Whether going back to the revision would change nothing: it may only lack defaults that came later. */
const restoresSame = (set: StatefulSet, revision: ControllerRevision): boolean =>
  equal(applyDefaults(StatefulSet, restored(set, revision)).spec.template, set.spec.template);

const versionOf = (set: StatefulSet, revision: ControllerRevision): Version => ({
  name: revision.metadata.name ?? "",
  set: holds(revision, templatePatch(set.spec.template)) ? set : restored(set, revision),
});

/** Revisions can be written by anyone who may: what is in them is decoded like a request. */
function restored(set: StatefulSet, { metadata, data }: ControllerRevision): StatefulSet {
  try {
    const patched = applyStrategicPatch(StatefulSet.struct, { ...set }, data);
    return decodeValue(StatefulSet, structuredClone(patched)).object as StatefulSet;
  } catch (cause) {
    throw new Error(`restore revision ${metadata.namespace}/${metadata.name}`, { cause });
  }
}

/** Deletes the oldest revisions beyond the history that is to be kept, but none that is in use. */
export async function truncateHistory(
  { spec }: StatefulSet,
  revisions: readonly ControllerRevision[],
  live: { readonly pods: readonly Pod[]; readonly versions: readonly Version[] },
  client: Client,
): Promise<void> {
  const limit = spec.revisionHistoryLimit;
  const names = new Set([...live.versions.map(({ name }) => name), ...live.pods.map(revisionOf)]);
  const old = revisions.filter(({ metadata }) => !names.has(metadata.name ?? ""));
  if (limit < 0 || old.length <= limit) return;
  for (const revision of old.slice(0, old.length - limit)) await deleteRevision(client, revision);
}
