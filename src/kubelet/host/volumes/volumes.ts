// The volumes of pods on this node: folders below the kubelet's own, made before a container needs them and removed with the pod.
//
//   PODS/UID/volumes/KIND/NAME                       volumes that are kept on disk: emptyDir, configMap
//   MEMORY/UID/volumes/KIND/NAME                     volumes that must not be on a disk: secrets, tokens, fields of the pod
//   PODS/UID/volumeDevices/KIND/NAME                 links to block devices
//   PODS/UID/volume-subpaths/NAME/CONTAINER/N        bind mounts of sub paths
//   PODS/UID/etc-hosts

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Container } from "#api/core/v1/container.ts";
import type { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { Volume } from "#api/core/v1/volume.ts";
import { own } from "#base/collections.ts";
import { hasCode } from "#base/errors.ts";
import { expandVariables, type Variable, variablesIn } from "../../inputs/environment.ts";
import { InputMissing, type InputSources, type PodContext } from "../../inputs/sources.ts";
import type { FileSystemState } from "../../node/pressure.ts";
import type { RecordEvent } from "../../pods-context.ts";
import type { ContainerInputs } from "../../runtime/cri-config.ts";
import { type PodVolumes, VolumeFailed } from "../../volume-lifecycle.ts";
import { claimedVolume } from "./claimed-volume.ts";
import { beginningOf, makeFolder, writeAs } from "./files.ts";
import { hostsFile, nodeHostsFile } from "./hosts-file.ts";
import { emptyDir } from "./kinds/empty-dir.ts";
import { volumeKinds } from "./kinds/list.ts";
import { unmountBelow } from "./mounts.ts";
import { pathOf } from "./path-handles.ts";
import { removeTree } from "./remove-tree.ts";
import { bindTo, openBelow } from "./sub-path.ts";
import type { VolumeKind, VolumeRequest, VolumeSpec } from "./volume-kind.ts";

/** The largest file that is read for variables: a process cannot be given more. */
const maxFileBytes = 2 ** 20;

export interface VolumesOptions {
  /** Where the kubelet keeps files of pods: `/var/lib/kubelet/pods`. */
  readonly podsDirectory: string;
  /** On a file system in memory, such as `/run`; defaults to `podsDirectory`. */
  readonly memoryDirectory?: string;
  readonly sources: InputSources;
  /** Makes a name that no earlier state of a volume has had. */
  readonly stamp: () => string;
  readonly clusterDomain?: string;
  /** Kinds besides those that need nothing but this machine. */
  readonly moreKinds?: readonly VolumeKind[];
  readonly firstRefreshMs?: number | undefined;
}

type Device = NonNullable<ContainerInputs["devices"]>[number];
type Mount = ContainerInputs["mounts"][number];

const propagations: Readonly<Record<string, number>> = { None: 0, HostToContainer: 1, Bidirectional: 2 };

export class Volumes implements PodVolumes {
  readonly #options: Required<VolumesOptions>;
  readonly #kinds: readonly VolumeKind[];
  changed: (podUid: string) => void = () => undefined;
  event: RecordEvent = () => undefined;

  get firstRefreshMs(): number | undefined {
    return this.#options.firstRefreshMs;
  }

  /** The last work on each volume, by pod and name: a start and a refresh at the same time would remove each other's files. */
  readonly #locks = new Map<string, Promise<string>>();

  /** By pod and name, for as long as the pod has volumes. */
  readonly #claimed = new Map<string, PersistentVolume>();

  constructor(options: VolumesOptions) {
    this.#options = {
      memoryDirectory: options.podsDirectory,
      clusterDomain: "cluster.local",
      moreKinds: [],
      firstRefreshMs: undefined,
      ...options,
    };
    this.#kinds = [...volumeKinds, ...this.#options.moreKinds];
  }

  /** Makes all volumes of a pod. Rejects with VolumeFailed for the first that cannot be made. */
  async setUp(pod: Pod, context: PodContext): Promise<void> {
    for (const volume of pod.spec.volumes ?? []) await this.#provide(pod, volume, context, "first");
  }

  /** Brings the files of a running pod up to date with the objects they are made from. */
  async refresh(pod: Pod, context: PodContext): Promise<number> {
    let nextMs = Number.POSITIVE_INFINITY;
    for (const volume of pod.spec.volumes ?? [])
      if (isMadeOfObjects(volume)) await this.#provide(pod, volume, context);
      else nextMs = Math.min(nextMs, await this.#refresh(pod, volume, context));
    return nextMs;
  }

  async #refresh(pod: Pod, volume: Volume, context: PodContext): Promise<number> {
    const isOthers = volume.persistentVolumeClaim ?? volume.ephemeral ?? volume.csi;
    if (!isOthers || !this.#kinds.some(({ refresh }) => refresh)) return Number.POSITIVE_INFINITY;
    try {
      const { kind, request } = await this.#requestOf(pod, volume, context);
      return (await kind.refresh?.(request)) ?? Number.POSITIVE_INFINITY;
    } catch (error) {
      throw new VolumeFailed(volume.name, error);
    }
  }

  /** The mounts of a container. Makes the volumes that are missing. */
  async mountsOf(
    pod: Pod,
    container: Container,
    context: PodContext,
    env: readonly Variable[] = [],
  ): Promise<readonly Mount[]> {
    const mounts: Mount[] = [];
    for (const [i, mount] of (container.volumeMounts ?? []).entries()) {
      const { name, mountPath, readOnly = false, recursiveReadOnly, mountPropagation = "None" } = mount;
      if (recursiveReadOnly === "Enabled")
        throw new InputMissing(
          `volume "${name}" requested recursive read-only mode, but it is not supported by the runtime`,
        );
      const volume = pod.spec.volumes?.find((one) => one.name === name);
      if (!volume) throw new InputMissing(`volume ${name} is not one of the pod's`);
      const root = await this.#provide(pod, volume, context);
      const subPath = subPathOf(mount, env);
      const isReadOnly = isMadeOfObjects(volume) || isReadOnlyFor(volume);
      mounts.push({
        containerPath: mountPath.startsWith("/") ? mountPath : `/${mountPath}`,
        hostPath: subPath === "" ? root : await this.#bindSubPath(pod, { container, volume, root, subPath, index: i }),
        readonly: readOnly || isReadOnly,
        propagation: own(propagations, mountPropagation) ?? 0,
      });
    }
    if (!mounts.some(({ containerPath }) => containerPath === "/etc/hosts"))
      mounts.push({
        containerPath: "/etc/hosts",
        hostPath: await this.#hostsFile(pod, context),
        readonly: container.securityContext?.readOnlyRootFilesystem ?? false,
        propagation: 0,
      });
    return mounts;
  }

  /** The block devices of a container. Makes those that are missing. */
  async devicesOf(pod: Pod, { volumeDevices = [] }: Container, context: PodContext): Promise<readonly Device[]> {
    const devices: Device[] = [];
    for (const { name, devicePath } of volumeDevices) {
      const volume = pod.spec.volumes?.find((one) => one.name === name);
      if (!volume) throw new InputMissing(`volume ${name} is not one of the pod's`);
      const hostPath = await this.#provide(pod, volume, context);
      devices.push({ containerPath: devicePath, hostPath, permissions: isReadOnlyFor(volume) ? "r" : "mrw" });
    }
    return devices;
  }

  /** The content of a file in a volume of the pod. A link that leads out of the volume is not followed. */
  async read(pod: Pod, volumeName: string, path: string, context: PodContext): Promise<string> {
    const volume = pod.spec.volumes?.find(({ name }) => name === volumeName);
    if (!volume) throw new InputMissing(`volume ${volumeName} is not one of the pod's`);
    const handle = await openBelow(await this.#provide(pod, volume, context), path);
    try {
      const found = await handle.stat();
      if (!found.isFile()) throw new InputMissing(`${path} is no file`); // a pipe would never end, a device is the machine's
      const content = await beginningOf(pathOf(handle), maxFileBytes + 1); // it may be growing
      if (content.length > maxFileBytes) throw new InputMissing(`file ${path} has more than ${maxFileBytes} bytes`);
      return content.toString();
    } finally {
      await handle.close();
    }
  }

  /** Removes the volumes of a pod of which nothing runs any more. Its termination messages stay. */
  async tearDown(podUid: string): Promise<void> {
    for (const key of this.#claimed.keys()) if (key.startsWith(`${podUid}/`)) this.#claimed.delete(key);
    const { podsDirectory, memoryDirectory } = this.#options;
    const folder = join(podsDirectory, podUid);
    // Parts of volumes first, since they keep the volumes busy. What is mounted then was mounted by a container, or by an older kubelet.
    await unmountBelow(join(folder, "volume-subpaths"));
    for (const root of new Set([podsDirectory, memoryDirectory])) await this.#unpublishAll(join(root, podUid));
    await unmountBelow(folder);
    for (const kind of this.#kinds) kind.forget?.(podUid);
    const paths = [
      join(folder, "volumes"),
      join(folder, "volumeDevices"),
      join(folder, "volume-subpaths"),
      join(folder, "etc-hosts"),
    ];
    if (memoryDirectory !== podsDirectory) paths.push(join(memoryDirectory, podUid));
    for (const path of paths) await removeTree(path);
  }

  /** Removes all that is left of a pod. */
  async remove(podUid: string): Promise<void> {
    await this.tearDown(podUid);
    await removeTree(join(this.#options.podsDirectory, podUid));
  }

  /** Pods of which there are files. */
  async pods(): Promise<readonly string[]> {
    const { podsDirectory, memoryDirectory } = this.#options;
    const found = await Promise.all([podsDirectory, memoryDirectory].map(namesIn));
    return [...new Set(found.flat())];
  }

  /** How full a volume is whose kind can tell, which may ask the API once; undefined if it has another, or none. */
  async measure(pod: Pod, volume: Volume, context: PodContext): Promise<FileSystemState | undefined> {
    const { kind, request } = await this.#requestOf(pod, volume, context, "known");
    return kind.measure?.(request);
  }

  /** Where an emptyDir of the pod is. */
  emptyFolder(pod: Pod, name: string): string {
    return this.#folderOf(emptyDir, pod, name);
  }

  #folderOf({ keptIn, folderName }: VolumeKind, { metadata }: Pod, name: string): string {
    const { podsDirectory, memoryDirectory } = this.#options;
    return join(keptIn === "disk" ? podsDirectory : memoryDirectory, metadata.uid, "volumes", folderName, name);
  }

  async #provide(pod: Pod, volume: Volume, context: PodContext, time: "first" | "again" = "again"): Promise<string> {
    const key = `${pod.metadata.uid}/${volume.name}`;
    const make = () => this.#make(pod, volume, context, time);
    const turn = (this.#locks.get(key) ?? Promise.resolve()).then(make, make);
    this.#locks.set(key, turn);
    try {
      return await turn;
    } catch (error) {
      throw new VolumeFailed(volume.name, error);
    } finally {
      if (this.#locks.get(key) === turn) this.#locks.delete(key);
    }
  }

  async #make(pod: Pod, volume: Volume, context: PodContext, time: "first" | "again"): Promise<string> {
    const { kind, request } = await this.#requestOf(pod, volume, context);
    if (request.persistentVolume?.spec.volumeMode === "Block") {
      if (!kind.provideDevice) throw new InputMissing(`${subjectOf(request)} cannot be a block device`);
      const { podsDirectory } = this.#options;
      const parts = ["volumeDevices", kind.folderName, request.persistentVolume.metadata.name];
      return kind.provideDevice({ ...request, link: join(podsDirectory, pod.metadata.uid, ...parts) });
    }
    const path = await kind.provide(request);
    if (time === "first") await kind.publish?.(path, request);
    return path;
  }

  /** With `known`, the persistent volume may be as it was when it was last looked at. */
  async #requestOf(pod: Pod, volume: Volume, context: PodContext, age?: "known") {
    const { sources, stamp } = this.#options;
    const isClaim = (volume.persistentVolumeClaim ?? volume.ephemeral) !== undefined;
    const key = `${pod.metadata.uid}/${volume.name}`;
    const known = age && this.#claimed.get(key);
    const persistentVolume = isClaim ? (known ?? (await claimedVolume(pod, volume, sources))) : undefined;
    if (persistentVolume) this.#claimed.set(key, persistentVolume);
    const spec = { volume, ...(persistentVolume && { persistentVolume }) };
    const kind = this.#kindOf(spec);
    const request: VolumeRequest = {
      ...spec,
      pod,
      podContext: context,
      sources,
      stamp,
      event: (type, reason, message) => this.event(pod, type, reason, message),
      // As upstream names it: a claim's folder has the name of what the claim has got.
      folder: this.#folderOf(kind, pod, persistentVolume?.metadata.name ?? volume.name),
    };
    return { kind, request };
  }

  #kindOf(spec: VolumeSpec): VolumeKind {
    const kind = this.#kinds.find((candidate) => candidate.supports(spec));
    if (kind) return kind;
    throw new InputMissing(`${subjectOf(spec)} is of a type that this kubelet cannot mount`);
  }

  /** Takes back the volumes that are found in a pod's folder, whichever kubelet made them. */
  async #unpublishAll(folder: string): Promise<void> {
    for (const kind of this.#kinds) {
      const volumes = join(folder, "volumes", kind.folderName);
      if (kind.unpublish) for (const name of await namesIn(volumes)) await kind.unpublish(join(volumes, name));
      const links = join(folder, "volumeDevices", kind.folderName);
      if (kind.unpublishDevice) for (const name of await namesIn(links)) await kind.unpublishDevice(join(links, name));
    }
  }

  async #bindSubPath(pod: Pod, { container, volume, root, subPath, index }: SubPathMount): Promise<string> {
    const { podsDirectory } = this.#options;
    const parts = [podsDirectory, pod.metadata.uid, "volume-subpaths", volume.name, container.name, String(index)];
    const target = join(...parts);
    try {
      const handle = await openBelow(root, subPath, isMadeOfObjects(volume) ? undefined : "of the root");
      try {
        await bindTo(handle, target);
      } finally {
        await handle.close();
      }
    } catch (cause) {
      const where = `volumeMount ${JSON.stringify(volume.name)} of container ${JSON.stringify(container.name)}`;
      throw new InputMissing(`failed to prepare subPath for ${where}`, { cause });
    }
    return target;
  }

  async #hostsFile(pod: Pod, { podIps }: PodContext): Promise<string> {
    const { podsDirectory, clusterDomain } = this.#options;
    const path = join(podsDirectory, pod.metadata.uid, "etc-hosts");
    await makeFolder(join(path, ".."), 0o750);
    const content = pod.spec.hostNetwork
      ? nodeHostsFile(pod, await readFile("/etc/hosts", "utf8"))
      : hostsFile(pod, podIps, clusterDomain);
    await writeAs(path, content, 0o644);
    return path;
  }
}

interface SubPathMount {
  readonly container: Container;
  readonly volume: Volume;
  readonly root: string;
  readonly subPath: string;
  readonly index: number;
}

const subjectOf = ({ persistentVolume }: VolumeSpec): string =>
  persistentVolume ? `persistent volume ${persistentVolume.metadata.name}` : "it";

/** Whether the pod wants no container to write. */
const isReadOnlyFor = ({ persistentVolumeClaim, csi }: Volume): boolean =>
  (persistentVolumeClaim?.readOnly ?? csi?.readOnly) === true;

const isMadeOfObjects = (volume: Volume): boolean =>
  volumeKinds.some((kind) => kind.isMadeOfObjects && kind.supports({ volume }));

/** Messages are those of upstream's `makeMounts`. A variable without a value must not vanish from a path. */
function subPathOf(
  { subPath = "", subPathExpr = "" }: NonNullable<Container["volumeMounts"]>[number],
  env: readonly Variable[],
): string {
  const path = subPathExpr === "" ? subPath : expandedPath(subPathExpr, env);
  if (path.startsWith("/")) throw new InputMissing(`error SubPath \`${path}\` must not be an absolute path`);
  if (path.split("/").includes(".."))
    throw new InputMissing(`unable to provision SubPath \`${path}\`: must not contain '..'`);
  return path;
}

function expandedPath(expression: string, env: readonly Variable[]): string {
  const known = new Map(env.map(({ name, value }) => [name, value]));
  const missing = variablesIn(expression).filter((name) => !known.get(name));
  if (missing.length > 0) throw new InputMissing(`missing value for ${[...new Set(missing)].sort().join(", ")}`);
  return expandVariables(expression, known);
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return [];
    throw error;
  }
}
