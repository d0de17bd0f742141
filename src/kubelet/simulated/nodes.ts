// Many simulated nodes in one process. They share one watch on pods, one timer, one runtime in memory and a bounded number of
// requests; to the API each of them is a kubelet like any other, under its own identity.
import type { Amounts } from "#api/core/v1/amounts.ts";
import { Node, type Taint } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import type { Random } from "#base/random.ts";
import { type Component, supervise } from "#base/supervise.ts";
import type { Client } from "#client/client.ts";
import type { Informers } from "#client/informers.ts";
import type { HttpResponse } from "#wire/http.ts";
import type { SpdyCompression } from "#wire/streams/spdy.ts";
import { assembleNode } from "../assemble-node.ts";
import { type EventRate, kubeletEventRate } from "../events.ts";
import type { NodeDescription, NodeHealth } from "../node/description.ts";
import { NodeGroup, type PodParts } from "../node-group.ts";
import { NodeUnreachable } from "../node-unreachable.ts";
import type { Pods } from "../pods.ts";
import type { RecordEvent } from "../pods-context.ts";
import { SimulatedRuntime, type SimulatedRuntimeOptions } from "../runtime/simulated.ts";
import type { KubeletRequest } from "../server/server.ts";
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
  /** Called with each node that has been registered. */
  readonly registered?: (node: string) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly capacity?: Amounts;
  readonly labels?: (node: string, index: number) => Readonly<Record<string, string>>;
  readonly taints?: readonly Taint[];
  /** Addresses of the nodes, of IPv4. */
  readonly nodeRange?: string;
  /** Addresses of the pods, a part of it for each node; or one range of each family, with a comma. */
  readonly podRange?: string;
  /** Size of the part of IPv4; that of IPv6 is 64. */
  readonly podMask?: number;
  readonly kubeletVersion?: string;
  readonly events?: EventRate;
  /** Header compression for clients that speak SPDY; they are refused without. */
  readonly spdyCompression?: () => SpdyCompression;
  /** How often leases are renewed. */
  readonly renewMs?: number;
  /** What a container does; defaults to what its pod's annotations say. */
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

export function simulatedNodes(options: SimulatedNodesOptions): SimulatedNodes {
  const { clientFor, count = 1 } = options;
  const names = options.names ?? Array.from({ length: count }, (_, i) => `sim-${i}`);
  const addresses = new Map<string, readonly AddressPool[]>();
  const { group, runtime } = simulatedGroup(options, names.length, addresses);
  const renewMs = options.renewMs ?? renewalFor(names.length);
  for (const [i, name] of names.entries()) {
    const description = describe(options, name, i);
    addresses.set(
      name,
      (description.podCidrs ?? []).map((range) => new AddressPool(range)),
    );
    assembleNode(group, { description, client: clientFor(name), renewMs, phaseMs: (renewMs * i) / names.length });
  }
  const nodeOf = (name: string) => group.find(name) ?? unknownNode(name);
  return {
    name: "simulated nodes",
    names,
    runtime,
    pods: group.pods,
    get registered() {
      return [...group.nodes].filter((node) => node.isRegistered).length;
    },
    isOn: (name) => nodeOf(name).isRunning,
    stop: (name) => nodeOf(name).switchOff(),
    start: (name) => nodeOf(name).switchOn(),
    async handle(name, request) {
      const node = group.find(name);
      if (!node?.isRunning) throw new NodeUnreachable(`node ${name} is switched off`);
      return node.handle(request);
    },
    setHealth: (name, health) => nodeOf(name).setHealth(health),
    run(signal) {
      for (const node of group.nodes) if (node.isRunning) node.switchOn();
      return supervise(group.components, signal);
    },
  };
}

/** What all simulated nodes share. `addresses` are those of their pods. */
function simulatedGroup(
  options: SimulatedNodesOptions,
  count: number,
  addresses: ReadonlyMap<string, readonly AddressPool[]>,
): { readonly group: NodeGroup; readonly runtime: SimulatedRuntime } {
  const { clock, random, log, informers, clientFor, capacity: allocatable = defaultCapacity } = options;
  const startedAt = clock.now();
  const inputs = new SimulatedInputs({
    informers,
    clientOf: (node) => (group.find(node) ?? unknownNode(node)).client,
    allocatable,
    changed: (uid) => group.pods.retry(uid),
  });
  const runtime = new SimulatedRuntime({
    clock,
    podOf: (uid) => group.pods.workerOf(uid)?.pod,
    inputs: (pod, container) => inputs.check(pod, container),
    allocate: (node) => (addresses.get(node) ?? unknownNode(node)).map((pool) => pool.take()),
    release: (node, ips) => {
      for (const ip of ips) for (const pool of addresses.get(node) ?? []) pool.giveBack(ip);
    },
    ...(options.script && { script: options.script }),
  });
  const group: NodeGroup = new NodeGroup({
    pods: informers.of(Pod),
    nodes: informers.of(Node),
    eventClient: clientFor("events"),
    eventRate: options.events ?? kubeletEventRate,
    podParts: ({ event }) => ({ ...podParts(runtime, event), hostResources: [inputs] }),
    runtime,
    streams: simulatedStreams(runtime, (uid) => group.pods.workerOf(uid)?.pod),
    spdyCompression: options.spdyCompression ?? noSpdy,
    stats: (node, which, signal) => {
      const { name, description } = node;
      const { capacity } = description;
      const list = () => node.pods();
      return simulatedSummary({ node: name, startedAt, capacity, list, runtime, clock }, which, signal);
    },
    doesCheckHealth: false,
    slackMs: count > 100 ? 250 : 0,
    registered(node) {
      node.report("Normal", "Starting", "Starting kubelet.");
      node.reportStatus("NodeReady");
      options.registered?.(node.name);
    },
    clock,
    random,
    log,
  });
  return { group, runtime };
}

const podParts = (runtime: SimulatedRuntime, event: RecordEvent): PodParts => ({
  probes: simulatedProbes((id) => runtime.scriptOf(id), event),
  hooks: {
    run: ({ handler, timeoutMs }, signal) =>
      runtime.sleep(Math.min((handler.sleep?.seconds ?? 0) * 1000, timeoutMs), signal),
  },
  credentials: async () => undefined,
});

function unknownNode(name: string): never {
  throw new Error(`there is no simulated node ${name}`);
}

const noSpdy = (): never => {
  throw new Error("simulated nodes were started without SPDY");
};

/** Ten seconds, as a kubelet's; where thousands of nodes share a process and no network can fail, less often. */
const renewalFor = (count: number): number => Math.min(25_000, Math.max(10_000, count * 5));

function describe(options: SimulatedNodesOptions, name: string, index: number): NodeDescription {
  const { podRange = "10.244.0.0/16", podMask = 24 } = options;
  const podCidrs = podRange.split(",").map((range) => partOf(range, range.includes(":") ? 64 : podMask, index));
  const nodeRanges = podCidrs.map((range) =>
    range.includes(":") ? "fd00:172:24::/64" : (options.nodeRange ?? "172.24.0.0/14"),
  );
  const { capacity = defaultCapacity, labels, taints, kubeletVersion = "v1.36.4" } = options;
  return {
    name,
    labels: { type: "simulated", ...labels?.(name, index) },
    ...(taints && { taints }),
    capacity,
    addresses: [
      ...nodeRanges.map((range) => ({ type: "InternalIP", address: addressIn(range, index) })),
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
    podCidrs,
    port: kubeletPort,
    features: { supplementalGroupsPolicy: true },
  };
}
