// Levels and versions of Pod Security, and how a namespace asks for them with labels.
// Upstream: staging/src/k8s.io/pod-security-admission/api/helpers.go.
import { invalid, type Problem } from "#schema/problem.ts";

export type Level = "privileged" | "baseline" | "restricted";
const levels: readonly Level[] = ["privileged", "baseline", "restricted"];

/** The rules of a level as they were in Kubernetes 1.`minor`; the newest for "latest". */
export interface LevelVersion {
  readonly level: Level;
  readonly minor: number | "latest";
}

/** What is refused, what is noted for auditors, and what clients are warned of. */
export interface Policy {
  readonly enforce: LevelVersion;
  readonly audit: LevelVersion;
  readonly warn: LevelVersion;
}

const labelPrefix = "pod-security.kubernetes.io/";
export const modes = ["enforce", "audit", "warn"] as const;
export const levelLabel = (mode: keyof Policy): string => labelPrefix + mode;
export const versionLabel = (mode: keyof Policy): string => `${labelPrefix}${mode}-version`;

export const formatLevel = ({ level, minor }: LevelVersion): string =>
  `${level}:${minor === "latest" ? minor : `v1.${minor}`}`;

export const isSame = (a: LevelVersion, b: LevelVersion): boolean => a.level === b.level && a.minor === b.minor;
const isEquivalent = (a: LevelVersion, b: LevelVersion): boolean =>
  isSame(a, b) || (a.level === "privileged" && b.level === "privileged");

export const areEquivalent = (a: Policy, b: Policy): boolean => modes.every((mode) => isEquivalent(a[mode], b[mode]));

export const allowsEverything = (policy: Policy): boolean => modes.every((mode) => policy[mode].level === "privileged");

/** Negative if `a` allows more than `b`. */
export const compareLevels = (a: Level, b: Level): number => levels.indexOf(a) - levels.indexOf(b);

export const parseLevel = (text: string): Level | undefined => levels.find((level) => level === text);
export const levelProblem = `must be one of ${levels.join(", ")}`;

export function parseVersion(text: string): number | "latest" | undefined {
  if (text === "latest") return text;
  const minor = /^v1\.(\d|[1-9]\d*)$/.exec(text)?.[1];
  return minor === undefined ? undefined : Number(minor);
}
export const versionProblem = 'must be "latest" or "v1.x"';

export interface LabelledPolicy {
  readonly policy: Policy;
  readonly problems: readonly Problem[];
}

/**
 * The policy that labels of a namespace ask for. A level that cannot be read enforces the strictest, and warns of and notes nothing;
 * a version that cannot be read is the latest. Who enforces a level without a word on warnings is warned at that level, too.
 */
export function policyOf(labels: Readonly<Record<string, string>> | undefined, defaults: Policy): LabelledPolicy {
  if (!labels) return { policy: defaults, problems: [] };
  const problems: Problem[] = [];
  const asked = (mode: keyof Policy): LevelVersion => {
    const level = labels[levelLabel(mode)];
    const version = labels[versionLabel(mode)];
    const known = level === undefined ? defaults[mode].level : parseLevel(level);
    if (known === undefined) problems.push(invalid(`metadata.labels[${levelLabel(mode)}]`, levelProblem, level));
    const minor = version === undefined ? defaults[mode].minor : parseVersion(version);
    if (minor === undefined) problems.push(invalid(`metadata.labels[${versionLabel(mode)}]`, versionProblem, version));
    return { level: known ?? (mode === "enforce" ? "restricted" : "privileged"), minor: minor ?? "latest" };
  };
  const enforce = asked("enforce");
  const audit = asked("audit");
  const warn = asked("warn");
  const follows =
    labels[levelLabel("warn")] === undefined &&
    parseLevel(labels[levelLabel("enforce")] ?? "") !== undefined &&
    compareLevels(enforce.level, warn.level) > 0;
  if (!follows) return { policy: { enforce, audit, warn }, problems };
  const minor = labels[versionLabel("warn")] === undefined ? enforce.minor : warn.minor;
  return { policy: { enforce, audit, warn: { level: enforce.level, minor } }, problems };
}
