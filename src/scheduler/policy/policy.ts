// Policies: how the scheduler was configured until v1.22, by the names of predicates and priorities. A policy becomes a configuration of
// plugins.
// Upstream: pkg/scheduler/apis/config/legacy_types.go and pkg/scheduler/framework/plugins/legacy_registry.go, of v1.22.
import { formatDuration } from "#base/duration.ts";
import { UsageError } from "#base/errors.ts";
import { bool, type Infer, int32, int64, list, ref, string, struct, typeMeta } from "#schema/index.ts";
import { decodedSettings, readConfiguration, type SchedulerConfiguration } from "../configuration.ts";
import { LegacyExtender } from "../extender-kinds.ts";
import { defaultPredicates, defaultPriorities, predicates, priorities } from "./old-names.ts";

const LabelsPresence = struct("scheduler/v1.LabelsPresence", {
  labels: list(1, "string", "Labels of nodes.").required(),
  presence: bool(2, "Whether nodes must have them, or must not."),
});
const PredicateArgument = struct("scheduler/v1.PredicateArgument", {
  serviceAffinity: ref(
    1,
    struct("scheduler/v1.ServiceAffinity", { labels: list(1, "string", "Labels that nodes must share.").required() }),
    "Pods of one service run on nodes that share the values of labels.",
  ),
  labelsPresence: ref(2, LabelsPresence, "Which labels nodes must have or lack."),
});
const PredicatePolicy = struct("scheduler/v1.PredicatePolicy", {
  name: string(1, "Name of the predicate; any with an argument.").nonEmpty().required(),
  argument: ref(2, PredicateArgument, "What it is to look for."),
});

const RatioArguments = struct("scheduler/v1.RequestedToCapacityRatioArguments", {
  shape: list(
    1,
    struct("scheduler/v1.UtilizationShapePoint", {
      utilization: int32(1, "Percent that is used.").required(),
      score: int32(2, "How good that is, from 0 to 10.").required(),
    }),
    "Points of the function.",
  ),
  resources: list(
    2,
    struct("scheduler/v1.ResourceSpec", {
      name: string(1, "Name of the resource.").required(),
      weight: int64(2, "How much it counts.").default(1),
    }),
    "What is compared.",
  ),
});
const PriorityArgument = struct("scheduler/v1.PriorityArgument", {
  serviceAntiAffinity: ref(
    1,
    struct("scheduler/v1.ServiceAntiAffinity", { label: string(1, "Label of nodes.").required() }),
    "Pods of one service spread over the values of a label.",
  ),
  labelPreference: ref(
    2,
    struct("scheduler/v1.LabelPreference", {
      label: string(1, "Label of nodes.").required(),
      presence: bool(2, "Whether nodes better have it, or lack it."),
    }),
    "Which label nodes better have or lack.",
  ),
  requestedToCapacityRatioArguments: ref(3, RatioArguments, "How good it is when so much is used."),
});
const PriorityPolicy = struct("scheduler/v1.PriorityPolicy", {
  name: string(1, "Name of the priority; any with an argument.").nonEmpty().required(),
  weight: int64(2, "How much its scores count."),
  argument: ref(3, PriorityArgument, "What it is to prefer."),
});

const Policy = struct("scheduler/v1.Policy", {
  ...typeMeta,
  predicates: list(
    1,
    PredicatePolicy,
    "Which nodes will do; the defaults if absent, none but those that must be if empty.",
  ).pointer(),
  priorities: list(2, PriorityPolicy, "Which nodes are better; the defaults if absent, none if empty.").pointer(),
  extenders: list(3, LegacyExtender, "Servers to ask over HTTP."),
  hardPodAffinitySymmetricWeight: int32(4, "How much a pod counts that must be near others."),
  alwaysCheckAllPredicates: bool(5, "Of no effect: the first refusal of a node is enough; `knarr why` has them all."),
});
interface Policy extends Infer<typeof Policy> {}

/** Reads a parsed policy. Throws UsageError that says what is wrong where. */
export function readPolicy(value: unknown, where: string): SchedulerConfiguration {
  const { apiVersion = "v1", kind = "Policy" } =
    typeof value === "object" && value !== null ? ({ ...value } as Record<string, unknown>) : {};
  if (apiVersion !== "v1" || kind !== "Policy")
    throw new UsageError(`${where}: expected kind Policy of v1, found ${String(kind)} of ${String(apiVersion)}`);
  const policy = decodedSettings(Policy, value, where) as Policy;
  const plugins = new PolicyPlugins(where);
  for (const one of policy.predicates ?? defaultPredicates.map((name) => ({ name }))) plugins.require(one);
  for (const one of policy.priorities ?? defaultPriorities) plugins.prefer(one);
  if (policy.hardPodAffinitySymmetricWeight !== undefined)
    plugins.configure("InterPodAffinity", { hardPodAffinityWeight: policy.hardPodAffinitySymmetricWeight });
  const extenders = (policy.extenders ?? []).map(({ httpTimeout, enableHttps, ...rest }) => ({
    ...rest,
    ...(enableHttps && { enableHTTPS: true }),
    ...(httpTimeout !== undefined && { httpTimeout: formatDuration(BigInt(httpTimeout)) }),
  }));
  return readConfiguration({ profiles: [plugins.profile()], extenders }, where);
}

type Predicate = Infer<typeof PredicatePolicy>;
type Priority = Infer<typeof PriorityPolicy>;

/** Gathers the plugins that predicates and priorities stand for. Several may stand for one, whose settings then add up. */
class PolicyPlugins {
  readonly #where: string;
  /** Whatever the policy says, pods keep off nodes that take none, and get the devices that they claim. */
  readonly #filters = new Set(["NodeUnschedulable", "TaintToleration", "DynamicResources"]);
  readonly #weights = new Map<string, number>();
  readonly #settings = new Map<string, Record<string, unknown>>();

  constructor(where: string) {
    this.#where = where;
  }

  require({ name, argument }: Predicate): void {
    if (argument?.labelsPresence) {
      const { labels, presence = false } = argument.labelsPresence;
      this.#filters.add("NodeLabel");
      this.#append("NodeLabel", presence ? "presentLabels" : "absentLabels", labels);
    } else if (argument?.serviceAffinity) {
      this.#filters.add("ServiceAffinity");
      this.#append("ServiceAffinity", "affinityLabels", argument.serviceAffinity.labels);
    } else {
      const plugins = predicates[name];
      if (!plugins) throw new UsageError(`${this.#where}: Predicate type not found for ${JSON.stringify(name)}`);
      for (const plugin of plugins) this.#filters.add(plugin);
    }
  }

  prefer({ name, weight = 0, argument }: Priority): void {
    if (weight <= 0)
      throw new UsageError(
        `${this.#where}: Priority ${name} should have a positive weight applied to it or it has overflown`,
      );
    if (argument?.labelPreference) {
      const { label, presence = false } = argument.labelPreference;
      this.#append("NodeLabel", presence ? "presentLabelsPreference" : "absentLabelsPreference", [label]);
      this.#weigh("NodeLabel", weight);
    } else if (argument?.serviceAntiAffinity) {
      this.#append("ServiceAffinity", "antiAffinityLabelsPreference", [argument.serviceAntiAffinity.label]);
      this.#weigh("ServiceAffinity", weight);
    } else if (argument?.requestedToCapacityRatioArguments) {
      const { shape = [], resources } = argument.requestedToCapacityRatioArguments;
      this.configure("RequestedToCapacityRatio", { shape, ...(resources && { resources }) });
      this.#weigh("RequestedToCapacityRatio", weight);
    } else {
      const plugin = priorities[name];
      if (plugin === undefined)
        throw new UsageError(`${this.#where}: Priority type not found for ${JSON.stringify(name)}`);
      if (plugin !== "") this.#weigh(plugin, weight);
    }
  }

  configure(plugin: string, settings: Readonly<Record<string, unknown>>): void {
    this.#settings.set(plugin, { ...this.#settings.get(plugin), ...settings });
  }

  profile(): object {
    const named = (names: Iterable<string>) => ({ enabled: [...names].map((name) => ({ name })) });
    const reserving = ["VolumeBinding", "DynamicResources"].filter((name) => this.#filters.has(name));
    const always = ["SchedulingGates", "PrioritySort", "NodeDeclaredFeatures", "DefaultPreemption", "DefaultBinder"];
    return {
      schedulerName: "default-scheduler",
      plugins: {
        multiPoint: { disabled: [{ name: "*" }], ...named(always) },
        preEnqueue: named(["DynamicResources"]),
        filter: named(this.#filters),
        score: { enabled: [...this.#weights].map(([name, weight]) => ({ name, weight })) },
        reserve: named(reserving),
        preBind: named(reserving),
      },
      pluginConfig: [...this.#settings].map(([name, args]) => ({ name, args })),
    };
  }

  #weigh(plugin: string, weight: number): void {
    this.#weights.set(plugin, (this.#weights.get(plugin) ?? 0) + weight);
  }

  #append(plugin: string, field: string, values: readonly string[]): void {
    const before = this.#settings.get(plugin)?.[field];
    this.configure(plugin, { [field]: [...(Array.isArray(before) ? before : []), ...values] });
  }
}
