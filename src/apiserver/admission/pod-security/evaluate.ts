// Judges a pod at a level, by the rules of a version.
// Upstream: staging/src/k8s.io/pod-security-admission/policy/registry.go and staging/src/k8s.io/pod-security-admission/policy/checks.go.
import { baselineChecks } from "./baseline.ts";
import type { PodSecurityCheck, PodToCheck, Violation } from "./check.ts";
import type { LevelVersion } from "./policy.ts";
import { restrictedChecks } from "./restricted.ts";

/** The version from which the rules have not changed any more. */
const newest = Math.max(
  ...[...baselineChecks, ...restrictedChecks].flatMap(({ since }) => Object.keys(since).map(Number)),
);

export function violations({ level, minor }: LevelVersion, pod: PodToCheck): readonly Violation[] {
  if (level === "privileged") return [];
  const version = minor === "latest" ? newest : Math.min(minor, newest);
  const checks = level === "baseline" ? baselineChecks : restrictedAt(version);
  return checks.map((check) => inVersion(check, version)?.(pod)).filter((found) => found !== undefined);
}

/** Those of the baseline come first, without those that a restricted check of that version replaces. */
function restrictedAt(version: number): readonly PodSecurityCheck[] {
  const own = restrictedChecks.filter((check) => inVersion(check, version));
  const replaced = new Set(own.map(({ replaces }) => replaces));
  return [...baselineChecks.filter(({ id }) => !replaced.has(id)), ...own];
}

function inVersion({ since }: PodSecurityCheck, version: number): PodSecurityCheck["since"][number] | undefined {
  const first = Object.keys(since)
    .map(Number)
    .filter((minor) => minor <= version);
  return first.length === 0 ? undefined : since[Math.max(...first)];
}

export const reasonsText = (found: readonly Violation[]): string => found.map(({ reason }) => reason).join(", ");
export const detailsText = (found: readonly Violation[]): string =>
  found.map(({ reason, detail }) => (detail === "" ? reason : `${reason} (${detail})`)).join(", ");
