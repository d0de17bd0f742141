// The kubelet of one node: registers it, keeps its lease and its status, and makes the pods that are bound to it real on a container
// runtime. All it decides is decided elsewhere: what to do for a pod in `pod/`, what to tell of the node in `node/`.
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import type { Clock } from "#base/clock.ts";
import { equal } from "#base/collections.ts";
import type { Log } from "#base/log.ts";
import { MetricRegistry } from "#base/metrics.ts";
import type { Random } from "#base/random.ts";
import { type Component, supervise } from "#base/supervise.ts";
import type { Client } from "#client/client.ts";
import { EventRecorder } from "#client/events.ts";
import { Informers } from "#client/informers.ts";
import type { HttpResponse } from "#wire/http.ts";
import type { SpdyCompression } from "#wire/streams/spdy.ts";
import { containerHooks } from "./container-hooks.ts";
import { kubeletPace, podEvents } from "./events.ts";
import type { PodGround } from "./grounds.ts";
import { imageCredentials } from "./image-credentials.ts";
import type { ApiSources } from "./inputs/api-sources.ts";
import { Lanes } from "./lanes.ts";
import { admitPod, admitUnderPressure, admitWithoutAppArmor } from "./node/admit.ts";
import type { NodeDescription, NodeHealth } from "./node/description.ts";
import { healthEvents, schedulingEvent, statusNews } from "./node/health-events.ts";
import { NodeAgent } from "./node/node-agent.ts";
import { NodeAgents } from "./node/node-agents.ts";
import { NodeWatch, type Watched } from "./node/node-watch.ts";
import type { Ending } from "./pod/view.ts";
import { type PodNode, Pods } from "./pods.ts";
import type { ProbeHandlers } from "./probes/ask.ts";
import { probeCounts } from "./probes/probe-counts.ts";
import { Prober } from "./probes/prober.ts";
import type { ContainerRuntime } from "./runtime.ts";
import { configurationOf } from "./server/configuration.ts";
import { countPods } from "./server/kubelet-metrics.ts";
import { type KubeletRequest, kubeletServer, type ServedPod } from "./server/server.ts";
import type { ContainerStreams } from "./server/streams.ts";
import { mirroredHash, type StaticPodSource } from "./static-pods/static-pod.ts";
import type { Summary, WhichStats } from "./stats/summary.ts";
import { type PodVolumes, VolumeGround, type VolumeGroundOptions } from "./volume-ground.ts";

export interface KubeletOptions {
  readonly description: NodeDescription;
  /** Acts as `system:node:NAME`. */
  readonly client: Client;
  readonly runtime: ContainerRuntime;
  readonly probes: ProbeHandlers;
  readonly streams: ContainerStreams;
  readonly spdyCompression: () => SpdyCompression;
  /** Volumes of pods, and where what is in them comes from; without, pods have none. */
  readonly inputs?: { readonly sources: ApiSources; readonly volumes: PodVolumes };
  /** What the node looks at to know how it is; without, it is well until told otherwise. */
  readonly watched?: Watched;
  /** What else pods stand on. */
  readonly grounds?: readonly PodGround[];
  /** How many pods are made at once: more take longer, each and all together. As many as there are unless told. */
  readonly madeAtOnce?: number;
  /** What the node and its pods use, for /stats/summary. */
  readonly stats?: (which: WhichStats, signal: AbortSignal) => Promise<Summary>;
  /** Pods of the node's own. */
  readonly staticPods?: StaticPodSource & Component;
  /** Called when the node has come to the API. */
  readonly registered?: () => void;
  /** What else runs as long as the kubelet does. */
  readonly parts?: readonly Component[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface Kubelet extends Component {
  /** What it answers over HTTP, to those who may ask. */
  handle(request: KubeletRequest): Promise<HttpResponse>;
  /** The pods of the node, and what the runtime has of them. */
  pods(): Iterable<ServedPod>;
  /** What the node and its pods use, where that is known. */
  readonly stats?: NonNullable<KubeletOptions["stats"]>;
  /** Tells people something about the node. */
  report(type: "Normal" | "Warning", reason: string, message: string): void;
  /** Ends a pod for a reason of the node's own. */
  evict(podUid: string, ending: Ending): void;
  /** Notes how the node is, and tells it at once if it is news. */
  setHealth(health: NodeHealth): void;
  readonly isRegistered: boolean;
}

export function kubelet(options: KubeletOptions): Kubelet {
  const { description, client, runtime, clock, random, log, watched } = options;
  const { name, addresses } = description;
  const version = description.system.kubeletVersion.replace(/^v(\d+\.\d+).*$/, "$1");
  const informers = new Informers({ client, clock, random, log });
  const mine = informers.of(Pod, { fieldSelector: `spec.nodeName=${name}` });
  const self = informers.of(Node, { fieldSelector: `metadata.name=${name}` });
  const recorder = new EventRecorder({ client, clock, random, log });
  const event = podEvents(recorder, clock, kubeletPace);
  const [metrics, probeMetrics] = [new MetricRegistry(), new MetricRegistry()];
  const probeContext = { handlers: options.probes, runtime, clock, version };
  const prober = new Prober({
    ...probeContext,
    event,
    changed: (uid) => pods.wake(uid),
    counts: probeCounts(probeMetrics),
  });
  const agent = new NodeAgent({ description, client, clock, random });
  const agents = new NodeAgents({ clock, log, ...(options.registered && { registered: options.registered }) });
  const hostIps = addresses.filter(({ type }) => type === "InternalIP").map(({ address }) => address);
  const node: PodNode = {
    name,
    client,
    hostIps,
    isRunning: true,
    get uid() {
      return self.cache.get(name)?.metadata.uid;
    },
    admit(pod, others) {
      const present = self.cache.get(name);
      return (
        admitUnderPressure(pod, health ?? {}) ??
        (description.hasAppArmor === false ? admitWithoutAppArmor(pod) : undefined) ??
        (present && admitPod(pod, present, others))
      );
    },
  };
  const report: Kubelet["report"] = (type, reason, message) =>
    recorder.record(
      { kind: "Node", apiVersion: "v1", name, uid: name },
      { type, reason, message, component: "kubelet", host: name },
    );
  const tellNews = (reason: string) => report("Normal", reason, statusNews(name, reason));
  self.onChange(({ old, object }) => {
    const reason = schedulingEvent(old, object);
    if (reason !== undefined) tellNews(reason);
  });
  let health: NodeHealth | undefined;
  const setHealth = (found: NodeHealth) => {
    for (const reason of healthEvents(health, found)) tellNews(reason);
    const isNews = !equal(health, found);
    health = found;
    agent.health = found;
    if (isNews) agents.poke(agent);
  };
  const volumes =
    options.inputs &&
    volumeGround(options.inputs, { description, hostIps, event, clock, changed: (uid) => pods.retry(uid) });
  const pods: Pods = new Pods({
    informer: mine,
    runtime,
    probes: prober,
    hooks: containerHooks(probeContext),
    clock,
    log,
    event,
    credentials: imageCredentials(client),
    nodeOf: (asked) => (asked === name ? node : undefined),
    grounds: [...(options.grounds ?? []), ...(volumes ? [volumes] : [])],
    madeAtOnce: options.madeAtOnce,
  });
  const serve = kubeletServer({
    ...(options.stats && { stats: options.stats }),
    clock,
    streams: options.streams,
    compression: options.spdyCompression,
    runtime,
    find(namespace, podName) {
      const pod = mine.cache.get({ namespace, name: podName });
      return pod && pods.workerOf(mirroredHash(pod) ?? pod.metadata.uid);
    },
    list: () => pods.on(name),
    metrics,
    probeMetrics,
    configuration: () => configurationOf(description),
  });
  countPods(metrics, name, () => pods.on(name));
  return {
    name: `kubelet ${name}`,
    handle: serve,
    pods: () => pods.on(name),
    ...(options.stats && { stats: options.stats }),
    report,
    evict: (uid, ending) => pods.evict(uid, ending),
    setHealth,
    get isRegistered() {
      return agent.isRegistered;
    },
    async run(signal) {
      // What runs of them must be known before anything is taken for an orphan.
      if (options.staticPods) pods.setStatic(await options.staticPods.read());
      report("Normal", "Starting", "Starting kubelet.");
      const watch = watched && new NodeWatch({ watched, clock, log, tell: (found) => tellHealth(found) });
      // A node that watches itself registers when it knows how it is.
      if (!watch) agents.start(agent);
      let isStarted = !watch;
      const tellHealth = (found: NodeHealth) => {
        setHealth(found);
        if (!isStarted) agents.start(agent);
        isStarted = true;
      };
      const parts: Component[] = [informers, agents, prober, pods, recorder, ...(options.parts ?? [])];
      if (watch) parts.push(watch);
      if (options.staticPods) parts.push(options.staticPods, follow(options.staticPods, pods));
      if (options.inputs && volumes) parts.push(options.inputs.sources, volumes);
      return supervise(parts, signal);
    },
  };
}

function volumeGround(
  { sources, volumes }: NonNullable<KubeletOptions["inputs"]>,
  {
    description,
    ...rest
  }: Pick<VolumeGroundOptions, "hostIps" | "event" | "clock" | "changed"> & {
    readonly description: NodeDescription;
  },
): VolumeGround {
  const { capacity, allocatable = capacity } = description;
  return new VolumeGround({ ...rest, volumes, allocatable, objects: sources.objects, tokens: sources.tokens });
}

/** Has the pods follow their files. What is read while more changes is read again. */
function follow(source: StaticPodSource, pods: Pods): Component {
  const lane = new Lanes<StaticPodSource>({
    name: "static pods",
    count: 1,
    work: async () => pods.setStatic(await source.read()),
  });
  source.changed = () => lane.add(source);
  return lane;
}
