// The kubelet of one node: registers it, keeps its lease and its status, and runs the pods that are bound to it on a container runtime.
// Decisions are made elsewhere: what to do for a pod in `pod/`, what to report of the node in `node/`.
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import type { Clock } from "#base/clock.ts";
import type { Log } from "#base/log.ts";
import { MetricRegistry } from "#base/metrics.ts";
import type { Random } from "#base/random.ts";
import { type Component, supervise } from "#base/supervise.ts";
import type { Client } from "#client/client.ts";
import { Informers } from "#client/informers.ts";
import type { HttpResponse } from "#wire/http.ts";
import type { SpdyCompression } from "#wire/streams/spdy.ts";
import { type AssembledNode, assembleNode, hostIpsOf } from "./assemble-node.ts";
import { containerHooks } from "./container-hooks.ts";
import { kubeletEventRate } from "./events.ts";
import type { HostResource } from "./host-resource.ts";
import { imageCredentials } from "./image-credentials.ts";
import type { ApiSources } from "./inputs/api-sources.ts";
import type { NodeDescription, NodeHealth } from "./node/description.ts";
import { NodeHealthMonitor, type NodeSensors } from "./node/node-health-monitor.ts";
import { NodeGroup, type PodParts, type PodPartsContext } from "./node-group.ts";
import type { Termination } from "./pod/view.ts";
import type { Pods } from "./pods.ts";
import { probeCounts } from "./probes/probe-counts.ts";
import { Prober } from "./probes/prober.ts";
import type { ProbeHandlers } from "./probes/run-probe.ts";
import type { ContainerRuntime } from "./runtime.ts";
import type { KubeletRequest, ServedPod } from "./server/server.ts";
import type { ContainerStreams } from "./server/streams.ts";
import type { StaticPodSource } from "./static-pods/static-pod.ts";
import type { Summary, WhichStats } from "./stats/summary.ts";
import { type PodVolumes, VolumeLifecycle, type VolumeLifecycleOptions } from "./volume-lifecycle.ts";
import { WorkerPool } from "./worker-pool.ts";

export interface KubeletOptions {
  readonly description: NodeDescription;
  /** Acts as `system:node:NAME`. */
  readonly client: Client;
  /** Whether it makes its Node where there is none; defaults to true. */
  readonly registers?: boolean;
  readonly runtime: ContainerRuntime;
  readonly probes: ProbeHandlers;
  readonly streams: ContainerStreams;
  readonly spdyCompression: () => SpdyCompression;
  /** Volumes of pods, and the sources of their content; without them, pods have no volumes. */
  readonly inputs?: { readonly sources: ApiSources; readonly volumes: PodVolumes };
  /** What the health of the node is measured by; without it, the node is healthy until `setHealth` is called. */
  readonly sensors?: NodeSensors;
  /** What else pods need on the host. */
  readonly hostResources?: readonly HostResource[];
  /** How many pods get a sandbox at the same time: more take longer, each and all together. Defaults to no limit. */
  readonly maxConcurrentStarts?: number;
  /** What the node and its pods use, for /stats/summary. */
  readonly stats?: (which: WhichStats, signal: AbortSignal) => Promise<Summary>;
  /** Static pods. */
  readonly staticPods?: StaticPodSource & Component;
  /** Called when the node has been registered. */
  readonly registered?: () => void;
  /** Called with the node each time it has changed in the API. */
  readonly nodeChanged?: (node: Node) => void;
  /** What else runs as long as the kubelet does. */
  readonly parts?: readonly Component[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface Kubelet extends Component {
  /** Answers an HTTP request that has been authorized. */
  handle(request: KubeletRequest): Promise<HttpResponse>;
  /** The pods of the node, and what the runtime has of them. */
  pods(): Iterable<ServedPod>;
  /** What the node and its pods use, where that is known. */
  readonly stats?: NonNullable<KubeletOptions["stats"]>;
  /** Writes an event about the node. */
  report(type: "Normal" | "Warning", reason: string, message: string): void;
  /** Ends a pod for a reason of the node's own. */
  evict(podUid: string, termination: Termination): void;
  /** Sets the node's health, and reports it at once if it has changed. */
  setHealth(health: NodeHealth): void;
  readonly isRegistered: boolean;
}

export function kubelet(options: KubeletOptions): Kubelet {
  const { description, client, runtime, clock, random, log, stats, registered } = options;
  const { name } = description;
  const informers = new Informers({ client, clock, random, log });
  const probeMetrics = new MetricRegistry();
  const group = new NodeGroup({
    pods: informers.of(Pod, { fieldSelector: `spec.nodeName=${name}` }),
    nodes: informers.of(Node, { fieldSelector: `metadata.name=${name}` }),
    eventClient: client,
    eventRate: kubeletEventRate,
    podParts: (context) => podParts(options, context, probeMetrics),
    runtime,
    streams: options.streams,
    spdyCompression: options.spdyCompression,
    ...(stats && { stats: (_, which, signal) => stats(which, signal) }),
    probeMetrics,
    doesCheckHealth: true,
    ...(registered && { registered }),
    clock,
    random,
    log,
  });
  group.options.nodes.onChange(({ object }) => object && options.nodeChanged?.(object));
  const node = assembleNode(group, {
    description,
    client,
    ...(options.registers !== undefined && { registers: options.registers }),
  });
  return {
    name: `kubelet ${name}`,
    handle: (request) => node.handle(request),
    pods: () => node.pods(),
    ...(stats && { stats }),
    report: (type, reason, message) => node.report(type, reason, message),
    evict: (uid, termination) => group.pods.evict(uid, termination),
    setHealth: (health) => node.setHealth(health),
    get isRegistered() {
      return node.isRegistered;
    },
    async run(signal) {
      const { staticPods, parts = [] } = options;
      // Static pods must be known before what runs without a pod is removed as an orphan.
      if (staticPods) group.pods.setStatic(await staticPods.read());
      node.report("Normal", "Starting", "Starting kubelet.");
      const components = [informers, ...group.components, ...parts, ...switchOn(node, options)];
      if (staticPods) components.push(staticPods, follow(staticPods, group.pods));
      return supervise(components, signal);
    },
  };
}

/** Registers the node: at once, or after its first health check if it has sensors. Returns what has to run for that. */
function switchOn(node: AssembledNode, { sensors, clock, log }: KubeletOptions): readonly Component[] {
  if (!sensors) {
    node.switchOn();
    return [];
  }
  let isFirst = true;
  const report = (health: NodeHealth) => {
    node.setHealth(health);
    if (isFirst) node.switchOn();
    isFirst = false;
  };
  return [new NodeHealthMonitor({ sensors, clock, log, report })];
}

function podParts(options: KubeletOptions, context: PodPartsContext, probeMetrics: MetricRegistry): PodParts {
  const { description, client, runtime, inputs, hostResources = [], clock } = options;
  const { event, wake, retry } = context;
  const version = description.system.kubeletVersion.replace(/^v(\d+\.\d+).*$/, "$1");
  const probeContext = { handlers: options.probes, runtime, clock, version };
  const prober = new Prober({ ...probeContext, event, changed: wake, counts: probeCounts(probeMetrics) });
  const volumes = inputs && volumeLifecycle(inputs, { description, event, clock, changed: retry });
  return {
    probes: prober,
    hooks: containerHooks(probeContext),
    credentials: imageCredentials(client),
    hostResources: [...hostResources, ...(volumes ? [volumes] : [])],
    maxConcurrentStarts: options.maxConcurrentStarts,
    components: [prober, ...(inputs && volumes ? [inputs.sources, volumes] : [])],
  };
}

function volumeLifecycle(
  { sources, volumes }: NonNullable<KubeletOptions["inputs"]>,
  {
    description,
    ...rest
  }: Pick<VolumeLifecycleOptions, "event" | "clock" | "changed"> & { readonly description: NodeDescription },
): VolumeLifecycle {
  const { capacity, allocatable = capacity } = description;
  const { objects, tokens } = sources;
  return new VolumeLifecycle({ ...rest, volumes, hostIps: hostIpsOf(description), allocatable, objects, tokens });
}

/** Reads the static pods again whenever their source has changed. */
function follow(source: StaticPodSource, pods: Pods): Component {
  const workers = new WorkerPool<StaticPodSource>({
    name: "static pods",
    count: 1,
    work: async () => pods.setStatic(await source.read()),
  });
  source.changed = () => workers.add(source);
  return workers;
}
