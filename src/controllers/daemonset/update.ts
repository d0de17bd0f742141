// Which pods of a DaemonSet give way to new ones now. Runs when every node has its pod: pure, from what is there.
// Upstream: pkg/controller/daemon/update.go.
import type { Pod } from "#api/core/v1/pod.ts";
import { isAvailable } from "#rules/pods.ts";
import { isUpdated } from "./placement.ts";
import { type DaemonPlan, type DaemonSetState, isGoing, surgeOf, unavailableOf } from "./plan.ts";

/** The pods of a node that are not going, if there is at most one of each. */
interface Pair {
  readonly node: string;
  readonly old: Pod | undefined;
  readonly next: Pod | undefined;
}

export function planUpdate(scene: DaemonSetState): DaemonPlan {
  const { ds, nodes, placement } = scene;
  const wanted = new Set(nodes.filter((node) => placement(node).shouldRun).map(({ metadata }) => metadata.name ?? ""));
  const pairs: Pair[] = [];
  let crowded = 0;
  for (const node of new Set([...wanted, ...scene.pods.keys()])) {
    const pair = pairOn(scene, node);
    if (pair) pairs.push(pair);
    else crowded++; // is thinned out first
  }
  const surge = surgeOf(ds, wanted.size);
  if (surge === 0)
    return { create: [], delete: replaceInPlace(scene, pairs, unavailableOf(ds, wanted.size) - crowded) };
  return surgeOver(scene, pairs, { spare: surge - crowded, wanted });
}

function pairOn({ ds, pods, hash }: DaemonSetState, node: string): Pair | undefined {
  const present = (pods.get(node) ?? []).filter((pod) => !isGoing(pod));
  const next = present.filter((pod) => isUpdated(ds, pod, hash));
  const old = present.filter((pod) => !isUpdated(ds, pod, hash));
  return next.length > 1 || old.length > 1 ? undefined : { node, old: old[0], next: next[0] };
}

const works = ({ ds, now }: DaemonSetState, pod: Pod): boolean => isAvailable(pod, ds.spec.minReadySeconds ?? 0, now);

/** Deletes old pods, so that new ones take their place: all that do not work, and of the others as many as may be missing. */
function replaceInPlace(scene: DaemonSetState, pairs: readonly Pair[], most: number): readonly Pod[] {
  const broken: Pod[] = [];
  const candidates: Pod[] = [];
  let spare = most;
  for (const { old, next } of pairs) {
    const only = old && next ? undefined : (old ?? next);
    if (!only || !works(scene, only)) spare--;
    if (only && only === old) (works(scene, old) ? candidates : broken).push(old);
  }
  return [...broken, ...candidates.slice(0, Math.max(0, spare))];
}

/** Starts new pods next to old ones, and deletes an old one when the new one works. */
function surgeOver(
  scene: DaemonSetState,
  pairs: readonly Pair[],
  { spare, wanted }: { readonly spare: number; readonly wanted: ReadonlySet<string> },
): DaemonPlan {
  const waiting = pairs.filter(({ old, next }) => old && next && !works(scene, next)).length;
  const done: Pod[] = [];
  const unwanted: Pod[] = [];
  const urgent: string[] = [];
  const candidates: string[] = [];
  for (const { node, old, next } of pairs) {
    if (!old) continue;
    if (next) {
      if (works(scene, next)) done.push(old);
    } else if (works(scene, old)) {
      if (wanted.has(node)) candidates.push(node);
      else unwanted.push(old);
    } else if (wanted.has(node)) urgent.push(node);
    else done.push(old);
  }
  // With a surge no pod may be missing: pods on nodes that are no longer selected go once enough pods are available elsewhere.
  const available = pairs.flatMap(({ old, next }) => old ?? next ?? []).filter((pod) => works(scene, pod)).length;
  return {
    create: [...urgent, ...candidates.slice(0, Math.max(0, spare - waiting))],
    delete: [...done, ...unwanted.slice(0, Math.max(0, available - wanted.size))],
  };
}
