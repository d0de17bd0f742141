// What a scheduler decides with: the profiles with their plugins, and what they and the queue know of the cluster.
import { Namespace } from "#api/core/v1/namespace.ts";
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { Random } from "#base/random.ts";
import type { Client } from "#client/client.ts";
import { cacheView } from "#client/controller.ts";
import type { Informers } from "#client/informers.ts";
import { type Metrics, noMetrics } from "#client/metrics.ts";
import type { AnyKind } from "#schema/kind.ts";
import { makeProfiles, readConfiguration, type SchedulerConfiguration } from "./configuration.ts";
import { Cycle } from "./cycle.ts";
import { type ExtenderCall, Extenders } from "./extenders.ts";
import type { PluginContext } from "./framework.ts";
import { Nominations } from "./nominations.ts";
import { defaultPlugins, type PluginEntry } from "./plugins/list.ts";
import type { PodView } from "./pod-view.ts";
import type { Profile } from "./profile.ts";
import { SchedulingQueue } from "./queue.ts";
import { Snapshot } from "./snapshot.ts";

export interface SchedulerOptions {
  readonly client: Client;
  /** Run by whoever made them; shared with others of the process. */
  readonly informers: Informers;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics?: Metrics;
  /** Which instance reports: the `source.host` of events. */
  readonly host?: string;
  readonly configuration?: SchedulerConfiguration;
  /** Plugins that profiles may name; defaults to those of plugins/list.ts. */
  readonly plugins?: readonly PluginEntry[];
  /** How extenders of the configuration are reached. */
  readonly callExtender?: ExtenderCall;
}

export class SchedulerState {
  readonly snapshot = new Snapshot();
  readonly nominations = new Nominations();
  /** Uids of pods that were given a node which the API server does not know of yet. */
  readonly assumed = new Set<string>();
  readonly profiles: ReadonlyMap<string, Profile>;
  /** Kinds that decisions depend on, besides pods and nodes. */
  readonly reads: ReadonlySet<AnyKind>;
  readonly cycle: Cycle;
  readonly extenders: Extenders;
  readonly queue: SchedulingQueue;

  /** `act` does what plugins want to be done beside the cycles. */
  constructor(options: SchedulerOptions, act: PluginContext["act"]) {
    const { clock, random, configuration = readConfiguration(), plugins = defaultPlugins, log, metrics } = options;
    const { extenders = [] } = configuration;
    this.extenders = new Extenders({ extenders, call: options.callExtender ?? noExtenders, log });
    this.profiles = makeProfiles(configuration, plugins, {
      snapshot: this.snapshot,
      cache: cacheView((kind) => options.informers.of(kind).cache),
      clock,
      random,
      log,
      metrics: metrics ?? noMetrics,
      act,
      unnominate: (pod) => {
        this.nominations.delete(pod.uid);
        this.queue.retry(pod.uid);
      },
      retry: (pod) => this.queue.retry(pod.uid),
      nominated: (node) => this.nominations.on(node),
      extendPreemption: (pod, candidates) => this.extenders.preempt(pod, candidates),
    });
    const all = [...this.profiles.values()];
    this.reads = new Set<AnyKind>([
      Namespace,
      ...all.flatMap((profile) => profile.plugins.flatMap(({ reads = [] }) => reads)),
    ]);
    this.cycle = new Cycle({ snapshot: this.snapshot, nominations: this.nominations, random });
    this.queue = new SchedulingQueue({
      clock,
      snapshot: this.snapshot,
      compare: (a, b) => all[0]?.compare(a, b) ?? 0, // all profiles share one queue, so they sort alike
      gateOf: (pod) => this.profileOf(pod)?.gateOf(pod),
      firstBackoffMs: configuration.podInitialBackoffSeconds * 1000,
      maxBackoffMs: configuration.podMaxBackoffSeconds * 1000,
    });
  }

  profileOf({ pod }: PodView): Profile | undefined {
    return this.profiles.get(pod.spec.schedulerName);
  }
}

const noExtenders: ExtenderCall = async ({ urlPrefix }) => {
  throw new Error(`extender ${urlPrefix} cannot be reached: this scheduler was made without a way to`);
};
