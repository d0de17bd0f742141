// Where pods are in the tree of control groups: below the node's own group, so that several nodes of a machine do not meet.
//
//   /knarr/CLUSTER/NODE/kubepods/podUID                        Guaranteed
//   /knarr/CLUSTER/NODE/kubepods/burstable/podUID
//   /knarr/CLUSTER/NODE/kubepods/besteffort/podUID
import type { Pod } from "#api/core/v1/pod.ts";
import { qosClassOf } from "#api/core/v1/qos.ts";

export const qosGroups = { Guaranteed: "", Burstable: "/burstable", BestEffort: "/besteffort" } as const;

/** The group that holds all pods of a node. */
export const podsGroup = (root: string): string => `${root.replace(/\/+$/, "")}/kubepods`;

export const podGroup = (root: string, { metadata, spec }: Pod): string =>
  `${podsGroup(root)}${qosGroups[qosClassOf(spec)]}/pod${metadata.uid}`;

/** The uid of the pod a group is of, by its name. */
export const uidOfGroup = (name: string): string | undefined => /^pod(.+)$/.exec(name)?.[1];
