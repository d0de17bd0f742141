import type { ContainerStatus } from "#api/core/v1/container-status.ts";
import type { Event } from "#api/core/v1/event.ts";
import type { Node } from "#api/core/v1/node.ts";
import type { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { conditionIn } from "#rules/conditions.ts";
import type { Reason } from "./reason.ts";

/** All that is known about a pod's situation. */
export interface PodFacts {
  readonly pod: Pod;
  /** About the pod, oldest first. */
  readonly events: readonly Event[];
  /** The node it is bound to: gone if that does not exist, unread if it has none, or if the user may not read nodes. */
  readonly node: Node | "gone" | "unread";
  /** All nodes, for a pod that has none yet; none if the user may not read them. */
  readonly nodes: readonly Node[];
  /** The claims it mounts: undefined for one that does not exist. */
  readonly claims: ReadonlyMap<string, PersistentVolumeClaim | undefined>;
  /** What each plugin of the scheduler said of each node at the last attempt, where that is known. */
  readonly verdicts: readonly PodVerdict[];
  /** The last lines a container wrote before it ended, by container, where they were read. */
  readonly lastLines: ReadonlyMap<string, readonly string[]>;
  /** Who asked for the pod's deletion, where that is remembered. */
  readonly deletedBy: string | undefined;
  /** In milliseconds since 1970. */
  readonly now: number;
}

export interface PodVerdict {
  readonly node: string;
  readonly plugin: string;
  readonly reason: string;
}

/** One way in which a pod can be: undefined if it is not this one. */
export type PodRule = (facts: PodFacts) => Reason | undefined;

export const podCondition = ({ status }: Pod, type: string) => conditionIn(status.conditions, type);

/** Init containers first, as they run. */
export const containersOf = ({ status }: Pod): readonly ContainerStatus[] => [
  ...(status.initContainerStatuses ?? []),
  ...(status.containerStatuses ?? []),
];

/** `pod web` as commands take it, with the namespace where it is not the usual one. */
export const podArgument = ({ metadata }: Pod): string =>
  `${metadata.name}${metadata.namespace && metadata.namespace !== "default" ? ` -n ${metadata.namespace}` : ""}`;
