// What a Deployment notes in annotations of itself and of its ReplicaSets: revisions, and for how many pods a set was sized.
// Upstream: pkg/controller/deployment/util/deployment_util.go.
import type { Deployment } from "#api/apps/v1/deployment.ts";
import type { ReplicaSet } from "#api/apps/v1/replica-set.ts";
import { nextInt64, parseInt64 } from "#schema/int64.ts";

export type Annotations = Readonly<Record<string, string>>;

export const revisionAnnotation = "deployment.kubernetes.io/revision";
const historyAnnotation = "deployment.kubernetes.io/revision-history";
const desiredAnnotation = "deployment.kubernetes.io/desired-replicas";
const maxAnnotation = "deployment.kubernetes.io/max-replicas";
export const rollbackAnnotation = "deprecated.deployment.rollback.to";

/** A set's list of former revisions may have this many characters. */
const historyLimit = 2000;

/** Annotations that say something of one object only, and are not copied between a Deployment and its ReplicaSets. */
const ownAnnotations: ReadonlySet<string> = new Set([
  "kubectl.kubernetes.io/last-applied-configuration",
  revisionAnnotation,
  historyAnnotation,
  desiredAnnotation,
  maxAnnotation,
  rollbackAnnotation,
]);

/** The revision of a set: 0 if it has none, undefined if what it has is no number of 64 bits. */
export function revisionOf({ metadata }: ReplicaSet): bigint | undefined {
  const text = metadata.annotations?.[revisionAnnotation];
  return text === undefined ? 0n : parseInt64(text);
}

const byRevision = (a: ReplicaSet, b: ReplicaSet): number => {
  const [one, other] = [revisionOf(a) ?? 0n, revisionOf(b) ?? 0n];
  return one < other ? -1 : one > other ? 1 : 0;
};

/** The sets, the one with the lowest revision first. */
export const inOrder = (sets: readonly ReplicaSet[]): readonly ReplicaSet[] => sets.toSorted(byRevision);

/** The next revision that is free. */
export function nextRevision(sets: readonly ReplicaSet[]): bigint {
  const most = sets.reduce((highest, rs) => {
    const revision = revisionOf(rs) ?? 0n;
    return revision > highest ? revision : highest;
  }, 0n);
  return nextInt64(most);
}

/** For how many pods the Deployment asked when the set was last sized, and how many it allowed. */
export const desiredReplicasOf = (rs: ReplicaSet): number | undefined => count(rs, desiredAnnotation);
export const maxReplicasOf = (rs: ReplicaSet): number | undefined => count(rs, maxAnnotation);

export const sizeAnnotations = (replicas: number, surge: number): Annotations => ({
  [desiredAnnotation]: String(replicas),
  [maxAnnotation]: String(replicas + surge),
});

/** What the set of the present template should be annotated with, when `revision` is the next one that is free. */
export function newSetAnnotations(deployment: Deployment, present: Annotations, revision: bigint): Annotations {
  const copied = copyable(deployment.metadata.annotations);
  const annotations: Annotations = { ...present, ...copied };
  const text = present[revisionAnnotation];
  const old = text === undefined || text === "" ? 0n : parseInt64(text);
  if (old === undefined || old >= revision) return annotations;
  const history = text === undefined ? {} : { [historyAnnotation]: appended(present[historyAnnotation], text) };
  return { ...annotations, ...history, [revisionAnnotation]: String(revision) };
}

/** The Deployment's own annotations, and of the rest those of the set it goes back to. */
export const rolledBackAnnotations = (deployment: Deployment, to: ReplicaSet): Annotations => ({
  ...Object.fromEntries(
    Object.entries(deployment.metadata.annotations ?? {}).filter(([key]) => ownAnnotations.has(key)),
  ),
  ...copyable(to.metadata.annotations),
});

const copyable = (annotations: Annotations = {}): Annotations =>
  Object.fromEntries(Object.entries(annotations).filter(([key]) => !ownAnnotations.has(key)));

/** The oldest revisions give way to the newest. */
function appended(history: string | undefined, revision: string): string {
  if (!history) return revision;
  const revisions = [...history.split(","), revision];
  while (revisions.length > 1 && revisions.join().length > historyLimit) revisions.shift();
  return revisions.join();
}

function count({ metadata }: ReplicaSet, annotation: string): number | undefined {
  const value = parseInt64(metadata.annotations?.[annotation] ?? "");
  return value !== undefined && BigInt.asIntN(32, value) === value ? Number(value) : undefined;
}
