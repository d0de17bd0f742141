// What the kubelet must know of a kind of volume, as upstream's volume plugins tell it (pkg/volume/plugins.go). `kinds/list.ts` is the
// list of the kinds.
//
// A volume goes through three steps. `provide` makes it present on the node and says where it is. `publish` hands it over to the pod,
// before anything of the pod runs. `unpublish` takes it back, when nothing of the pod runs any more.
//
// The kubelet may be replaced by another process between any two of them. So no step relies on what an earlier one kept in memory:
// `provide` may be repeated at any time, and `unpublish` works from the volume's folder alone, since the API may have forgotten the pod
// by then. A kind that needs to know more when it takes a volume back writes that into the folder.
import type { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { Volume } from "#api/core/v1/volume.ts";
import type { InputSources, PodContext } from "../../inputs/sources.ts";
import type { FileSystemState } from "../../node/pressure.ts";

/** A volume of a pod, with the persistent volume that its claim is bound to. */
export interface VolumeSpec {
  readonly volume: Volume;
  readonly persistentVolume?: PersistentVolume;
}

export interface VolumeRequest extends VolumeSpec {
  readonly pod: Pod;
  readonly podContext: PodContext;
  /** The volume's own folder on this node, below `PODS/UID/volumes` or `MEMORY/UID/volumes`. It may not exist yet. */
  readonly folder: string;
  readonly sources: InputSources;
  /** Makes a name that no earlier state of the volume has had. */
  readonly stamp: () => string;
  /** Tells the pod of something. */
  readonly event: (type: "Normal" | "Warning", reason: string, message: string) => void;
}

/** A block device of the node, which a container is given instead of a folder. */
export interface DeviceRequest extends VolumeRequest {
  /** Where the kubelet keeps a link to the device, below `PODS/UID/volumeDevices`: whoever has the volume is found by it. */
  readonly link: string;
}

export interface VolumeKind {
  /** The name of its folders, which is upstream's: `kubernetes.io~empty-dir`. It must not change: a later kubelet finds volumes by it. */
  readonly folderName: string;
  /** Where its folders are: on disk, where they outlive a reboot, or in memory, where they only outlive the kubelet. */
  readonly keptIn: "disk" | "memory";
  /** Its files are made from API objects: the kubelet writes them again when the objects change, and containers only read them. */
  readonly isMadeOfObjects?: boolean;
  /** Whether the volume is of this kind. */
  supports(spec: VolumeSpec): boolean;
  /** Makes the volume, or finds it, and returns its path. Called before the pod's sandbox and before each of its containers is made. */
  provide(request: VolumeRequest): Promise<string>;
  /** Hands the provided volume over to the pod: called before the pod's sandbox is made, and not for later containers. */
  publish?(path: string, request: VolumeRequest): Promise<void>;
  /** Ends what `provide` and `publish` have done outside of the folder, such as mounts. The folder itself is removed afterwards. */
  unpublish?(folder: string): Promise<void>;
  /** As `provide`, for a volume of mode Block: returns the path of the device. */
  provideDevice?(request: DeviceRequest): Promise<string>;
  /** As `unpublish`, for a device. */
  unpublishDevice?(link: string): Promise<void>;
  /** The pod has no volumes any more. */
  forget?(podUid: string): void;
  /** Brings a volume up to date that a pod has. Resolves with the milliseconds until the next time; Infinity for never. */
  refresh?(request: VolumeRequest): Promise<number>;
  /** How full the volume is; undefined if nobody can tell. */
  measure?(request: VolumeRequest): Promise<FileSystemState | undefined>;
}
