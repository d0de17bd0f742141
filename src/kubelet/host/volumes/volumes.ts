// The volumes of pods on this node: folders below the kubelet's own, made before a container needs them and removed with the pod.
import { chmod, chown, lstat, mkdir, readdir, realpath, rm, stat, writeFile } from "node:fs/promises";
import { join, sep } from "node:path";
import type { Container } from "#api/core/v1/container.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { Volume } from "#api/core/v1/volume.ts";
import { mountsBelow } from "#base/host/mounts.ts";
import { runProgram } from "#base/host/run-program.ts";
import { parseQuantity, quantityValue } from "#schema/quantity.ts";
import { filesOf } from "../../inputs/files.ts";
import { InputMissing, type InputSources, type PodPlace } from "../../inputs/sources.ts";
import type { ContainerInputs } from "../../runtime/cri-config.ts";
import { writeObjectFolder } from "./object-folder.ts";

export interface VolumesOptions {
  /** Where the kubelet keeps files of pods: `/var/lib/kubelet/pods`. */
  readonly podsDirectory: string;
  readonly sources: InputSources;
  /** What makes two states of a folder distinct. */
  readonly stamp: () => string;
}

type Mount = ContainerInputs["mounts"][number];

const propagations: Readonly<Record<string, number>> = { None: 0, HostToContainer: 1, Bidirectional: 2 };

export class Volumes {
  readonly #options: VolumesOptions;

  constructor(options: VolumesOptions) {
    this.#options = options;
  }

  /** What a container is to see, with all its volumes made. */
  async mountsOf(pod: Pod, container: Container, place: PodPlace): Promise<readonly Mount[]> {
    const mounts: Mount[] = [];
    for (const {
      name,
      mountPath,
      readOnly = false,
      subPath = "",
      subPathExpr = "",
      mountPropagation = "None",
    } of container.volumeMounts ?? []) {
      if (subPathExpr !== "")
        throw new InputMissing(`volume ${name}: subPathExpr is not supported by this kubelet yet`);
      const volume = pod.spec.volumes?.find((one) => one.name === name);
      if (!volume) throw new InputMissing(`volume ${name} is not one of the pod's`);
      const root = await this.#provide(pod, volume, place);
      const hostPath = subPath === "" ? root : await below(root, subPath, readOnly || isOfObjects(volume));
      mounts.push({
        containerPath: mountPath,
        hostPath,
        readonly: readOnly,
        propagation: propagations[mountPropagation] ?? 0,
      });
    }
    if (!pod.spec.hostNetwork && !mounts.some(({ containerPath }) => containerPath === "/etc/hosts"))
      mounts.push({
        containerPath: "/etc/hosts",
        hostPath: await this.#hostsFile(pod, place),
        readonly: false,
        propagation: 0,
      });
    return mounts;
  }

  /** Writes again what objects say by now; for pods that run. */
  async refresh(pod: Pod, place: PodPlace): Promise<void> {
    for (const volume of pod.spec.volumes ?? []) if (isOfObjects(volume)) await this.#provide(pod, volume, place);
  }

  /** Removes all that is left of a pod. */
  async remove(podUid: string): Promise<void> {
    const folder = join(this.#options.podsDirectory, podUid);
    for (const path of mountsBelow(folder)) await runProgram(["umount", path]);
    await rm(folder, { recursive: true, force: true });
  }

  /** Pods of which there are files. */
  async pods(): Promise<readonly string[]> {
    await mkdir(this.#options.podsDirectory, { recursive: true, mode: 0o750 });
    return readdir(this.#options.podsDirectory);
  }

  async #provide(pod: Pod, volume: Volume, place: PodPlace): Promise<string> {
    const { sources, stamp } = this.#options;
    if (volume.hostPath) return hostFolder(volume.name, volume.hostPath.path, volume.hostPath.type ?? "");
    const files = await filesOf(pod, volume, sources, place);
    if (files) {
      const folder = this.#folder(pod, "kubernetes.io~projected", volume.name);
      await writeObjectFolder(folder, files, stamp());
      return folder;
    }
    if (volume.emptyDir) return this.#emptyDir(pod, volume.name, volume.emptyDir);
    throw new InputMissing(`volume ${volume.name} is of a type that this kubelet cannot mount yet`);
  }

  #folder({ metadata }: Pod, type: string, name: string): string {
    return join(this.#options.podsDirectory, metadata.uid, "volumes", type, name);
  }

  async #emptyDir(pod: Pod, name: string, { medium, sizeLimit }: NonNullable<Volume["emptyDir"]>): Promise<string> {
    const folder = this.#folder(pod, "kubernetes.io~empty-dir", name);
    if (await exists(folder)) return folder;
    await mkdir(folder, { recursive: true, mode: 0o777 });
    if (medium === "Memory") {
      const size = sizeLimit === undefined ? [] : ["-o", `size=${quantityValue(parseQuantity(sizeLimit))}`];
      await runProgram(["mount", "-t", "tmpfs", ...size, "tmpfs", folder]);
    }
    await chmod(folder, 0o777); // whatever the mask of this process says
    const { fsGroup } = pod.spec.securityContext ?? {};
    if (fsGroup !== undefined) {
      await chown(folder, 0, fsGroup);
      await chmod(folder, 0o2777);
    }
    return folder;
  }

  /** As upstream writes it, so that programs that look for its first line find it. */
  async #hostsFile(pod: Pod, { podIps }: PodPlace): Promise<string> {
    const path = join(this.#options.podsDirectory, pod.metadata.uid, "etc-hosts");
    const { hostname = pod.metadata.name, hostAliases = [] } = pod.spec;
    const text = [
      "# Kubernetes-managed hosts file.",
      "127.0.0.1\tlocalhost",
      "::1\tlocalhost ip6-localhost ip6-loopback",
      "fe00::0\tip6-localnet",
      "fe00::0\tip6-mcastprefix",
      "fe00::1\tip6-allnodes",
      "fe00::2\tip6-allrouters",
      ...podIps.map((ip) => `${ip}\t${hostname}`),
      ...(hostAliases.length > 0 ? ["", "# Entries added by HostAliases."] : []),
      ...hostAliases.map(({ ip, hostnames = [] }) => [ip, ...hostnames].join("\t")),
    ];
    await mkdir(join(path, ".."), { recursive: true, mode: 0o750 });
    await writeFile(path, `${text.join("\n")}\n`, { mode: 0o644 });
    return path;
  }
}

const isOfObjects = ({ configMap, secret, downwardAPI, projected }: Volume): boolean =>
  Boolean(configMap ?? secret ?? downwardAPI ?? projected);

async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}

const checks: Readonly<Record<string, (found: Awaited<ReturnType<typeof stat>>) => boolean>> = {
  Directory: (found) => found.isDirectory(),
  DirectoryOrCreate: (found) => found.isDirectory(),
  File: (found) => found.isFile(),
  FileOrCreate: (found) => found.isFile(),
  Socket: (found) => found.isSocket(),
  CharDevice: (found) => found.isCharacterDevice(),
  BlockDevice: (found) => found.isBlockDevice(),
};

async function hostFolder(volume: string, path: string, type: string): Promise<string> {
  if (!(await exists(path))) {
    if (type === "DirectoryOrCreate") await mkdir(path, { recursive: true, mode: 0o755 });
    else if (type === "FileOrCreate") await writeFile(path, "", { mode: 0o644 });
    else if (type !== "")
      throw new InputMissing(`volume ${volume}: hostPath type check failed: ${path} is not a ${type}`);
    else await mkdir(path, { recursive: true, mode: 0o755 }); // as container runtimes do
  }
  const check = checks[type];
  if (check && !check(await stat(path)))
    throw new InputMissing(`volume ${volume}: hostPath type check failed: ${path} is not a ${type}`);
  return path;
}

/** A path inside a volume, made if it may be. What a container wrote there must not lead out of the volume, at no step of the way. */
async function below(root: string, subPath: string, isReadOnly: boolean): Promise<string> {
  const realRoot = await realpath(root);
  let path = realRoot;
  for (const part of subPath.split("/").filter((one) => one !== "" && one !== ".")) {
    if (part === "..") throw new InputMissing(`subPath ${JSON.stringify(subPath)} leads out of its volume`);
    const next = join(path, part);
    if (!isReadOnly && !(await exists(next))) await mkdir(next, { mode: 0o755 });
    path = await realpath(next);
    if (!path.startsWith(`${realRoot}${sep}`))
      throw new InputMissing(`subPath ${JSON.stringify(subPath)} leads out of its volume through a link`);
  }
  return path;
}
