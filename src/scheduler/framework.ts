// What a plugin of the scheduler is: a name, and whichever of the steps below it has something to say about.
//
//   preEnqueue   may the pod be tried at all?            gates
//   queueSort    which pod is tried first?
//   preFilter    once per pod: what filter will need
//   filter       can the pod run on this node?
//   postFilter   no node will do: can one be made to?    preemption
//   preScore     once per pod: what score will need
//   score        how good is this node? 0 to 100 once normalized
//   reserve      the node is chosen: note it, or refuse; unreserve takes it back
//   permit       may the pod be bound now? May take its time
//   preBind      what must be done first
//   bind         tell the API server
//   postBind     what remains to be done
//
// All steps up to reserve are of one moment: they neither wait nor change anything but the plugin's own state.
import type { Node } from "#api/core/v1/node.ts";
import type { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import type { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import type { DeviceClass } from "#api/resource/v1/device-class.ts";
import type { ResourceClaim } from "#api/resource/v1/resource-claim.ts";
import type { ResourceSlice } from "#api/resource/v1/resource-slice.ts";
import type { CSIDriver } from "#api/storage/v1/csi-driver.ts";
import type { CSINode } from "#api/storage/v1/csi-node.ts";
import type { CSIStorageCapacity } from "#api/storage/v1/csi-storage-capacity.ts";
import type { StorageClass } from "#api/storage/v1/storage-class.ts";
import type { VolumeAttachment } from "#api/storage/v1/volume-attachment.ts";
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { Random } from "#base/random.ts";
import type { Client } from "#client/client.ts";
import type { CacheView, EventType } from "#client/controller.ts";
import type { Metrics } from "#client/metrics.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { Attempt } from "./attempt.ts";
import type { NodeState } from "./node-state.ts";
import type { Candidate } from "./plugins/victims.ts";
import type { PodView } from "./pod-view.ts";
import type { Snapshot } from "./snapshot.ts";

/** Why a node, or the whole cluster, will not do. */
export interface Refusal {
  readonly reason: string;
  /** More reasons, where there are several. */
  readonly also?: readonly string[];
  /** Whether taking pods away from the node would not help. */
  readonly stuck: boolean;
}

/** What a plugin has found out about the pod, to be given to its later steps. */
export interface PreFilterState<S> {
  readonly state: S;
  /** The nodes that come into question, where the plugin can tell without looking at each. */
  readonly only?: ReadonlySet<string>;
  /** Whether the filter is certain to refuse a node, if that is known sooner than by the filter. Such nodes are judged only where no other
   * will do, so that it can be said why. */
  readonly isHopeless?: (node: NodeState) => boolean;
}

/** A node was found that may take the pod once room is made, or why none was. */
export interface PostFiltered {
  /** The node to nominate; empty to take back an earlier nomination, undefined to leave it. */
  readonly nominate?: string | undefined;
  readonly message: string;
}

export interface SchedulerPlugin<F = unknown, S = unknown> {
  readonly name: string;
  /** Changes that may make acceptable what this plugin has refused. */
  readonly wakes?: readonly Wake[];
  /** Kinds it reads from the cache, besides pods and nodes. */
  readonly reads?: readonly AnyKind[];

  preEnqueue?(pod: PodView): Refusal | undefined;
  /** Negative if `a` is to be tried before `b`. */
  queueSort?(a: QueueEntry, b: QueueEntry): number;
  /** Undefined if the plugin has nothing to do with the pod: its filter is then not asked. */
  preFilter?(pod: PodView, snapshot: Snapshot): PreFilterState<F> | Refusal | (Refusal & PreFilterState<F>) | undefined;
  filter?(pod: PodView, node: NodeState, state: F): Refusal | undefined;
  /** How the state of filter follows when another pod is put on a node or taken away, to try out what would be. */
  readonly whatIf?: WhatIf<F>;
  /** May take its time only where extenders are asked. */
  postFilter?(pod: PodView, attempt: Attempt): PostFiltered | Promise<PostFiltered>;
  /** Undefined if the plugin has no preference: all nodes then get 0 from it. */
  preScore?(pod: PodView, nodes: readonly NodeState[], snapshot: Snapshot): PreFilterState<S> | undefined;
  score?(pod: PodView, node: NodeState, state: S): number;
  /** Brings the scores of `nodes` into the range from 0 to 100, in place. */
  normalize?(scores: Float64Array, nodes: readonly NodeState[], state: S): void;
  reserve?(pod: PodView, node: NodeState, state: F): Refusal | undefined;
  unreserve?(pod: PodView, node: NodeState, state: F): void;
  permit?(pod: PodView, node: NodeState, binding: BindingContext): Promise<Refusal | undefined> | Refusal | undefined;
  preBind?(pod: PodView, node: NodeState, binding: BindingContext, state: F): Promise<void>;
  /** Whether it has bound the pod; if not, the next plugin is called. */
  bind?(pod: PodView, node: NodeState, binding: BindingContext): Promise<boolean>;
  postBind?(pod: PodView, node: NodeState, state: F): void;
}

/** Checks a plugin's types. A list of plugins need not know what they keep for themselves. */
export const schedulerPlugin = <F, S>(plugin: SchedulerPlugin<F, S>): SchedulerPlugin => plugin;

export interface WhatIf<F> {
  copy(state: F): F;
  add(state: F, other: PodView, node: NodeState, pod: PodView): void;
  remove(state: F, other: PodView, node: NodeState, pod: PodView): void;
}

/** A pod in the queue. */
export interface QueueEntry {
  readonly view: PodView;
  /** When it came into the queue, in milliseconds of the clock. */
  readonly since: number;
}

/** What plugins are made with. */
export interface PluginContext {
  readonly snapshot: Snapshot;
  readonly cache: CacheView;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Does something through the API because of a pod, beside the cycles. Failures are logged. */
  act(pod: PodView, what: string, work: (binding: BindingContext) => Promise<void>): void;
  /** Forgets that room was made on a node for a pod, and tries it again. */
  unnominate(pod: PodView): void;
  /** Tries a pod again that waits. */
  retry(pod: PodView): void;
  /** Which candidates extenders agree to; undefined if none is to be asked. */
  extendPreemption?(pod: PodView, candidates: readonly Candidate[]): Promise<readonly Candidate[]> | undefined;
  /** Pods for which room was made on a node. */
  nominated(node: string): readonly PodView[];
}

/** The context of asynchronous steps: writes of the client name the pod as their cause, and abort with the scheduler. */
export interface BindingContext {
  readonly client: Client;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  event(type: EventType, reason: string, message: string, about?: object): void;
}

export interface WatchedObjects {
  readonly Pod: PodView;
  readonly Node: Node;
  readonly PersistentVolume: PersistentVolume;
  readonly PersistentVolumeClaim: PersistentVolumeClaim;
  readonly StorageClass: StorageClass;
  readonly CSINode: CSINode;
  readonly CSIDriver: CSIDriver;
  readonly CSIStorageCapacity: CSIStorageCapacity;
  readonly VolumeAttachment: VolumeAttachment;
  readonly ResourceClaim: ResourceClaim;
  readonly ResourceSlice: ResourceSlice;
  readonly DeviceClass: DeviceClass;
}
export type WatchedKind = keyof WatchedObjects;

/** What happened to an object. An update of one part is also an update. */
export type ChangeType = "add" | "update" | "delete" | ChangedPart;
export type ChangedPart =
  | "allocatable"
  | "annotations"
  | "claims"
  | "conditions"
  | "features"
  | "gates"
  | "labels"
  | "scaleDown"
  | "taints"
  | "tolerations";

export interface ObjectChange<O> {
  /** Absent if the object is new. */
  readonly old: O | undefined;
  /** Absent if the object is gone. */
  readonly now: O | undefined;
}

interface WakeBy<K extends WatchedKind> {
  readonly kind: K;
  readonly on: readonly ChangeType[];
  /** Whether the change may help the pod; it may by default. Asked after the snapshot knows of the change. */
  cures?(pod: PodView, change: ObjectChange<WatchedObjects[K]>, snapshot: Snapshot): boolean;
}
export type Wake = { [K in WatchedKind]: WakeBy<K> }[WatchedKind];

export type WatchedChange = {
  [K in WatchedKind]: ObjectChange<WatchedObjects[K]> & { readonly kind: K; readonly happened: readonly ChangeType[] };
}[WatchedKind];
