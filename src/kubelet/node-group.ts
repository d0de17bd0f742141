// What the nodes of one process share: the runtime, the pod workers, one timer, one writer of events. The kubelet of a machine is a
// group of one node; thousands of simulated nodes are one group, so that each of them costs no more than what is its own.
import type { Node } from "#api/core/v1/node.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { MetricRegistry } from "#base/metrics.ts";
import type { Random } from "#base/random.ts";
import type { Component } from "#base/supervise.ts";
import type { Client } from "#client/client.ts";
import { EventRecorder } from "#client/events.ts";
import type { Informer, InformerChange } from "#client/informer.ts";
import type { SpdyCompression } from "#wire/streams/spdy.ts";
import type { AssembledNode } from "./assemble-node.ts";
import { type EventRate, podEvents } from "./events.ts";
import { schedulingEvent } from "./node/health-events.ts";
import { NodeAgents } from "./node/node-agents.ts";
import { Pods } from "./pods.ts";
import type { PodsOptions, RecordEvent } from "./pods-context.ts";
import type { ContainerRuntime } from "./runtime.ts";
import type { ContainerStreams } from "./server/streams.ts";
import type { Summary, WhichStats } from "./stats/summary.ts";

/** What pods need besides a runtime, and what has to run for that. */
export interface PodParts
  extends Pick<PodsOptions, "probes" | "hooks" | "credentials" | "hostResources" | "maxConcurrentStarts"> {
  readonly components?: readonly Component[];
}

/** What pod parts may use of the group they are made for. */
export interface PodPartsContext {
  readonly event: RecordEvent;
  /** Looks at a pod again. */
  readonly wake: (podUid: string) => void;
  /** Tries again at once to make a pod that could not be made. */
  readonly retry: (podUid: string) => void;
}

export interface NodeGroupOptions {
  /** Pods of these nodes; those of other nodes may be among them. */
  readonly pods: Informer<typeof Pod>;
  readonly nodes: Informer<typeof Node>;
  /** Writes events. */
  readonly eventClient: Client;
  readonly eventRate: EventRate;
  readonly podParts: (context: PodPartsContext) => PodParts;
  readonly runtime: ContainerRuntime;
  readonly streams: ContainerStreams;
  readonly spdyCompression: () => SpdyCompression;
  /** What a node and its pods use, for /stats/summary. */
  readonly stats?: (node: AssembledNode, which: WhichStats, signal: AbortSignal) => Promise<Summary>;
  /** What probes came to, for /metrics/probes. */
  readonly probeMetrics?: MetricRegistry;
  /** Whether nodes find out themselves how they are: then pods are admitted by that, and its changes are told as events. */
  readonly doesCheckHealth: boolean;
  /** Nodes that are due within as many milliseconds of each other act together. */
  readonly slackMs?: number;
  /** Called when a node has been registered in the API. */
  readonly registered?: (node: AssembledNode) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export class NodeGroup {
  readonly options: NodeGroupOptions;
  readonly pods: Pods;
  readonly agents: NodeAgents;
  readonly recorder: EventRecorder;
  readonly #nodes = new Map<string, AssembledNode>();
  readonly #podComponents: readonly Component[];

  constructor(options: NodeGroupOptions) {
    const { eventClient, eventRate, clock, random, log, slackMs = 0 } = options;
    this.options = options;
    this.recorder = new EventRecorder({ client: eventClient, clock, random, log });
    const event = podEvents(this.recorder, clock, eventRate);
    const { components = [], ...parts } = options.podParts({
      event,
      wake: (uid) => this.pods.wake(uid),
      retry: (uid) => this.pods.retry(uid),
    });
    this.#podComponents = components;
    this.pods = new Pods({
      ...parts,
      informer: options.pods,
      runtime: options.runtime,
      nodeOf: (name) => this.#nodes.get(name),
      event,
      clock,
      log,
    });
    this.agents = new NodeAgents({ clock, log, slackMs, registered: ({ name }) => this.#registered(name) });
    options.nodes.onChange((change) => this.#reportScheduling(change));
  }

  /** To be called by `assembleNode` alone. */
  add(node: AssembledNode): void {
    this.#nodes.set(node.name, node);
  }

  find(name: string): AssembledNode | undefined {
    return this.#nodes.get(name);
  }

  get nodes(): Iterable<AssembledNode> {
    return this.#nodes.values();
  }

  /** What has to run for the nodes of the group; informers not among it. */
  get components(): readonly Component[] {
    return [this.agents, this.pods, this.recorder, ...this.#podComponents];
  }

  #registered(name: string): void {
    const node = this.#nodes.get(name);
    if (node) this.options.registered?.(node);
  }

  #reportScheduling({ key, old, object }: InformerChange<Node>): void {
    const node = this.#nodes.get(key);
    const reason = node?.isRunning ? schedulingEvent(old, object) : undefined;
    if (reason !== undefined) node?.reportStatus(reason);
  }
}
