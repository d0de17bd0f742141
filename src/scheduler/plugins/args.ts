// Settings of plugins: `pluginConfig[].args` of a profile.
// Upstream: pkg/scheduler/apis/config/types_pluginargs.go and pkg/scheduler/apis/config/validation/validation_pluginargs.go.
import { NodeAffinity, TopologySpreadConstraint } from "#api/core/v1/affinity.ts";
import { qualifiedName } from "#schema/formats.ts";
import {
  bool,
  duplicate,
  duration,
  forbidden,
  int32,
  int64,
  invalid,
  list,
  type Problem,
  ref,
  required,
  string,
  struct,
  typeMeta,
} from "#schema/index.ts";

const ResourceSpec = struct("kubescheduler.config/v1.ResourceSpec", {
  name: string(1, "Name of the resource.").required(),
  weight: int64(2, "How much it counts.").default(1),
});

const UtilizationShapePoint = struct("kubescheduler.config/v1.UtilizationShapePoint", {
  utilization: int32(1, "Percent that is used.").required(),
  score: int32(2, "How good that is, from 0 to 10.").required(),
});

const RequestedToCapacityRatioParam = struct(
  "kubescheduler.config/v1.RequestedToCapacityRatioParam",
  { shape: list(1, UtilizationShapePoint, "Points of the function.") },
  {
    *check({ shape = [] }) {
      if (shape.length === 0) yield required("shape", "at least one point must be specified");
      for (const [i, { utilization, score }] of shape.entries()) {
        const before = shape[i - 1];
        const at = `shape[${i}]`;
        if (before && before.utilization >= utilization)
          yield invalid(`${at}.utilization`, "values must be sorted in increasing order");
        if (utilization < 0 || utilization > 100) yield invalid(`${at}.utilization`, "not in valid range [0, 100]");
        if (score < 0 || score > 10) yield invalid(`${at}.score`, "not in valid range [0, 10]");
      }
    },
  },
);

const ScoringStrategy = struct(
  "kubescheduler.config/v1.ScoringStrategy",
  {
    type: string(1, "How nodes are compared.")
      .oneOf("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
      .default("LeastAllocated"),
    resources: list(2, ResourceSpec, "What is compared; cpu and memory when left out."),
    requestedToCapacityRatio: ref(3, RequestedToCapacityRatioParam, "The function of RequestedToCapacityRatio."),
  },
  {
    *check({ type, resources = [], requestedToCapacityRatio }) {
      for (const [i, { name, weight }] of resources.entries())
        if (weight <= 0 || weight > 100)
          yield invalid(`resources[${i}].weight`, `resource weight of ${name} not in valid range (0, 100]`);
      const isRatio = type === "RequestedToCapacityRatio";
      if (isRatio && !requestedToCapacityRatio)
        yield required("requestedToCapacityRatio", "must be specified when type is RequestedToCapacityRatio");
      if (!isRatio && requestedToCapacityRatio)
        yield forbidden("requestedToCapacityRatio", "must be nil when type is not RequestedToCapacityRatio");
    },
  },
);

export const NodeResourcesFitArgs = struct(
  "kubescheduler.config/v1.NodeResourcesFitArgs",
  {
    ...typeMeta,
    ignoredResources: list(1, "string", "Resources that someone else looks after."),
    ignoredResourceGroups: list(2, "string", "The same by the part of the name before the slash."),
    scoringStrategy: ref(3, ScoringStrategy, "How nodes are compared.").default({}),
  },
  {
    *check({ ignoredResources = [], ignoredResourceGroups = [] }): Iterable<Problem> {
      for (const [i, name] of ignoredResources.entries())
        for (const problem of qualifiedName(name)) yield invalid(`ignoredResources[${i}]`, problem);
      for (const [i, name] of ignoredResourceGroups.entries()) {
        if (name.includes("/")) yield invalid(`ignoredResourceGroups[${i}]`, "resource group name can't contain '/'");
        else for (const problem of qualifiedName(name)) yield invalid(`ignoredResourceGroups[${i}]`, problem);
      }
    },
  },
);

export const NodeResourcesBalancedAllocationArgs = struct(
  "kubescheduler.config/v1.NodeResourcesBalancedAllocationArgs",
  { ...typeMeta, resources: list(1, ResourceSpec, "What is compared; cpu and memory when left out.") },
  {
    *check({ resources = [] }): Iterable<Problem> {
      for (const [i, { name, weight }] of resources.entries()) {
        if (resources.findIndex((other) => other.name === name) < i) yield duplicate(`resources[${i}].name`);
        if (weight !== 1) yield invalid(`resources[${i}].weight`, "must be 1");
      }
    },
  },
);

export const InterPodAffinityArgs = struct(
  "kubescheduler.config/v1.InterPodAffinityArgs",
  {
    ...typeMeta,
    hardPodAffinityWeight: int32(1, "How much a pod counts that must be near others.").pointer().default(1),
    ignorePreferredTermsOfExistingPods: bool(2, "Whether wishes of other pods do not matter to pods without any."),
  },
  {
    *check({ hardPodAffinityWeight: weight }): Iterable<Problem> {
      if (weight < 0 || weight > 100) yield invalid("hardPodAffinityWeight", "not in valid range [0, 100]");
    },
  },
);

export const NodeAffinityArgs = struct("kubescheduler.config/v1.NodeAffinityArgs", {
  ...typeMeta,
  addedAffinity: ref(1, NodeAffinity, "Holds for all pods of the profile, besides their own."),
});

export const PodTopologySpreadArgs = struct(
  "kubescheduler.config/v1.PodTopologySpreadArgs",
  {
    ...typeMeta,
    defaultConstraints: list(1, TopologySpreadConstraint, "Constraints of pods that have none."),
    defaultingType: string(2, "Whether these are the system's or those of defaultConstraints.")
      .oneOf("List", "System")
      .default("System"),
  },
  {
    *check({ defaultConstraints = [], defaultingType }): Iterable<Problem> {
      if (defaultingType === "System" && defaultConstraints.length > 0)
        yield invalid("defaultingType", "when .defaultConstraints are not empty");
      for (const [i, { topologyKey, whenUnsatisfiable, labelSelector }] of defaultConstraints.entries()) {
        if (labelSelector)
          yield forbidden(
            `defaultConstraints[${i}].labelSelector`,
            "constraint must not define a selector, as they deduced for each pod",
          );
        const first = defaultConstraints.findIndex(
          (other) => other.topologyKey === topologyKey && other.whenUnsatisfiable === whenUnsatisfiable,
        );
        if (first < i) yield duplicate(`defaultConstraints[${i}]`, `{${topologyKey}, ${whenUnsatisfiable}}`);
      }
    },
  },
);

export const VolumeBindingArgs = struct(
  "kubescheduler.config/v1.VolumeBindingArgs",
  { ...typeMeta, bindTimeoutSeconds: int64(1, "How long a pod waits for its volumes.").pointer().default(600) },
  {
    *check({ bindTimeoutSeconds }): Iterable<Problem> {
      if (bindTimeoutSeconds < 0)
        yield invalid("bindTimeoutSeconds", "invalid BindTimeoutSeconds, should not be a negative value");
    },
  },
);

export const DynamicResourcesArgs = struct("kubescheduler.config/v1.DynamicResourcesArgs", {
  ...typeMeta,
  filterTimeout: duration(1, "Of no effect: how much a search for devices tries is bounded, not how long.").default(
    "10s",
  ),
  bindingTimeout: duration(2, "How long a pod waits until its devices are ready.").default("600s"),
});

export const DefaultPreemptionArgs = struct(
  "kubescheduler.config/v1.DefaultPreemptionArgs",
  {
    ...typeMeta,
    minCandidateNodesPercentage: int32(1, "How many of the nodes are tried, in percent.").pointer().default(10),
    minCandidateNodesAbsolute: int32(2, "How many are tried at least.").pointer().default(100),
  },
  {
    *check({ minCandidateNodesPercentage: percentage, minCandidateNodesAbsolute: absolute }): Iterable<Problem> {
      if (percentage < 0 || percentage > 100)
        yield invalid("minCandidateNodesPercentage", "not in valid range [0, 100]");
      if (absolute < 0) yield invalid("minCandidateNodesAbsolute", "not in valid range [0, inf)");
      if (percentage !== 0 || absolute !== 0) return;
      yield invalid("minCandidateNodesPercentage", "cannot be zero at the same time as minCandidateNodesAbsolute");
      yield invalid("minCandidateNodesAbsolute", "cannot be zero at the same time as minCandidateNodesPercentage");
    },
  },
);
