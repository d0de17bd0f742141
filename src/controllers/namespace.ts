// Empties a namespace that is being deleted, reports in its conditions what is left, and removes its finalizer when nothing is. A kind that
// cannot be listed or deleted keeps the namespace, but does not keep other kinds from being deleted.
// Upstream: pkg/controller/namespace/deletion/namespaced_resources_deleter.go.
import { Namespace } from "#api/core/v1/namespace.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { equal } from "#base/collections.ts";
import { isNotFound, isReason } from "#base/errors.ts";
import type { Client } from "#client/client.ts";
import { controller, type Reconcile } from "#client/controller.ts";
import { type Discovery, type DiscoveryResult, GroupDiscoveryFailed } from "#client/discovery.ts";
import { unlessGone } from "#client/unless-gone.ts";
import { hasEnded } from "#rules/pods.ts";
import type { AnyKind } from "#schema/kind.ts";
import { metadataOf } from "#schema/object.ts";
import { millisOf } from "#schema/time.ts";
import { conditionsAfter, type RemainingContent } from "./namespace-conditions.ts";

/** The finalizer in spec.finalizers that keeps a namespace until this controller has emptied it. */
const ownFinalizer = "kubernetes";
/** How long objects with finalizers are given before another look. */
const finalizerSeconds = 15;
/**
 * A deleted namespace stays for at least a second, so that an object whose creation was admitted just before is found, too. Upstream waits
 * five seconds before it begins; timestamps are in whole seconds, hence two.
 */
const leastAgeMs = 2000;

export const namespaceController = (discovery: Discovery) =>
  controller({
    name: "namespace",
    for: Namespace,
    workers: 10,
    resyncMs: 300_000,

    async reconcile(namespace, context) {
      const { deletionTimestamp } = namespace.metadata;
      const finalizers = namespace.spec.finalizers ?? [];
      if (deletionTimestamp === undefined || finalizers.length === 0) return;
      const { client, clock } = context;
      const emptied = await empty(namespace, discovery, context);
      const { failures, objects } = emptied;
      await report(namespace, emptied, context);
      const failure = emptied.discovery ?? failures[0];
      if (failure !== undefined) throw failure;
      if (objects.size > 0) return { afterMs: (Math.floor(emptied.estimateSeconds / 2) + 1) * 1000 };
      const young = millisOf(deletionTimestamp) + leastAgeMs - clock.now();
      if (young > 0) return { afterMs: young };
      const left = finalizers.filter((finalizer) => finalizer !== ownFinalizer);
      await unlessGone(client.update(Namespace, { ...namespace, spec: { finalizers: left } }, "finalize"));
      return undefined;
    },
  });

interface DeletionAttempt extends RemainingContent {
  /** After how many seconds the remaining objects may be gone. */
  readonly estimateSeconds: number;
}

async function empty(
  namespace: Namespace,
  discovery: Discovery,
  { client, clock, signal }: Reconcile,
): Promise<DeletionAttempt> {
  const failures: unknown[] = [];
  const objects = new Map<AnyKind, number>();
  const finalizers = new Map<string, number>();
  let estimateSeconds = 0;
  let discovered: DiscoveryResult;
  try {
    discovered = await discovery.discover(signal);
  } catch (error) {
    return { discovery: error, failures, objects, finalizers, estimateSeconds };
  }
  const groups = discovered.failures;
  const failed = groups.size > 0 && { discovery: new GroupDiscoveryFailed(groups) };
  const age = (clock.now() - millisOf(namespace.metadata.deletionTimestamp ?? "")) / 1000;
  for (const kind of deletable(discovered.kinds)) {
    try {
      const grace = kind === Pod ? await longestGrace(client, namespace.metadata.name) : 0;
      const left = await deleteAll(client, kind, namespace.metadata.name);
      if (left.length === 0) continue;
      objects.set(kind, left.length);
      const held = left.flatMap((object) => metadataOf(object).finalizers ?? []);
      for (const finalizer of held) finalizers.set(finalizer, (finalizers.get(finalizer) ?? 0) + 1);
      const seconds = age < grace ? grace : held.length > 0 ? finalizerSeconds : 0;
      estimateSeconds = Math.max(estimateSeconds, seconds);
      if (seconds === 0)
        throw new Error(`unexpected items still remain in namespace: ${namespace.metadata.name} for gvr: ${gvr(kind)}`);
    } catch (error) {
      failures.push(error);
    }
    // What pods use goes after them: a pod that ends may still need its secrets, and its network policies.
    if (kind === Pod && objects.has(Pod)) break;
  }
  return { ...failed, failures, objects, finalizers, estimateSeconds };
}

/** The kinds to delete, pods first, each in one version only. */
function deletable(kinds: readonly AnyKind[]): readonly AnyKind[] {
  const unique = new Map<string, AnyKind>();
  for (const kind of kinds)
    if (kind.scope === "Namespaced" && kind.verbs.includes("delete") && !unique.has(`${kind.group}/${kind.plural}`))
      unique.set(`${kind.group}/${kind.plural}`, kind);
  const all = [...unique.values()];
  return [...all.filter((kind) => kind === Pod), ...all.filter((kind) => kind !== Pod)];
}

const background = { propagation: "Background" } as const;

/** Deletes all objects of a kind; what is still there afterwards. */
async function deleteAll(client: Client, kind: AnyKind, namespace: string): Promise<readonly unknown[]> {
  try {
    if (!(await deleteTogether(client, kind, namespace)))
      for (const object of (await client.list(kind, { namespace })).items)
        await unlessGone(client.delete(kind, { namespace, name: metadataOf(object).name ?? "" }, background));
    return (await client.list(kind, { namespace })).items;
  } catch (error) {
    if (isUnsupported(error)) return [];
    throw error;
  }
}

/** Whether the server can delete all objects of a kind at once, and has. */
async function deleteTogether(client: Client, kind: AnyKind, namespace: string): Promise<boolean> {
  if (!kind.verbs.includes("deletecollection")) return false;
  try {
    await client.deleteCollection(kind, { namespace }, background);
    return true;
  } catch (error) {
    if (isUnsupported(error)) return false;
    throw error;
  }
}

/** The kind itself is gone, or cannot be asked for that. */
const isUnsupported = (error: unknown): boolean => isNotFound(error) || isReason(error, "MethodNotAllowed");

async function longestGrace(client: Client, namespace: string): Promise<number> {
  const pods = (await client.list(Pod, { namespace })).items.filter((pod) => !hasEnded(pod));
  return pods.reduce((longest, { spec }) => Math.max(longest, spec.terminationGracePeriodSeconds ?? 0), 0);
}

async function report(namespace: Namespace, remains: RemainingContent, { client, clock }: Reconcile): Promise<void> {
  const before = namespace.status.conditions ?? [];
  const conditions = conditionsAfter(remains, before, clock.now());
  const status = { ...namespace.status, phase: "Terminating" as const, conditions };
  if (equal(status, namespace.status)) return;
  await unlessGone(client.update(Namespace, { ...namespace, status }, "status"));
}

const gvr = ({ group, version, plural }: AnyKind): string => `${group}/${version}, Resource=${plural}`;
