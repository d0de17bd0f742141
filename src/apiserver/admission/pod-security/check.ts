// What a check of Pod Security is, and the words that checks share.
// Upstream: staging/src/k8s.io/pod-security-admission/policy/checks.go and staging/src/k8s.io/pod-security-admission/policy/helpers.go.
import type { Container } from "#api/core/v1/container.ts";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";
import type { ObjectMeta } from "#schema/object-meta.ts";
import { containersOf } from "../pod-containers.ts";
import type { Level } from "./policy.ts";

/** A pod, or what pods are made of. */
export interface PodToCheck {
  readonly metadata: Pick<ObjectMeta, "annotations">;
  readonly spec: PodSpec;
}

export interface Violation {
  readonly reason: string;
  readonly detail: string;
}

export interface PodSecurityCheck {
  readonly id: string;
  readonly level: Exclude<Level, "privileged">;
  /** How it was done from which minor version on. */
  readonly since: Readonly<Record<number, (pod: PodToCheck) => Violation | undefined>>;
  /** Checks of the baseline that this stricter one replaces. */
  readonly replaces?: string;
}

export const quoted = (items: Iterable<string>): string => [...items].map((item) => `"${item}"`).join(", ");
export const plural = (count: number, one: string, many: string = `${one}s`): string => (count === 1 ? one : many);

/** `container "a"`, `containers "a", "b"`. */
export const containersText = (names: readonly string[]): string =>
  `${plural(names.length, "container")} ${quoted(names)}`;

/** `pod and containers "a", "b"`. */
export const settersText = (pod: boolean, containers: readonly string[]): string =>
  [...(pod ? ["pod"] : []), ...(containers.length > 0 ? [containersText(containers)] : [])].join(" and ");

/** All containers of a pod; the check of one is the check of all. */
export const containers = ({ spec }: PodToCheck): readonly Container[] =>
  Array.from(containersOf(spec), ({ container }) => container);

export const namesWhere = (pod: PodToCheck, is: (container: Container) => boolean): readonly string[] =>
  containers(pod)
    .filter(is)
    .map(({ name }) => name);

export const sortedSet = (items: Iterable<string>): readonly string[] => [...new Set(items)].sort();

/** A pod for Windows, where these rules mean nothing. */
export const unlessWindows =
  (check: PodSecurityCheck["since"][number]): PodSecurityCheck["since"][number] =>
  (pod) =>
    pod.spec.os?.name === "windows" ? undefined : check(pod);

/** Root of a user namespace of its own is nobody on the node. */
export const unlessOwnUsers =
  (check: PodSecurityCheck["since"][number]): PodSecurityCheck["since"][number] =>
  (pod) =>
    pod.spec.hostUsers === false ? undefined : check(pod);
