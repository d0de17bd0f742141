// Many simulated nodes in one process. They share one watch on pods, one timer, one runtime in memory and a bounded number of
// requests; to the API each of them is a kubelet like any other, under its own identity.
import type { Amounts } from "#api/core/v1/amounts.ts";
import { Node, type Taint } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import { MetricRegistry } from "#base/metrics.ts";
import type { Random } from "#base/random.ts";
import { type Component, supervise } from "#base/supervise.ts";
import type { Client } from "#client/client.ts";
import { EventRecorder } from "#client/events.ts";
import type { Informers } from "#client/informers.ts";
import type { HttpResponse } from "#wire/http.ts";
import type { SpdyCompression } from "#wire/streams/spdy.ts";
import { type EventPace, kubeletPace, podEvents } from "../events.ts";
import { admitPod } from "../node/admit.ts";
import type { NodeDescription, NodeHealth } from "../node/description.ts";
import { schedulingEvent, statusNews } from "../node/health-events.ts";
import { NodeAgent } from "../node/node-agent.ts";
import { NodeAgents } from "../node/node-agents.ts";
import { NodeUnreachable } from "../node-unreachable.ts";
import { type PodNode, Pods } from "../pods.ts";
import { SimulatedRuntime, type SimulatedRuntimeOptions } from "../runtime/simulated.ts";
import { configurationOf } from "../server/configuration.ts";
import { countPods } from "../server/kubelet-metrics.ts";
import { type KubeletRequest, type KubeletServer, kubeletServer } from "../server/server.ts";
import { AddressPool, addressIn, partOf } from "./addresses.ts";
import { SimulatedInputs } from "./inputs.ts";
import { simulatedProbes } from "./probes.ts";
import { simulatedSummary } from "./stats.ts";
import { simulatedStreams } from "./streams.ts";

export interface SimulatedNodesOptions {
  /** How many, called `sim-0`, `sim-1` and so on; or their names. */
  readonly count?: number;
  readonly names?: readonly string[];
  /** The client of a node: it acts as `system:node:NAME`. */
  readonly clientFor: (node: string) => Client;
  readonly informers: Informers;
  /** Told each node that has come to the API. */
  readonly registered?: (node: string) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly capacity?: Amounts;
  readonly labels?: (node: string, index: number) => Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
  /** Addresses of the nodes. */
  readonly nodeRange?: string;
  /** Addresses of the pods, a part of it for each node. */
  readonly podRange?: string;
  readonly podMask?: number;
  readonly kubeletVersion?: string;
  readonly events?: EventPace;
  /** Header compression for clients that speak SPDY; they are refused without. */
  readonly spdyCompression?: () => SpdyCompression;
  /** How often leases are renewed. */
  readonly renewMs?: number;
  /** What a container does; by its annotations unless told. */
  readonly script?: NonNullable<SimulatedRuntimeOptions["script"]>;
}

export interface SimulatedNodes extends Component {
  readonly names: readonly string[];
  readonly runtime: SimulatedRuntime;
  readonly pods: Pods;
  /** How many nodes are registered. */
  readonly registered: number;
  isOn(node: string): boolean;
  /** As if the node's machine were switched off: no lease, no status, nothing done for its pods. */
  stop(node: string): void;
  /** Switches it on again. */
  start(node: string): void;
  /** What the node's kubelet answers over HTTP. Throws NodeUnreachable for one that is stopped, or none of these. */
  handle(node: string, request: KubeletRequest): Promise<HttpResponse>;
  /** Makes the node report pressure, or that it is not ready. */
  setHealth(node: string, health: NodeHealth): void;
}

const defaultCapacity: Amounts = { cpu: "32", memory: "256Gi", "ephemeral-storage": "512Gi", pods: "110" };
const kubeletPort = 10250;

interface SimulatedNode extends PodNode {
  readonly agent: NodeAgent;
  readonly addresses: AddressPool;
  isRunning: boolean;
}

export function simulatedNodes(options: SimulatedNodesOptions): SimulatedNodes {
  const { clock, random, log, informers, count = 1 } = options;
  const names = options.names ?? Array.from({ length: count }, (_, i) => `sim-${i}`);
  const nodes = new Map<string, SimulatedNode>();
  const known = informers.of(Node);
  const renewMs = options.renewMs ?? renewalFor(names.length);
  for (const [i, name] of names.entries()) {
    const description = describe(options, name, i);
    const phaseMs = (renewMs * i) / names.length;
    const own = options.clientFor(name);
    const agent = new NodeAgent({ description, client: own, clock, random, renewMs, phaseMs });
    nodes.set(name, {
      name,
      agent,
      client: own,
      hostIps: description.addresses.filter(({ type }) => type === "InternalIP").map(({ address }) => address),
      addresses: new AddressPool(description.podCidrs?.[0] ?? ""),
      isRunning: true,
      admit(pod, others) {
        const node = known.cache.get(name);
        return node && admitPod(pod, node, others);
      },
    });
  }
  const nodeOf = (name: string): SimulatedNode => {
    const node = nodes.get(name);
    if (!node) throw new Error(`there is no simulated node ${name}`);
    return node;
  };
  const inputs = new SimulatedInputs({
    informers,
    clientOf: (node) => nodeOf(node).client,
    allocatable: options.capacity ?? defaultCapacity,
    changed: (uid) => pods.retry(uid),
  });
  const runtime = new SimulatedRuntime({
    clock,
    inputs: (pod, container) => inputs.check(pod, container),
    allocate: (node) => [nodeOf(node).addresses.take()],
    release: (node, ips) => {
      for (const ip of ips) nodes.get(node)?.addresses.giveBack(ip);
    },
    ...(options.script && { script: options.script }),
  });
  const recorder = new EventRecorder({ client: options.clientFor("events"), clock, random, log });
  const event = podEvents(recorder, clock, options.events ?? kubeletPace);
  const pods: Pods = new Pods({
    grounds: [inputs],
    informer: informers.of(Pod),
    runtime,
    probes: simulatedProbes((id) => runtime.scriptOf(id), event),
    hooks: {
      run: ({ handler, timeoutMs }, signal) =>
        runtime.sleep(Math.min((handler.sleep?.seconds ?? 0) * 1000, timeoutMs), signal),
    },
    clock,
    log,
    event,
    credentials: async () => undefined,
    nodeOf: (name) => nodes.get(name),
  });
  const streams = simulatedStreams(runtime, (uid) => pods.workerOf(uid)?.pod);
  const compression = options.spdyCompression ?? noSpdy;
  const startedAt = clock.now();
  const servers = new Map<string, KubeletServer>();
  /** Made for those who are asked: most of thousands never are. */
  const serverOf = (node: string): KubeletServer => {
    const known = servers.get(node);
    if (known) return known;
    const list = () => pods.on(node);
    const metrics = new MetricRegistry();
    countPods(metrics, node, list);
    const description = describe(options, node, names.indexOf(node));
    const { capacity } = description;
    const made = kubeletServer({
      clock,
      streams,
      compression,
      runtime,
      find: (namespace, name) => {
        const pod = informers.of(Pod).cache.get({ namespace, name });
        return pod?.spec.nodeName === node ? pods.workerOf(pod.metadata.uid ?? "") : undefined;
      },
      list,
      metrics,
      stats: (which, signal) => simulatedSummary({ node, startedAt, capacity, list, runtime, clock }, which, signal),
      configuration: () => configurationOf(description),
    });
    servers.set(node, made);
    return made;
  };
  known.onChange(({ key, old, object }) => {
    const reason = nodes.get(key)?.isRunning ? schedulingEvent(old, object) : undefined;
    if (reason !== undefined) tell(key, recorder, reason, statusNews(key, reason));
  });
  let registered = 0;
  const agents = new NodeAgents({
    clock,
    log,
    slackMs: names.length > 100 ? 250 : 0,
    registered: ({ name }) => {
      registered++;
      tellReady(name, recorder);
      options.registered?.(name);
    },
  });
  return {
    name: "simulated nodes",
    names,
    runtime,
    pods,
    get registered() {
      return registered;
    },
    isOn: (name) => nodeOf(name).isRunning,
    stop(name) {
      const node = nodeOf(name);
      node.isRunning = false;
      agents.stop(node.agent);
    },
    start(name) {
      const node = nodeOf(name);
      node.isRunning = true;
      agents.start(node.agent);
      pods.wakeNode(name);
    },
    async handle(name, request) {
      if (!nodes.get(name)?.isRunning) throw new NodeUnreachable(`node ${name} is switched off`);
      return serverOf(name)(request);
    },
    setHealth(name, health) {
      const { agent } = nodeOf(name);
      agent.health = health;
      agents.poke(agent);
    },
    run(signal) {
      for (const { agent, isRunning } of nodes.values()) if (isRunning) agents.start(agent);
      return supervise([agents, pods, recorder], signal);
    },
  };
}

function tellReady(name: string, recorder: EventRecorder): void {
  tell(name, recorder, "Starting", "Starting kubelet.");
  tell(name, recorder, "NodeReady", statusNews(name, "NodeReady"));
}

function tell(name: string, recorder: EventRecorder, reason: string, message: string): void {
  const about = { apiVersion: "v1", kind: "Node", name, uid: name };
  recorder.record(about, { type: "Normal", component: "kubelet", host: name, reason, message });
}

const noSpdy = (): never => {
  throw new Error("simulated nodes were started without SPDY");
};

/** Ten seconds, as a kubelet's; where thousands of nodes share a process and no network can fail, less often. */
const renewalFor = (count: number): number => Math.min(25_000, Math.max(10_000, count * 5));

function describe(options: SimulatedNodesOptions, name: string, index: number): NodeDescription {
  const { nodeRange = "172.24.0.0/14", podRange = "10.244.0.0/16", podMask = 24 } = options;
  const { capacity = defaultCapacity, labels, taints, kubeletVersion = "v1.36.4" } = options;
  return {
    name,
    labels: { type: "simulated", ...labels?.(name, index) },
    ...(taints && { taints }),
    capacity,
    addresses: [
      { type: "InternalIP", address: addressIn(nodeRange, index) },
      { type: "Hostname", address: name },
    ],
    system: {
      machineID: name,
      systemUUID: name,
      bootID: name,
      kernelVersion: "simulated",
      osImage: "Knarr simulated node",
      containerRuntimeVersion: "simulated://1.0",
      kubeletVersion,
      kubeProxyVersion: "",
      operatingSystem: "linux",
      architecture: "amd64",
      swap: undefined,
    },
    podCidrs: [partOf(podRange, podMask, index)],
    port: kubeletPort,
    features: { supplementalGroupsPolicy: true },
  };
}
