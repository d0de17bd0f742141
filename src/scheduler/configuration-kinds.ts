// KubeSchedulerConfiguration, kubescheduler.config.k8s.io/v1: as people write it.
import {
  bool,
  duplicate,
  type Infer,
  int32,
  int64,
  invalid,
  json,
  list,
  type Problem,
  rawExtension,
  ref,
  string,
  struct,
  typeMeta,
} from "#schema/index.ts";
import { checkExtenders, Extender } from "./extender-kinds.ts";

export const configurationVersion = "kubescheduler.config.k8s.io/v1";

const Plugin = struct("kubescheduler.config/v1.Plugin", {
  name: string(1, "Name of the plugin; `*` stands for all where plugins are disabled.").nonEmpty().required(),
  weight: int32(2, "How much its scores count.").min(0),
});

const PluginSet = struct("kubescheduler.config/v1.PluginSet", {
  enabled: list(1, Plugin, "Plugins besides those of the defaults, or in place of them."),
  disabled: list(2, Plugin, "Plugins of the defaults that are not wanted."),
});
export interface PluginSet extends Infer<typeof PluginSet> {}

const Plugins = struct("kubescheduler.config/v1.Plugins", {
  preEnqueue: ref(1, PluginSet, "May the pod be tried at all?"),
  queueSort: ref(2, PluginSet, "Which pod is tried first?"),
  preFilter: ref(3, PluginSet, "Once per pod, before filter."),
  filter: ref(4, PluginSet, "Can the pod run on the node?"),
  postFilter: ref(5, PluginSet, "Can a node be made to do?"),
  preScore: ref(6, PluginSet, "Once per pod, before score."),
  score: ref(7, PluginSet, "How good is the node?"),
  reserve: ref(8, PluginSet, "The node is chosen."),
  permit: ref(9, PluginSet, "May the pod be bound now?"),
  preBind: ref(10, PluginSet, "Before binding."),
  bind: ref(11, PluginSet, "Tells the API server."),
  postBind: ref(12, PluginSet, "After binding."),
  multiPoint: ref(13, PluginSet, "For all steps a plugin takes part in."),
});

const PluginConfig = struct("kubescheduler.config/v1.PluginConfig", {
  name: string(1, "Name of the plugin.").nonEmpty().required(),
  args: rawExtension(2, "Its settings."),
});

const percentOfNodes = (number: number) =>
  int32(
    number,
    "Of how many nodes, in percent, it must be known that they will do before the best is chosen.",
  ).pointer();

function* checkPercent(percentage: number | undefined): Iterable<Problem> {
  if (percentage !== undefined && (percentage < 0 || percentage > 100))
    yield invalid("percentageOfNodesToScore", "not in valid range [0-100]");
}

const KubeSchedulerProfile = struct(
  "kubescheduler.config/v1.KubeSchedulerProfile",
  {
    schedulerName: string(1, "Pods that ask for this scheduler are scheduled by this profile.")
      .pointer()
      .nonEmpty()
      .default("default-scheduler"),
    percentageOfNodesToScore: percentOfNodes(2),
    plugins: ref(3, Plugins, "What is different from the defaults."),
    pluginConfig: list(4, PluginConfig, "Settings of plugins."),
  },
  {
    *check({ percentageOfNodesToScore, pluginConfig = [] }) {
      yield* checkPercent(percentageOfNodesToScore);
      for (const [i, { name }] of pluginConfig.entries())
        if (pluginConfig.findIndex((other) => other.name === name) < i) yield duplicate(`pluginConfig[${i}]`, name);
    },
  },
);
export interface KubeSchedulerProfile extends Infer<typeof KubeSchedulerProfile> {}

export const KubeSchedulerConfiguration = struct(
  "kubescheduler.config/v1.KubeSchedulerConfiguration",
  {
    ...typeMeta,
    parallelism: int32(1, "Of no effect here: one core does it.").pointer().default(16),
    leaderElection: json(2, "Whether only one of several instances schedules; read by who starts this."),
    clientConnection: json(3, "How to reach the API server; read by who starts this."),
    enableProfiling: bool(4, "Read by who starts this.").pointer(),
    enableContentionProfiling: bool(5, "Read by who starts this.").pointer(),
    percentageOfNodesToScore: percentOfNodes(6),
    podInitialBackoffSeconds: int64(7, "How long a pod waits after it was refused first.").pointer().default(1),
    podMaxBackoffSeconds: int64(8, "How long it waits at most.").pointer().default(10),
    profiles: list(9, KubeSchedulerProfile, "Ways to schedule, by scheduler name."),
    extenders: list(10, Extender, "Servers to ask over HTTP besides the plugins."),
    delayCacheUntilActive: bool(11, "Of no effect here."),
  },
  {
    *check(configuration): Iterable<Problem> {
      const { parallelism, podInitialBackoffSeconds: first, podMaxBackoffSeconds: most, profiles = [] } = configuration;
      if (parallelism <= 0) yield invalid("parallelism", "should be an integer value greater than zero");
      yield* checkPercent(configuration.percentageOfNodesToScore);
      if (first <= 0) yield invalid("podInitialBackoffSeconds", "must be greater than 0");
      if (most < first)
        yield invalid("podMaxBackoffSeconds", "must be greater than or equal to PodInitialBackoffSeconds");
      for (const [i, { schedulerName }] of profiles.entries())
        if (profiles.findIndex((other) => other.schedulerName === schedulerName) < i)
          yield duplicate(`profiles[${i}].schedulerName`, schedulerName);
      yield* checkExtenders(configuration.extenders ?? []);
    },
  },
);
export interface KubeSchedulerConfiguration extends Infer<typeof KubeSchedulerConfiguration> {}
