// What a namespace that is being deleted says about what is left in it.
// Upstream: pkg/controller/namespace/deletion/status_condition_utils.go.
import type { NamespaceCondition } from "#api/core/v1/namespace.ts";
import { explain } from "#base/errors.ts";
import { GroupDiscoveryFailed } from "#client/discovery.ts";
import type { AnyKind } from "#schema/kind.ts";
import { timeOf } from "#schema/time.ts";

/** What one attempt to empty a namespace left behind. */
export interface RemainingContent {
  /** Why discovery failed, if it did. */
  readonly discovery?: unknown;
  readonly failures: readonly unknown[];
  /** How many objects of which kind are left. */
  readonly objects: ReadonlyMap<AnyKind, number>;
  /** How many of them have which finalizer. */
  readonly finalizers: ReadonlyMap<string, number>;
}

type Verdict = readonly [reason: string, message: string];
interface Aspect {
  readonly type: string;
  /** Reason and message when all is well. */
  readonly well: Verdict;
  /** Reason and message otherwise. */
  ill(remains: RemainingContent): Verdict | undefined;
}

const aspects: readonly Aspect[] = [
  {
    type: "NamespaceDeletionDiscoveryFailure",
    well: ["ResourcesDiscovered", "All resources successfully discovered"],
    ill({ discovery }) {
      if (discovery === undefined) return undefined;
      if (!(discovery instanceof GroupDiscoveryFailed)) return ["DiscoveryFailed", explain(discovery)];
      const failing = `Discovery failed for some groups, ${discovery.failures.size} failing`;
      return ["DiscoveryFailed", `${failing}: ${explain(discovery)}`];
    },
  },
  {
    type: "NamespaceDeletionGroupVersionParsingFailure",
    well: ["ParsedGroupVersions", "All legacy kube types successfully parsed"],
    ill: () => undefined,
  },
  {
    type: "NamespaceDeletionContentFailure",
    well: ["ContentDeleted", "All content successfully deleted, may be waiting on finalization"],
    ill({ failures }) {
      if (failures.length === 0) return undefined;
      const texts = failures.map(explain).toSorted().join(", ");
      return ["ContentDeletionFailed", `Failed to delete all resource types, ${failures.length} remaining: ${texts}`];
    },
  },
  {
    type: "NamespaceContentRemaining",
    well: ["ContentRemoved", "All content successfully removed"],
    ill({ objects }) {
      const texts = [...objects].map(([kind, count]) => `${kind.plural}.${kind.group} has ${count} resource instances`);
      if (texts.length === 0) return undefined;
      return ["SomeResourcesRemain", `Some resources are remaining: ${texts.toSorted().join(", ")}`];
    },
  },
  {
    type: "NamespaceFinalizersRemaining",
    well: ["ContentHasNoFinalizers", "All content-preserving finalizers finished"],
    ill({ finalizers }) {
      const texts = [...finalizers].map(([name, count]) => `${name} in ${count} resource instances`);
      if (texts.length === 0) return undefined;
      const message = `Some content in the namespace has finalizers remaining: ${texts.toSorted().join(", ")}`;
      return ["SomeFinalizersRemain", message];
    },
  },
];

export function conditionsAfter(
  remains: RemainingContent,
  before: readonly NamespaceCondition[],
  now: number,
): readonly NamespaceCondition[] {
  const ours = aspects.map(({ type, well, ill }): NamespaceCondition => {
    const wrong = ill(remains);
    const [reason, message] = wrong ?? well;
    const status = wrong ? "True" : "False";
    const old = before.find((condition) => condition.type === type);
    const lastTransitionTime = old?.status === status ? old.lastTransitionTime : timeOf(now);
    return { type, status, lastTransitionTime, reason, message };
  });
  return [...before.filter(({ type }) => !aspects.some((aspect) => aspect.type === type)), ...ours];
}
