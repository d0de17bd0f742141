// How many pods the controllers of some pods want in all.
// Upstream: pkg/controller/disruption/disruption.go.

import { Deployment } from "#api/apps/v1/deployment.ts";
import { ReplicaSet } from "#api/apps/v1/replica-set.ts";
import { StatefulSet } from "#api/apps/v1/stateful-set.ts";
import { Scale } from "#api/autoscaling/v1/scale.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { ReplicationController } from "#api/core/v1/replication-controller.ts";
import { isNotFound } from "#base/errors.ts";
import type { Reconcile } from "#client/controller.ts";
import type { Discovery } from "#client/discovery.ts";
import { controllerOf } from "#rules/owners.ts";
import { groupOf } from "#schema/api-version.ts";
import type { AnyKind } from "#schema/kind.ts";

/** Kinds whose scale is read from the cache. */
export const scaledKinds = [ReplicationController, Deployment, ReplicaSet, StatefulSet];

type Owner = NonNullable<ReturnType<typeof controllerOf>>;

interface ScaleTarget {
  readonly uid: string;
  readonly replicas: number;
}

export interface ExpectedScale {
  readonly expected: number;
  /** Names of pods that nobody controls. */
  readonly unmanaged: readonly string[];
}

/** The sum over all controllers of the pods. Throws if the scale of one cannot be read. */
export async function expectedScale(
  pods: readonly Pod[],
  discovery: Discovery,
  context: Reconcile,
): Promise<ExpectedScale> {
  const unmanaged: string[] = [];
  const visited = new Set<string>();
  const replicas = new Map<string, number>();
  for (const pod of pods) {
    const owner = controllerOf(pod);
    if (!owner) {
      unmanaged.push(pod.metadata.name);
      continue;
    }
    if (visited.has(owner.uid)) continue;
    visited.add(owner.uid);
    const namespace = pod.metadata.namespace ?? "";
    const scaled = cachedScale(owner, namespace, context) ?? (await servedScale(owner, namespace, discovery, context));
    if (!scaled) throw new Error(`found no controllers for pod ${JSON.stringify(pod.metadata.name)}`);
    replicas.set(scaled.uid, scaled.replicas);
  }
  return { expected: [...replicas.values()].reduce((a, b) => a + b, 0), unmanaged };
}
const isOf = ({ apiVersion, kind }: Owner, { group, kind: name }: AnyKind): boolean =>
  kind === name && groupOf(apiVersion) === group;

/** For a ReplicaSet of a Deployment, the replicas of the Deployment count. */
function cachedScale(owner: Owner, namespace: string, { cache }: Reconcile): ScaleTarget | undefined {
  const find = <O extends { metadata: { uid: string }; spec: { replicas?: number | undefined } }>(
    { name, uid }: Owner,
    get: (place: { namespace: string; name: string }) => O | undefined,
  ): O | undefined => {
    const found = get({ namespace, name });
    return found?.metadata.uid === uid ? found : undefined;
  };
  const scaledBy = (found: { metadata: { uid: string }; spec: { replicas?: number | undefined } } | undefined) =>
    found && { uid: found.metadata.uid, replicas: found.spec.replicas ?? 0 };
  if (isOf(owner, ReplicationController)) return scaledBy(find(owner, (at) => cache.get(ReplicationController, at)));
  if (isOf(owner, StatefulSet)) return scaledBy(find(owner, (at) => cache.get(StatefulSet, at)));
  if (!isOf(owner, ReplicaSet)) return undefined;
  const set = find(owner, (at) => cache.get(ReplicaSet, at));
  const over = set && controllerOf(set);
  if (!over || over.kind !== Deployment.kind) return scaledBy(set);
  return isOf(over, Deployment) ? scaledBy(find(over, (at) => cache.get(Deployment, at))) : undefined;
}

/** The scale of any other controller is read from the API. */
async function servedScale(
  { apiVersion, kind, name, uid }: Owner,
  namespace: string,
  discovery: Discovery,
  { client, signal }: Reconcile,
): Promise<ScaleTarget | undefined> {
  const { kinds } = await discovery.discover(signal);
  const of =
    kinds.find((one) => one.kind === kind && one.apiVersion === apiVersion) ??
    kinds.find((one) => one.kind === kind && one.group === groupOf(apiVersion));
  if (!of) throw new Error(`no matches for kind ${JSON.stringify(kind)} in version ${JSON.stringify(apiVersion)}`);
  if (of.subresources?.scale === undefined) {
    const resource = of.group === "" ? of.plural : `${of.plural}.${of.group}`;
    throw new Error(`${resource} does not implement the scale subresource`);
  }
  try {
    const scale = await client.get(Scale, { namespace, name }, { of, subresource: "scale" });
    return scale.metadata.uid === uid ? { uid, replicas: scale.spec.replicas } : undefined;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
