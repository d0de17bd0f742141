// One node of a group, real or simulated: its place in the API, the pods it takes, and what its kubelet answers over HTTP.
import type { Pod } from "#api/core/v1/pod.ts";
import { equal } from "#base/collections.ts";
import { MetricRegistry } from "#base/metrics.ts";
import type { Client } from "#client/client.ts";
import type { HttpResponse } from "#wire/http.ts";
import { admitPod, admitUnderPressure, admitWithoutAppArmor } from "./node/admit.ts";
import type { NodeDescription, NodeHealth } from "./node/description.ts";
import { healthEvents, statusNews } from "./node/health-events.ts";
import { NodeAgent } from "./node/node-agent.ts";
import type { NodeGroup } from "./node-group.ts";
import type { PodNode, Rejection } from "./pods-context.ts";
import { configurationOf } from "./server/configuration.ts";
import { countPods } from "./server/kubelet-metrics.ts";
import { type KubeletRequest, type KubeletServer, kubeletServer, type ServedPod } from "./server/server.ts";
import { mirroredHash } from "./static-pods/static-pod.ts";

export interface NodeOptions {
  readonly description: NodeDescription;
  /** Acts as `system:node:NAME`. */
  readonly client: Client;
  /** Whether it makes its Node where there is none; defaults to true. */
  readonly registers?: boolean;
  /** How often its lease is renewed, and when within that time. */
  readonly renewMs?: number;
  readonly phaseMs?: number;
}

/** Makes a node of the group. It is not in the API before it is switched on. */
export function assembleNode(group: NodeGroup, options: NodeOptions): AssembledNode {
  const { clock, random } = group.options;
  const node = new AssembledNode(group, options.client, new NodeAgent({ ...options, clock, random }));
  group.add(node);
  return node;
}

/** There may be thousands of these: what all nodes of a group can share is in the group, and what few nodes need is made when it is needed. */
export class AssembledNode implements PodNode {
  readonly client: Client;
  readonly hostIps: readonly string[];
  readonly #group: NodeGroup;
  readonly #agent: NodeAgent;
  #isRunning = true;
  #health: NodeHealth | undefined;
  #server: KubeletServer | undefined;

  constructor(group: NodeGroup, client: Client, agent: NodeAgent) {
    this.client = client;
    this.#group = group;
    this.#agent = agent;
    this.hostIps = hostIpsOf(agent.description);
  }

  get name(): string {
    return this.#agent.name;
  }

  get description(): NodeDescription {
    return this.#agent.description;
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  get isRegistered(): boolean {
    return this.#agent.isRegistered;
  }

  get uid(): string | undefined {
    return this.#group.options.nodes.cache.get(this.name)?.metadata.uid;
  }

  /** Registers the node, and keeps it in the API from then on. */
  switchOn(): void {
    const { agents, pods } = this.#group;
    agents.start(this.#agent);
    if (this.#isRunning) return;
    this.#isRunning = true;
    pods.wakeNode(this.name);
  }

  /** As if its machine had lost power: no lease, no status, nothing is done for its pods. */
  switchOff(): void {
    this.#isRunning = false;
    this.#group.agents.stop(this.#agent);
  }

  admit(pod: Pod, others: readonly Pod[]): Rejection | undefined {
    const { nodes, doesCheckHealth } = this.#group.options;
    const node = nodes.cache.get(this.name);
    return (
      (doesCheckHealth ? admitUnderPressure(pod, this.#health ?? {}) : undefined) ??
      (this.description.hasAppArmor === false ? admitWithoutAppArmor(pod) : undefined) ??
      (node && admitPod(pod, node, others))
    );
  }

  /** Notes how the node is, and tells the API at once if that has changed. */
  setHealth(health: NodeHealth): void {
    const { agents, options } = this.#group;
    if (options.doesCheckHealth) for (const reason of healthEvents(this.#health, health)) this.reportStatus(reason);
    const hasChanged = !equal(this.#health, health);
    this.#health = health;
    this.#agent.health = health;
    if (hasChanged) agents.wake(this.#agent);
  }

  /** Writes an event about the node. */
  report(type: "Normal" | "Warning", reason: string, message: string): void {
    const { name } = this;
    this.#group.recorder.record(
      { kind: "Node", apiVersion: "v1", name, uid: name },
      { type, reason, message, component: "kubelet", host: name },
    );
  }

  /** Writes the event that a change of the node's status is told by. */
  reportStatus(reason: string): void {
    this.report("Normal", reason, statusNews(this.name, reason));
  }

  /** The pods of the node, and what the runtime has of them. */
  pods(): Iterable<ServedPod> {
    return this.#group.pods.workersOn(this.name);
  }

  /** What the node's kubelet answers over HTTP. Most of thousands of nodes are never asked. */
  handle(request: KubeletRequest): Promise<HttpResponse> {
    this.#server ??= this.#makeServer();
    return this.#server(request);
  }

  #makeServer(): KubeletServer {
    const { streams, spdyCompression, runtime, stats, probeMetrics, clock } = this.#group.options;
    const metrics = new MetricRegistry();
    const list = () => this.pods();
    countPods(metrics, this.name, list);
    return kubeletServer({
      clock,
      streams,
      compression: spdyCompression,
      runtime,
      find: (namespace, name) => this.#find(namespace, name),
      list,
      metrics,
      ...(probeMetrics && { probeMetrics }),
      ...(stats && { stats: (which, signal) => stats(this, which, signal) }),
      configuration: () => configurationOf(this.description),
    });
  }

  /** A static pod is found under the name of its mirror pod. */
  #find(namespace: string, name: string): ServedPod | undefined {
    const { options, pods } = this.#group;
    const pod = options.pods.cache.get({ namespace, name });
    return pod?.spec.nodeName === this.name ? pods.workerOf(mirroredHash(pod) ?? pod.metadata.uid) : undefined;
  }
}

export const hostIpsOf = ({ addresses }: Pick<NodeDescription, "addresses">): readonly string[] =>
  addresses.filter(({ type }) => type === "InternalIP").map(({ address }) => address);
