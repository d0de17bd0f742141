// The plugins of one scheduler name, by the step they take part in, in the order in which they are asked.
import type { QueueEntry, SchedulerPlugin } from "./framework.ts";
import type { PodView } from "./pod-view.ts";

/** The steps a plugin can be enabled for, one by one. */
export const extensionPoints = [
  "preEnqueue",
  "queueSort",
  "preFilter",
  "filter",
  "postFilter",
  "preScore",
  "score",
  "reserve",
  "permit",
  "preBind",
  "bind",
  "postBind",
] as const;
export type ExtensionPoint = (typeof extensionPoints)[number];

export interface EnabledPlugin {
  readonly plugin: SchedulerPlugin;
  /** How much its scores count. */
  readonly weight: number;
}

export interface ProfileOptions {
  readonly schedulerName: string;
  /** How many of the nodes must be found feasible before the best is chosen; 0: depends on how many there are. */
  readonly percentageOfNodesToScore: number;
  readonly enabled: Readonly<Record<ExtensionPoint, readonly EnabledPlugin[]>>;
}

/** One plugin's part in a step. Its number tells where its state is. */
export interface PluginStep<F> {
  readonly plugin: SchedulerPlugin;
  readonly number: number;
  readonly weight: number;
  readonly run: F;
}

type Method<P extends ExtensionPoint> = NonNullable<SchedulerPlugin[P]>;

export class Profile {
  readonly schedulerName: string;
  readonly percentageOfNodesToScore: number;
  /** All plugins, by number. */
  readonly plugins: readonly SchedulerPlugin[];
  readonly preEnqueue: readonly PluginStep<Method<"preEnqueue">>[];
  readonly preFilter: readonly PluginStep<Method<"preFilter">>[];
  readonly filter: readonly PluginStep<Method<"filter">>[];
  readonly postFilter: readonly PluginStep<Method<"postFilter">>[];
  readonly preScore: readonly PluginStep<Method<"preScore">>[];
  readonly score: readonly PluginStep<Method<"score">>[];
  readonly reserve: readonly EnabledPlugin[];
  readonly permit: readonly EnabledPlugin[];
  readonly preBind: readonly EnabledPlugin[];
  readonly bind: readonly EnabledPlugin[];
  readonly postBind: readonly EnabledPlugin[];
  /** The name of the plugin that sorts the queue. */
  readonly sortsBy: string;
  readonly compare: (a: QueueEntry, b: QueueEntry) => number;

  constructor({ schedulerName, percentageOfNodesToScore, enabled }: ProfileOptions) {
    this.schedulerName = schedulerName;
    this.percentageOfNodesToScore = percentageOfNodesToScore;
    this.plugins = [...new Set(extensionPoints.flatMap((point) => enabled[point].map(({ plugin }) => plugin)))];
    const steps = <P extends ExtensionPoint>(point: P, from = enabled[point]): PluginStep<Method<P>>[] =>
      onceEach(from).flatMap(({ plugin, weight }) => {
        const method = plugin[point];
        if (method === undefined) return [];
        const run = method.bind(plugin) as Method<P>; // binding keeps the parameters, which its type does not say of a union
        return [{ plugin, weight, number: this.plugins.indexOf(plugin), run }];
      });
    this.preEnqueue = steps("preEnqueue");
    // What a plugin's filter needs it has prepared itself, wherever it was enabled.
    this.preFilter = steps("preFilter", [...enabled.preFilter, ...enabled.filter]);
    this.filter = steps("filter");
    this.postFilter = steps("postFilter");
    this.preScore = steps("preScore", [...enabled.preScore, ...enabled.score]);
    this.score = steps("score");
    this.reserve = enabled.reserve;
    this.permit = enabled.permit;
    this.preBind = enabled.preBind;
    this.bind = enabled.bind;
    this.postBind = enabled.postBind;
    const [sort] = enabled.queueSort;
    this.sortsBy = sort?.plugin.name ?? "";
    this.compare = (a, b) => sort?.plugin.queueSort?.(a, b) ?? a.since - b.since;
  }

  numberOf(plugin: SchedulerPlugin): number {
    return this.plugins.indexOf(plugin);
  }

  /** The plugin that keeps a pod from being tried at all. */
  gateOf(pod: PodView): SchedulerPlugin | undefined {
    return this.preEnqueue.find(({ run }) => run(pod) !== undefined)?.plugin;
  }
}

const onceEach = (enabled: readonly EnabledPlugin[]): readonly EnabledPlugin[] =>
  enabled.filter(({ plugin }, i) => enabled.findIndex((other) => other.plugin === plugin) === i);
