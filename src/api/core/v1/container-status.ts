import { bool, type Infer, int32, int64, list, map, ref, string, struct, time } from "#schema/index.ts";
import { ResourceRequirements } from "./resources.ts";
import { signals } from "./signals.ts";

export const ContainerStateWaiting = struct(
  "core/v1.ContainerStateWaiting",
  {
    reason: string(1, "Why, in one word."),
    message: string(2, "Why, in words."),
  },
  { doc: "Why a container is not yet running." },
);
export interface ContainerStateWaiting extends Infer<typeof ContainerStateWaiting> {}

export const ContainerStateRunning = struct(
  "core/v1.ContainerStateRunning",
  {
    startedAt: time(1, "When it was started."),
  },
  { doc: "A container that runs." },
);
export interface ContainerStateRunning extends Infer<typeof ContainerStateRunning> {}

export const ContainerStateTerminated = struct(
  "core/v1.ContainerStateTerminated",
  {
    exitCode: int32(1, "Exit code of its last run.").required(),
    signal: int32(2, "Signal that ended it."),
    reason: string(3, "Why, in one word."),
    message: string(4, "Its last words, or why, in words."),
    startedAt: time(5, "When that run began."),
    finishedAt: time(6, "When it ended."),
    containerID: string(7, "Id of the container, as <runtime>://<id>."),
  },
  { doc: "A container that has ended." },
);
export interface ContainerStateTerminated extends Infer<typeof ContainerStateTerminated> {}

export const ContainerState = struct(
  "core/v1.ContainerState",
  {
    waiting: ref(1, ContainerStateWaiting, "It has yet to start."),
    running: ref(2, ContainerStateRunning, "It runs."),
    terminated: ref(3, ContainerStateTerminated, "It has ended."),
  },
  { doc: "What a container is doing; one of these, and waiting when none is said." },
);
export interface ContainerState extends Infer<typeof ContainerState> {}

export const ImageVolumeStatus = struct(
  "core/v1.ImageVolumeStatus",
  {
    imageRef: string(1, "Digest of the image.").required().omitEmpty(),
  },
  { doc: "An image that is mounted as a volume." },
);
export interface ImageVolumeStatus extends Infer<typeof ImageVolumeStatus> {}

export const VolumeStatus = struct(
  "core/v1.VolumeStatus",
  {
    image: ref(1, ImageVolumeStatus, "Of an image volume.").off("ImageVolumeWithDigest"),
  },
  { doc: "What is known about a mounted volume." },
);
export interface VolumeStatus extends Infer<typeof VolumeStatus> {}

export const VolumeMountStatus = struct(
  "core/v1.VolumeMountStatus",
  {
    name: string(1, "Name of the volume.").required(),
    mountPath: string(2, "Where it is mounted.").required(),
    readOnly: bool(3, "Whether it is read-only."),
    recursiveReadOnly: string(4, "Whether mounts below it are read-only as well.").pointer(),
    volumeStatus: ref(5, VolumeStatus, "What is known about the volume."),
  },
  { doc: "A mount as it was made." },
);
export interface VolumeMountStatus extends Infer<typeof VolumeMountStatus> {}

export const LinuxContainerUser = struct(
  "core/v1.LinuxContainerUser",
  {
    uid: int64(1, "User id.").required(),
    gid: int64(2, "Group id.").required(),
    supplementalGroups: list(3, "int64", "More group ids."),
  },
  { doc: "User and groups of the first process." },
);
export interface LinuxContainerUser extends Infer<typeof LinuxContainerUser> {}

export const ContainerUser = struct(
  "core/v1.ContainerUser",
  {
    linux: ref(1, LinuxContainerUser, "On Linux."),
  },
  { doc: "Who the first process runs as." },
);
export interface ContainerUser extends Infer<typeof ContainerUser> {}

export const ResourceHealth = struct(
  "core/v1.ResourceHealth",
  {
    resourceID: string(1, "Id of the device.").required(),
    health: string(2, "Healthy, Unhealthy or Unknown."),
    message: string(6, "More about its health.").pointer(),
  },
  { doc: "How one device is." },
);
export interface ResourceHealth extends Infer<typeof ResourceHealth> {}

export const ResourceStatus = struct(
  "core/v1.ResourceStatus",
  {
    name: string(1, "The resource, or claim:<claim>/<request>.").required(),
    resources: list(2, ResourceHealth, "The devices.").keyedBy("resourceID").patch("replace"),
  },
  { doc: "How the devices of one resource are." },
);
export interface ResourceStatus extends Infer<typeof ResourceStatus> {}

export const ContainerStatus = struct(
  "core/v1.ContainerStatus",
  {
    name: string(1, "Name of the container.").required(),
    state: ref(2, ContainerState, "What it is doing.").default({}),
    lastState: ref(3, ContainerState, "How its previous run ended.").default({}),
    ready: bool(4, "Whether it is ready to serve.").required(),
    restartCount: int32(5, "How often it was restarted.").required(),
    image: string(6, "Image it runs.").required(),
    imageID: string(7, "Digest of that image.").required(),
    containerID: string(8, "Id of the container, as <runtime>://<id>."),
    started: bool(9, "Whether it has started and its startup probe succeeded.").pointer(),
    allocatedResources: map(10, "quantity", "What the node has set aside for it."),
    resources: ref(11, ResourceRequirements, "Requests and limits that are in force."),
    volumeMounts: list(12, VolumeMountStatus, "Mounts as they were made.").keyedBy("mountPath"),
    user: ref(13, ContainerUser, "Who its first process runs as."),
    allocatedResourcesStatus: list(14, ResourceStatus, "How its devices are.").keyedBy("name"),
    stopSignal: string(15, "The signal that will stop it.")
      .known(...signals)
      .off("ContainerStopSignals")
      .pointer(),
  },
  { doc: "What is known about a container." },
);
export interface ContainerStatus extends Infer<typeof ContainerStatus> {}
