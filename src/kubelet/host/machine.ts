// Describes this machine as a node. Several nodes on one machine each report the whole machine.
import { existsSync, readdirSync } from "node:fs";
import { readdir, readFile, statfs } from "node:fs/promises";
import { arch, availableParallelism, release } from "node:os";
import type { Amounts } from "#api/core/v1/amounts.ts";
import type { NodeSystemInfo } from "#api/core/v1/node.ts";
import { hasAppArmor } from "#base/host/app-armor.ts";
import type { NodeDescription } from "../node/description.ts";
import {
  type EvictionThresholds,
  evictionThresholds,
  type FileSystemState,
  type MachineState,
} from "../node/pressure.ts";

export interface MachineOptions
  extends Pick<NodeDescription, "name" | "addresses" | "port" | "labels" | "annotations" | "taints" | "podCidrs"> {
  /** The kubelet's folder: the disk it is on is what pods may use. */
  readonly folder: string;
  /** As CRI tells it. */
  readonly runtime: { readonly name: string; readonly version: string };
  readonly kubeletVersion: string;
  readonly maxPods?: number;
  /** Thresholds of pressure and eviction; defaults to upstream's. */
  readonly thresholds?: EvictionThresholds;
}

const defaultMaxPods = 110;

export async function describeMachine(options: MachineOptions): Promise<NodeDescription> {
  const { name, addresses, port, labels, annotations, taints, podCidrs, runtime, kubeletVersion } = options;
  return {
    name,
    addresses,
    port,
    ...(labels && { labels }),
    ...(annotations && { annotations }),
    ...(taints && { taints }),
    ...(podCidrs && { podCidrs }),
    ...(await machineCapacity(options)),
    system: await systemInfo(runtime, kubeletVersion),
    hasAppArmor: hasAppArmor(),
  };
}

/** What the machine has, and what of it pods may have: evictions begin before all is used. */
export async function machineCapacity({
  folder,
  maxPods = defaultMaxPods,
  thresholds = evictionThresholds,
}: Pick<MachineOptions, "folder" | "maxPods" | "thresholds">): Promise<{
  readonly capacity: Amounts;
  readonly allocatable: Amounts;
}> {
  const { totalBytes } = await memoryInfo();
  const { capacityBytes } = await fileSystem(folder);
  const hugepages = await hugepagesOf();
  const capacity: Amounts = {
    cpu: String(availableParallelism()),
    memory: kibibytes(totalBytes),
    "ephemeral-storage": kibibytes(capacityBytes),
    ...Object.fromEntries(hugepages.map(({ name, bytes }) => [name, bytes === 0 ? "0" : kibibytes(bytes)])),
    pods: String(maxPods),
  };
  const inHugepages = hugepages.reduce((sum, { bytes }) => sum + bytes, 0);
  const { memoryAvailableBytes, nodeFsAvailable } = thresholds;
  return {
    capacity,
    allocatable: {
      ...capacity,
      memory: kibibytes(totalBytes - memoryAvailableBytes - inHugepages),
      "ephemeral-storage": String(capacityBytes - Math.floor(capacityBytes * nodeFsAvailable)),
    },
  };
}

/** How much is left of what a machine can run out of. */
export async function machineState(nodeFolder: string, imageFolder: string): Promise<MachineState> {
  const { totalBytes, freeBytes, inactiveFileBytes } = await memoryInfo();
  return {
    memoryBytes: totalBytes,
    memoryAvailableBytes: freeBytes + inactiveFileBytes,
    nodeFs: await fileSystem(nodeFolder),
    imageFs: await fileSystem(imageFolder),
  };
}

export async function fileSystem(folder: string): Promise<FileSystemState> {
  const { bsize, blocks, bavail, bfree, files, ffree } = await statfs(folder);
  return {
    capacityBytes: blocks * bsize,
    availableBytes: bavail * bsize,
    usedBytes: (blocks - bfree) * bsize,
    inodes: files,
    inodesFree: ffree,
  };
}

/** From /proc/meminfo. Inactive page cache counts as available, since the kernel can reclaim it at any time. */
export async function memoryInfo() {
  const text = await readFile("/proc/meminfo", "utf8");
  const bytes = (name: string) => Number(new RegExp(`^${name}: +(\\d+) kB$`, "m").exec(text)?.[1] ?? 0) * 1024;
  return {
    totalBytes: bytes("MemTotal"),
    freeBytes: bytes("MemFree"),
    inactiveFileBytes: bytes("Inactive\\(file\\)"),
    anonymousBytes: bytes("AnonPages"),
    swapBytes: bytes("SwapTotal"),
  };
}

/** `hugepages-2Mi` and the like, for each size that the kernel has. */
async function hugepagesOf(): Promise<readonly { readonly name: string; readonly bytes: number }[]> {
  const folder = "/sys/kernel/mm/hugepages";
  const sizes = await readdir(folder).catch(() => []); // a kernel without them
  return Promise.all(
    sizes.map(async (size) => {
      const kib = Number(/^hugepages-(\d+)kB$/.exec(size)?.[1] ?? 0);
      const count = Number(await firstLine(`${folder}/${size}/nr_hugepages`));
      const unit = kib % 1024 ** 2 === 0 ? `${kib / 1024 ** 2}Gi` : kib % 1024 === 0 ? `${kib / 1024}Mi` : `${kib}Ki`;
      return { name: `hugepages-${unit}`, bytes: count * kib * 1024 };
    }),
  );
}

const architectures: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386", mips64el: "mips64le" };

async function systemInfo(runtime: MachineOptions["runtime"], kubeletVersion: string): Promise<NodeSystemInfo> {
  const { swapBytes } = await memoryInfo();
  const machineID = await firstLine("/etc/machine-id", "/var/lib/dbus/machine-id");
  return {
    machineID,
    systemUUID: await firstLine(
      "/sys/class/dmi/id/product_uuid",
      "/proc/device-tree/system-id",
      "/proc/device-tree/vm,uuid",
      "/etc/machine-id",
    ),
    bootID: await firstLine("/proc/sys/kernel/random/boot_id"),
    kernelVersion: release(),
    osImage: await osName(),
    containerRuntimeVersion: `${runtime.name}://${runtime.version.replace(/^v/, "")}`,
    kubeletVersion,
    kubeProxyVersion: "",
    operatingSystem: "linux",
    architecture: architectures[arch()] ?? arch(),
    swap: swapBytes === 0 ? undefined : { capacity: swapBytes },
  };
}

/** `PRETTY_NAME` of the system, as the shell would read it. */
async function osName(): Promise<string> {
  const text = await readFile("/etc/os-release", "utf8").catch(() =>
    readFile("/usr/lib/os-release", "utf8").catch(() => ""),
  );
  const value = /^PRETTY_NAME=(.*)$/m.exec(text)?.[1] ?? "Linux";
  return value.replace(/^"(.*)"$/, "$1").replace(/^'(.*)'$/, "$1");
}

/** Of the first of these files that there is; empty if there is none. */
/** Of each processor that tells of its heat, by which containers could learn what others do. */
export const throttleFolders = (cpus = "/sys/devices/system/cpu"): readonly string[] =>
  readdirSync(cpus)
    .filter((name) => /^cpu\d+$/.test(name))
    .map((name) => `${cpus}/${name}/thermal_throttle`)
    .filter((folder) => existsSync(folder));

async function firstLine(...paths: readonly string[]): Promise<string> {
  for (const path of paths) {
    const text = await readFile(path, "utf8").catch(() => ""); // not every machine tells everything
    const [line = ""] = text.replaceAll("\0", "").trim().split("\n");
    if (line !== "") return line;
  }
  return "";
}

const kibibytes = (bytes: number): string => `${Math.floor(bytes / 1024)}Ki`;
