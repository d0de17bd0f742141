// What the labels of a namespace would mean for the pods that are already in it.
// Upstream: staging/src/k8s.io/pod-security-admission/admission/admission.go.
import type { Pod } from "#api/core/v1/pod.ts";
import { breathe } from "#base/breathe.ts";
import type { Clock } from "#base/clock.ts";
import { reasonsText, violations } from "./evaluate.ts";
import {
  allowsEverything,
  areEquivalent,
  formatLevel,
  type LevelVersion,
  levelLabel,
  modes,
  type Policy,
  versionLabel,
} from "./policy.ts";

const mostPods = 3000;
const mostMs = 1000;

export async function namespaceWarnings(
  namespace: string,
  enforce: LevelVersion,
  pods: readonly Pod[],
  clock: Clock,
): Promise<readonly string[]> {
  const ordered = differentFirst(pods);
  const until = clock.elapsed() + mostMs;
  const pause = breathe();
  const byReason = new Map<string, string[]>();
  let checked = 0;
  for (const pod of ordered.slice(0, mostPods)) {
    const reasons = reasonsText(violations(enforce, pod));
    if (reasons !== "") byReason.set(reasons, [...(byReason.get(reasons) ?? []), pod.metadata.name]);
    checked++;
    if (clock.elapsed() > until) break;
    if (pause.due()) await pause.now();
  }
  const found = [...byReason].map(([reasons, names]) => `${podsText(names)}: ${reasons}`).sort();
  return [
    ...(checked < ordered.length
      ? [`new PodSecurity enforce level only checked against the first ${checked} of ${ordered.length} existing pods`]
      : []),
    ...(found.length > 0
      ? [
          `existing pods in namespace ${JSON.stringify(namespace)} violate the new PodSecurity enforce level ${JSON.stringify(formatLevel(enforce))}`,
        ]
      : []),
    ...found,
  ];
}

/** Pods of one controller are alike: one of each comes first, the others only if there is time. */
function differentFirst(pods: readonly Pod[]): readonly Pod[] {
  const seen = new Set<string>();
  const first: Pod[] = [];
  const others: Pod[] = [];
  for (const pod of pods) {
    const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller)?.uid;
    (owner !== undefined && seen.has(owner) ? others : first).push(pod);
    if (owner !== undefined) seen.add(owner);
  }
  return [...first, ...others];
}

function podsText(names: readonly string[]): string {
  const [first] = names.toSorted();
  const others = names.length - 1;
  if (others === 0) return `${first}`;
  return `${first} (and ${others} other ${others === 1 ? "pod" : "pods"})`;
}

/** Tells that labels have no effect on a namespace that is exempt. */
export function exemptionWarning(
  namespace: string,
  policy: Policy,
  defaults: Policy,
  labels: Readonly<Record<string, string>>,
): string | undefined {
  if (allowsEverything(policy) || areEquivalent(policy, defaults)) return undefined;
  const asked = modes
    .filter(
      (mode) =>
        policy[mode].level !== "privileged" &&
        (labels[levelLabel(mode)] !== undefined || labels[versionLabel(mode)] !== undefined),
    )
    .map((mode) => `${mode}=${formatLevel(policy[mode])}`);
  return `namespace ${JSON.stringify(namespace)} is exempt from Pod Security, and the policy (${asked.join(", ")}) will be ignored`;
}
