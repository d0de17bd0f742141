// A kubelet for a node of this machine, put together: its runtime, its volumes, its probes, and what it tells of the machine.
import { mkdir, statfs } from "node:fs/promises";
import { join } from "node:path";
import type { Service } from "#api/core/v1/service.ts";
import type { Clock } from "#base/clock.ts";
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
import { ImageCollector } from "../images/image-collector.ts";
import { apiSources } from "../inputs/api-sources.ts";
import { type Kubelet, kubelet } from "../kubelet.ts";
import type { CriSettings } from "../runtime/cri-config.ts";
import { Hierarchy } from "./cgroups/hierarchy.ts";
import { PodCgroups } from "./cgroups/pod-cgroups.ts";
import { containerInputs } from "./container-inputs.ts";
import { CriRuntime } from "./cri/runtime.ts";
import { criStreams } from "./cri/streams.ts";
import { PodLogs } from "./logs/pod-logs.ts";
import { describeMachine, fileSystem, type MachineOptions, machineCapacity, machineState } from "./machine.ts";
import { probeHandlers } from "./probe-handlers.ts";
import { StaticFolder } from "./static-folder.ts";
import { Volumes } from "./volumes/volumes.ts";

export interface MachineKubeletOptions extends Omit<MachineOptions, "runtime"> {
  /** For what must not be on a disk; in memory, or made so. */
  readonly memoryFolder: string;
  /** Where the runtime keeps its images, if that is another disk. */
  readonly imageFolder?: string;
  /** Socket of the runtime: `unix:///run/containerd/containerd.sock`. */
  readonly endpoint: string;
  /** Acts as `system:node:NAME`. */
  readonly client: Client;
  /** Of all services, where somebody follows them anyhow. */
  readonly services?: Informer<typeof Service>;
  readonly dns?: NonNullable<CriSettings["dns"]>;
  readonly clusterDomain?: string;
  /** The node's own control group, `/knarr/CLUSTER/NODE`; without, pods are where the runtime puts them. */
  readonly cgroupRoot?: string;
  /** Processes that a pod may have; as many as the machine allows unless told. */
  readonly podPidsLimit?: number;
  /** A folder whose files are pods of the node's own; none unless told. */
  readonly staticPodsFolder?: string;
  /** Images that stay though no container uses them: that of the sandboxes. */
  readonly keepImages?: readonly string[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Rejects if the runtime does not answer. What the pods run goes on when it ends, and is found by the next. */
export async function machineKubelet(options: MachineKubeletOptions, signal: AbortSignal): Promise<Kubelet> {
  const { folder, memoryFolder, imageFolder = folder, client, clock, random, log, services, dns } = options;
  const { clusterDomain = "cluster.local", addresses, staticPodsFolder, cgroupRoot, podPidsLimit } = options;
  const podsDirectory = join(folder, "pods");
  await mkdir(podsDirectory, { recursive: true, mode: 0o750 });
  await ensureInMemory(memoryFolder);
  const sources = apiSources({ client, clock, random, log, ...(services && { services }) });
  const stamp = () => random.uuid();
  const volumes = new Volumes({ podsDirectory, memoryDirectory: memoryFolder, sources, stamp, clusterDomain });
  const place = { hostIps: addresses.filter(({ type }) => type === "InternalIP").map(({ address }) => address) };
  const { capacity, allocatable } = await machineCapacity(folder, options.maxPods);
  const [logsDirectory, linksDirectory] = [join(folder, "logs"), join(folder, "container-logs")];
  const hierarchy = new Hierarchy();
  const cgroups =
    cgroupRoot === undefined
      ? []
      : [
          new PodCgroups({
            root: cgroupRoot,
            hierarchy,
            cpuMillis: millisOf(capacity.cpu),
            pidsLimit: podPidsLimit,
            clock,
          }),
        ];
  const runtime = await CriRuntime.connect(
    {
      endpoint: options.endpoint,
      clock,
      podsDirectory,
      logsDirectory,
      logLinksDirectory: linksDirectory,
      memoryBytes: bytesOf(capacity.memory),
      isUnified: hierarchy.isUnified,
      ...(cgroupRoot !== undefined && { cgroupOf: (pod) => podGroup(cgroupRoot, pod) }),
      ...(dns && { dns }),
      inputs: containerInputs({ sources, volumes, ...place, allocatable }),
    },
    signal,
  );
  const list = () => made.pods();
  const logs = new PodLogs({ logsDirectory, linksDirectory, list, runtime, clock, log });
  const images = new ImageCollector({
    runtime,
    keep: options.keepImages ?? [],
    imageFs: () => fileSystem(imageFolder),
    event: (reason, message) => made.report("Warning", reason, message),
    clock,
    log,
  });
  const connection: Component = {
    name: "runtime connection",
    run: (stop) => unlessAborted(new Promise<void>(() => undefined), stop).finally(() => runtime.close()),
  };
  const made: Kubelet = kubelet({
    description: await describeMachine({ ...options, runtime }),
    client,
    runtime,
    probes: probeHandlers,
    streams: criStreams(runtime, clock),
    spdyCompression,
    inputs: { sources, volumes },
    watched: {
      runtimeNotReady: (stop) => runtime.notReady(stop),
      machine: () => machineState(folder, imageFolder),
      images: (stop) => runtime.images(stop),
    },
    ...(staticPodsFolder !== undefined && {
      staticPods: new StaticFolder({ folder: staticPodsFolder, node: options.name, clock, log }),
    }),
    grounds: [...cgroups, logs],
    parts: [connection, logs, images],
    clock,
    random,
    log,
  });
  return made;
}

const tmpfs = 0x01021994;

/** Mounts a file system in memory there, unless it is on one. */
async function ensureInMemory(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o750 });
  if ((await statfs(folder)).type !== tmpfs)
    await runProgram(["mount", "-t", "tmpfs", "-o", "mode=0750", "tmpfs", folder]);
}
