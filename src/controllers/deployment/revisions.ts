// What a Deployment notes in annotations of itself and of its ReplicaSets: revisions, and for how many pods a set was sized.
import type { Deployment } from "#api/apps/v1/deployment.ts";
import type { ReplicaSet } from "#api/apps/v1/replica-set.ts";

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

/** The revision of a set: 0 if it has none, undefined if what it has is no number. */
export function revisionOf({ metadata }: ReplicaSet): number | undefined {
  const text = metadata.annotations?.[revisionAnnotation];
  return text === undefined ? 0 : integer(text);
}

export const maxRevision = (sets: readonly ReplicaSet[]): number =>
  sets.reduce((most, rs) => Math.max(most, revisionOf(rs) ?? 0), 0);

/** For how many pods the Deployment asked when the set was last sized, and how many it allowed. */
export const desiredReplicasOf = (rs: ReplicaSet): number | undefined => count(rs, desiredAnnotation);
export const maxReplicasOf = (rs: ReplicaSet): number | undefined => count(rs, maxAnnotation);

export const sizeAnnotations = (replicas: number, surge: number): Annotations => ({
  [desiredAnnotation]: String(replicas),
  [maxAnnotation]: String(replicas + surge),
});

/** What the set of the present template should be annotated with, when `revision` is the next one that is free. */
export function newSetAnnotations(deployment: Deployment, present: Annotations, revision: number): Annotations {
  const copied = copyable(deployment.metadata.annotations);
  const annotations: Annotations = { ...present, ...copied };
  const text = present[revisionAnnotation];
  const old = text === undefined || text === "" ? 0 : integer(text);
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

const integer = (text: string): number | undefined => (/^[+-]?[0-9]{1,15}$/.test(text) ? Number(text) : undefined);

function count({ metadata }: ReplicaSet, annotation: string): number | undefined {
  const text = metadata.annotations?.[annotation] ?? "";
  return /^[0-9]{1,10}$/.test(text) && Number(text) < 2 ** 31 ? Number(text) : undefined;
}
