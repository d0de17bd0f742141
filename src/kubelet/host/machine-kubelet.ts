// Assembles the kubelet of a node on this machine: CRI runtime, volumes, cgroups, logs, stats, image collection and eviction.
import { mkdir, statfs } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { Service } from "#api/core/v1/service.ts";
import { RuntimeClass } from "#api/node/v1/runtime-class.ts";
import type { Clock } from "#base/clock.ts";
import { DiskReserve } from "#base/host/disk-reserve.ts";
import { runProgram } from "#base/host/run-program.ts";
import type { Log } from "#base/log.ts";
import type { Random } from "#base/random.ts";
import type { Component } from "#base/supervise.ts";
import { unlessAborted } from "#base/unless-aborted.ts";
import type { Client } from "#client/client.ts";
import type { Informer } from "#client/informer.ts";
import { spdyCompression } from "#wire/host/streams/spdy-compression.ts";
import { bytesOf, millisOf } from "../cgroups/limits.ts";
import { podGroup } from "../cgroups/tree.ts";
import { Evictor } from "../eviction.ts";
import { ImageCollector, type ImageThresholds } from "../images/image-collector.ts";
import { type ApiSources, apiSources } from "../inputs/api-sources.ts";
import { type Kubelet, kubelet } from "../kubelet.ts";
import type { NodeSensors } from "../node/node-health-monitor.ts";
import { evictionThresholds } from "../node/pressure.ts";
import type { CriSettings } from "../runtime/cri-config.ts";
import { sandboxProfile } from "../runtime/sandbox-profile.ts";
import { StaticSources } from "../static-pods/static-sources.ts";
import { StorageLimits } from "../storage-limits.ts";
import { Hierarchy } from "./cgroups/hierarchy.ts";
import { PodCgroups } from "./cgroups/pod-cgroups.ts";
import { containerInputs } from "./container-inputs.ts";
import { CriRuntime, type CriRuntimeOptions } from "./cri/runtime.ts";
import { criStreams } from "./cri/streams.ts";
import { CsiStorage } from "./csi/csi-storage.ts";
import { DevicePlugins } from "./device-plugins/device-plugins.ts";
import { DeviceDrivers } from "./devices/device-drivers.ts";
import { DeviceSlices } from "./devices/device-slices.ts";
import { PodDevices } from "./devices/pod-devices.ts";
import { PreparedClaims } from "./devices/prepared-claims.ts";
import { PodLogs } from "./logs/pod-logs.ts";
import {
  describeMachine,
  fileSystem,
  type MachineOptions,
  machineCapacity,
  machineState,
  throttleFolders,
} from "./machine.ts";
import { type DialNode, probeHandlers } from "./probe-handlers.ts";
import { StaticFolder } from "./static-folder.ts";
import { StaticUrl, type StaticUrlOptions } from "./static-url.ts";
import { MachineStats } from "./stats/machine-stats.ts";
import { writeAs } from "./volumes/files.ts";
import { VolumeMeter } from "./volumes/volume-meter.ts";
import { Volumes } from "./volumes/volumes.ts";

export interface MachineKubeletOptions extends Omit<MachineOptions, "runtime"> {
  /** For files that must not be on a disk; a tmpfs is mounted there unless it is on one. */
  readonly memoryFolder: string;
  /** Where the runtime keeps its images, if that is another disk. */
  readonly imageFolder?: string;
  /** When unused images are removed; defaults to upstream's thresholds. */
  readonly imageThresholds?: ImageThresholds;
  /** Socket of the runtime: `unix:///run/containerd/containerd.sock`. */
  readonly endpoint: string;
  /** Acts as `system:node:NAME`. */
  readonly client: Client;
  /** An informer of all services, if the process has one already. */
  readonly services?: Informer<typeof Service>;
  /** Called when the node has come to the API. */
  readonly registered?: () => void;
  readonly dns?: NonNullable<CriSettings["dns"]>;
  readonly clusterDomain?: string;
  /** Waits for an image that is being loaded into the node, and resolves with whether it had to; defaults to no waiting. */
  readonly imageComing?: CriRuntimeOptions["imageComing"];
  /** The node's own control group, `/knarr/CLUSTER/NODE`; without, pods are where the runtime puts them. */
  readonly cgroupRoot?: string;
  /** Processes that a pod may have; negative, as the default, for as many as the machine allows. */
  readonly podPidsLimit?: number;
  /** Connects from the network of the node: to the runtime's streaming server, and to the loopback for probes. Defaults to that of this process. */
  readonly dial?: DialNode;
  /** `/proc/net` of the node's network; defaults to that of this process. */
  readonly procNet?: string;
  /** Other nodes of this machine, whose pods take from the same memory and disk. */
  readonly peers?: () => Iterable<Kubelet>;
  /** How often volumes of storage drivers are looked at again; defaults to upstream's minute. */
  readonly volumeRefreshMs?: number;
  /** A folder of static pod manifests; defaults to none. */
  readonly staticPodsFolder?: string;
  /** Where static pods are read from besides; defaults to nowhere. */
  readonly staticPodsUrl?: Pick<StaticUrlOptions, "url" | "headers" | "everyMs">;
  /** Whether it makes its Node where there is none; defaults to true. */
  readonly registers?: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Rejects if the runtime does not answer. What the pods run goes on when it ends, and is found by the next. */
export async function machineKubelet(options: MachineKubeletOptions, signal: AbortSignal): Promise<Kubelet> {
  const { folder, memoryFolder, client, clock, random, log, services } = options;
  const podsDirectory = join(folder, "pods");
  await mkdir(podsDirectory, { recursive: true, mode: 0o750 });
  await ensureInMemory(memoryFolder);
  const sources = apiSources({ client, clock, random, log, ...(services && { services }) });
  const { drivers, slices, podDevices, devicePlugins } = devicesOf(options);
  const { volumes, storage } = volumesOf(options, podsDirectory, sources, drivers);
  const { capacity, allocatable } = await machineCapacity(options);
  const hierarchy = new Hierarchy();
  const hostIps = options.addresses.filter(({ type }) => type === "InternalIP").map(({ address }) => address);
  const inputs = containerInputs({ sources, volumes, podDevices, devicePlugins, hostIps, allocatable });
  const profile = await writeSandboxProfile(folder);
  const runtime = await connect(
    options,
    { podsDirectory, hierarchy, memory: capacity.memory, inputs, profile },
    signal,
  );
  const list = () => node.pods();
  const logs = new PodLogs({ ...logFolders(folder), list, runtime, clock, log });
  const stats = machineStats(options, { hierarchy, list, runtime, logs, meter: new VolumeMeter(volumes, clock) });
  const images = imageCollector(options, { runtime, kubelet: () => node });
  const node: Kubelet = kubelet({
    description: await describeMachine({ ...options, runtime }),
    client,
    ...(options.registers !== undefined && { registers: options.registers }),
    registered: () => {
      storage.registered();
      slices.registered();
      options.registered?.();
    },
    nodeChanged: (changed) => storage.nodeChanged(changed),
    runtime,
    probes: probeHandlers(options.dial),
    streams: criStreams(runtime, clock, options.dial),
    spdyCompression,
    inputs: { sources, volumes },
    sensors: sensorsOf(options, { runtime, stats, images, devicePlugins, kubelet: () => node }),
    ...staticPodsOf(options),
    stats: (which, stop) => stats.summary(which, stop),
    hostResources: [...cgroupsOf(options, hierarchy, capacity.cpu), logs, podDevices, devicePlugins],
    maxConcurrentStarts: podsAtOnce,
    parts: [
      connectionOf(runtime),
      storage,
      slices,
      devicePlugins,
      logs,
      images,
      storageLimits(options, { stats, kubelet: () => node }),
    ],
    clock,
    random,
    log,
  });
  return node;
}

/** The control groups of the node's pods, where it makes some. */
function cgroupsOf({ cgroupRoot, podPidsLimit, clock }: MachineKubeletOptions, hierarchy: Hierarchy, cpu?: string) {
  if (cgroupRoot === undefined) return [];
  return [new PodCgroups({ root: cgroupRoot, hierarchy, cpuMillis: millisOf(cpu), pidsLimit: podPidsLimit, clock })];
}

/** The devices of the node's pods: drivers of claims, plugins, and who has what. */
function devicesOf({ name, folder, client, clock, log }: MachineKubeletOptions) {
  const slices = new DeviceSlices({ node: name, client, clock });
  const drivers = new DeviceDrivers(clock, slices);
  const prepared = new PreparedClaims(join(folder, "dra_manager_state"));
  return {
    drivers,
    slices,
    podDevices: new PodDevices({ client, drivers, prepared }),
    devicePlugins: new DevicePlugins({ folder: join(folder, "device-plugins"), clock, log }),
  };
}

/** The volumes of the node's pods, and the storage drivers that provide some of them. */
function volumesOf(
  { name, folder, memoryFolder, client, clusterDomain, volumeRefreshMs, clock, random, log }: MachineKubeletOptions,
  podsDirectory: string,
  sources: ApiSources,
  drivers: DeviceDrivers,
): { readonly volumes: Volumes; readonly storage: CsiStorage } {
  const { tokens } = sources;
  const places = { node: name, root: folder, podsDirectory };
  const otherPlugins = { DRAPlugin: drivers };
  const storage = new CsiStorage({
    ...places,
    client,
    tokens,
    refreshMs: volumeRefreshMs,
    otherPlugins,
    clock,
    random,
    log,
  });
  const volumes = new Volumes({
    podsDirectory,
    memoryDirectory: memoryFolder,
    sources,
    stamp: () => random.uuid(),
    moreKinds: [storage.volumes],
    firstRefreshMs: volumeRefreshMs,
    ...(clusterDomain !== undefined && { clusterDomain }),
  });
  storage.volumes.changed = (uid) => volumes.changed(uid);
  return { volumes, storage };
}

/** How many pods a node makes at once. */
export const podsAtOnce = 2 * availableParallelism();

const logFolders = (folder: string) => ({
  logsDirectory: join(folder, "logs"),
  linksDirectory: join(folder, "container-logs"),
});

function connect(
  { endpoint, client, clock, dns, clusterDomain, cgroupRoot, folder, imageComing }: MachineKubeletOptions,
  { podsDirectory, hierarchy, memory, inputs, profile }: RuntimeParts,
  signal: AbortSignal,
): Promise<CriRuntime> {
  const { logsDirectory, linksDirectory } = logFolders(folder);
  return CriRuntime.connect(
    {
      endpoint,
      clock,
      podsDirectory,
      logsDirectory,
      logLinksDirectory: linksDirectory,
      memoryBytes: bytesOf(memory),
      isUnified: hierarchy.isUnified,
      ...(cgroupRoot !== undefined && { cgroupOf: (pod) => podGroup(cgroupRoot, pod) }),
      ...(dns && { dns }),
      ...(clusterDomain !== undefined && { clusterDomain }),
      ...(imageComing && { imageComing }),
      seccompDirectory: join(folder, "seccomp"),
      ...(profile !== undefined && { sandboxProfile: profile }),
      throttleFolders: throttleFolders(),
      runtimeHandler: async (name) => (await client.get(RuntimeClass, { name })).handler,
      inputs,
    },
    signal,
  );
}

interface RuntimeParts {
  readonly podsDirectory: string;
  readonly hierarchy: Hierarchy;
  readonly memory: string | undefined;
  readonly inputs: CriRuntimeOptions["inputs"];
  /** The file of a seccomp filter for sandboxes. */
  readonly profile: string | undefined;
}

/** Where it is; undefined where there is none for this machine. */
async function writeSandboxProfile(folder: string): Promise<string | undefined> {
  const profile = sandboxProfile(process.arch);
  if (!profile) return undefined;
  const path = join(folder, "sandbox-seccomp.json");
  await writeAs(path, JSON.stringify(profile), 0o644);
  return path;
}

const connectionOf = (runtime: CriRuntime): Component => ({
  name: "runtime connection",
  run: (stop) => unlessAborted(new Promise<void>(() => undefined), stop).finally(() => runtime.close()),
});

/** What the health of the node is measured by, and what is done under pressure. */
function sensorsOf(
  {
    folder,
    imageFolder = folder,
    thresholds = evictionThresholds,
    peers = () => [],
    clock,
    log,
  }: MachineKubeletOptions,
  { runtime, stats, images, devicePlugins, kubelet: nodeKubelet }: SensorParts,
): NodeSensors {
  const machine = () => machineState(folder, imageFolder);
  const evictor = new Evictor({
    pods: () => nodeKubelet().pods(),
    stats: (which, signal) => stats.summary(which, signal),
    peers: function* () {
      for (const { pods, stats: summary } of peers()) if (summary) yield { pods, stats: summary };
    },
    machine,
    freeImages: (signal) => images.freeAll(signal),
    evict: (uid, termination) => nodeKubelet().evict(uid, termination),
    report: (reason, message) => nodeKubelet().report("Warning", reason, message),
    reserve: new DiskReserve(join(folder, "disk.reserve")),
    thresholds,
    clock,
    log,
  });
  return {
    thresholds,
    runtimeNotReady: (signal) => runtime.notReady(signal),
    machine,
    images: (signal) => runtime.images(signal),
    devices: () => devicePlugins.counts,
    relieve: (found, signal) => evictor.relieve(found, signal),
  };
}

interface SensorParts {
  readonly runtime: CriRuntime;
  readonly stats: MachineStats;
  readonly images: ImageCollector;
  readonly devicePlugins: DevicePlugins;
  readonly kubelet: () => Kubelet;
}

function staticPodsOf({ staticPodsFolder, staticPodsUrl, name, clock, log }: MachineKubeletOptions) {
  const common = { node: name, clock, log };
  const sources = [
    ...(staticPodsFolder === undefined ? [] : [new StaticFolder({ folder: staticPodsFolder, ...common })]),
    ...(staticPodsUrl ? [new StaticUrl({ ...staticPodsUrl, ...common })] : []),
  ];
  return sources.length === 0 ? {} : { staticPods: new StaticSources(sources) };
}

interface StatsParts {
  readonly hierarchy: Hierarchy;
  readonly list: Kubelet["pods"];
  readonly runtime: CriRuntime;
  readonly logs: PodLogs;
  readonly meter: VolumeMeter;
}

function machineStats(options: MachineKubeletOptions, { runtime, logs, meter, ...parts }: StatsParts): MachineStats {
  const { name, folder, imageFolder = folder, cgroupRoot, procNet, clock } = options;
  return new MachineStats({
    ...parts,
    node: name,
    startedAt: clock.now(),
    folder,
    imageFolder,
    cgroupRoot,
    containers: (signal) => runtime.containerUsage(signal),
    volumes: (pod) => meter.of(pod),
    logBytes: (pod, container) => logs.bytesOf(pod, container),
    ...(procNet !== undefined && { procNet }),
    clock,
  });
}

const imageCollector = (
  { folder, imageFolder = folder, imageThresholds, clock, log }: MachineKubeletOptions,
  { runtime, kubelet: nodeKubelet }: Pick<SensorParts, "runtime" | "kubelet">,
): ImageCollector =>
  new ImageCollector({
    runtime,
    imageFs: () => fileSystem(imageFolder),
    ...(imageThresholds && { thresholds: imageThresholds }),
    event: (reason, message) => nodeKubelet().report("Warning", reason, message),
    clock,
    log,
  });

const storageLimits = (
  { clock, log }: MachineKubeletOptions,
  { stats, kubelet: nodeKubelet }: Pick<SensorParts, "stats" | "kubelet">,
): StorageLimits =>
  new StorageLimits({
    list: () => nodeKubelet().pods(),
    summary: (signal) => stats.summary("all", signal),
    evict: (uid, termination) => nodeKubelet().evict(uid, termination),
    clock,
    log,
  });

const tmpfs = 0x01021994;

/** Mounts a file system in memory there, unless it is on one. */
async function ensureInMemory(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o750 });
  if ((await statfs(folder)).type !== tmpfs)
    await runProgram(["mount", "-t", "tmpfs", "-o", "mode=0750", "tmpfs", folder]);
}
