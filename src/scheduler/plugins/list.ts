// All plugins, in the order in which they are asked, and how much their scores count.
import type { AnyStruct } from "#schema/struct.ts";
import type { PluginContext, SchedulerPlugin } from "../framework.ts";
import {
  DefaultPreemptionArgs,
  DynamicResourcesArgs,
  InterPodAffinityArgs,
  NodeAffinityArgs,
  NodeResourcesBalancedAllocationArgs,
  NodeResourcesFitArgs,
  PodTopologySpreadArgs,
  VolumeBindingArgs,
} from "./args.ts";
import { defaultBinder } from "./default-binder.ts";
import { defaultPreemption } from "./default-preemption.ts";
import { dynamicResources } from "./dynamic-resources.ts";
import { imageLocality } from "./image-locality.ts";
import { interPodAffinity } from "./inter-pod-affinity.ts";
import { nodeAffinity } from "./node-affinity.ts";
import { nodeDeclaredFeatures } from "./node-declared-features.ts";
import { nodeName } from "./node-name.ts";
import { nodePorts } from "./node-ports.ts";
import { nodeResourcesBalancedAllocation } from "./node-resources-balanced-allocation.ts";
import { nodeResourcesFit } from "./node-resources-fit.ts";
import { nodeUnschedulable } from "./node-unschedulable.ts";
import { nodeVolumeLimits } from "./node-volume-limits.ts";
import { podTopologySpread } from "./pod-topology-spread.ts";
import { prioritySort } from "./priority-sort.ts";
import { schedulingGates } from "./scheduling-gates.ts";
import { taintToleration } from "./taint-toleration.ts";
import { volumeBinding } from "./volume-binding.ts";
import { volumeRestrictions } from "./volume-restrictions.ts";
import { volumeZone } from "./volume-zone.ts";

export interface PluginEntry {
  readonly name: string;
  /** How much its scores count unless a profile says otherwise. */
  readonly weight?: number;
  /** Only where a profile enables it. */
  readonly optional?: boolean;
  /** What its settings are. */
  readonly args?: AnyStruct;
  make(args: never, context: PluginContext): SchedulerPlugin;
}

const plain = (plugin: SchedulerPlugin, weight?: number): PluginEntry => ({
  name: plugin.name,
  ...(weight !== undefined && { weight }),
  make: () => plugin,
});

export const defaultPlugins: readonly PluginEntry[] = [
  plain(schedulingGates),
  plain(prioritySort),
  plain(nodeUnschedulable),
  plain(nodeName),
  plain(taintToleration, 3),
  { name: "NodeAffinity", weight: 2, args: NodeAffinityArgs, make: nodeAffinity },
  plain(nodePorts),
  { name: "NodeResourcesFit", weight: 1, args: NodeResourcesFitArgs, make: nodeResourcesFit },
  { name: "VolumeRestrictions", make: volumeRestrictions },
  { name: "NodeVolumeLimits", make: nodeVolumeLimits },
  { name: "VolumeBinding", args: VolumeBindingArgs, make: volumeBinding },
  { name: "VolumeZone", make: volumeZone },
  { name: "PodTopologySpread", weight: 2, args: PodTopologySpreadArgs, make: podTopologySpread },
  { name: "InterPodAffinity", weight: 2, args: InterPodAffinityArgs, make: interPodAffinity },
  { name: "DynamicResources", weight: 2, args: DynamicResourcesArgs, make: dynamicResources },
  { name: "DefaultPreemption", args: DefaultPreemptionArgs, make: defaultPreemption },
  {
    name: "NodeResourcesBalancedAllocation",
    weight: 1,
    args: NodeResourcesBalancedAllocationArgs,
    make: nodeResourcesBalancedAllocation,
  },
  plain(imageLocality, 1),
  plain(defaultBinder),
  plain(nodeDeclaredFeatures),
];
