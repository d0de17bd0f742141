import { bool, type Infer, int32, int64, list, map, ref, string, struct, time } from "#schema/index.ts";
import { ResourceRequirements } from "./resources.ts";

export const ContainerStateWaiting = struct("core/v1.ContainerStateWaiting", {
  reason: string(1),
  message: string(2),
});
export interface ContainerStateWaiting extends Infer<typeof ContainerStateWaiting> {}

export const ContainerStateRunning = struct("core/v1.ContainerStateRunning", {
  startedAt: time(1),
});
export interface ContainerStateRunning extends Infer<typeof ContainerStateRunning> {}

export const ContainerStateTerminated = struct("core/v1.ContainerStateTerminated", {
  exitCode: int32(1).required(),
  signal: int32(2),
  reason: string(3),
  message: string(4),
  startedAt: time(5),
  finishedAt: time(6),
  containerID: string(7),
});
export interface ContainerStateTerminated extends Infer<typeof ContainerStateTerminated> {}

export const ContainerState = struct("core/v1.ContainerState", {
  waiting: ref(1, ContainerStateWaiting),
  running: ref(2, ContainerStateRunning),
  terminated: ref(3, ContainerStateTerminated),
});
export interface ContainerState extends Infer<typeof ContainerState> {}

export const ImageVolumeStatus = struct("core/v1.ImageVolumeStatus", {
  imageRef: string(1).required().omitEmpty(),
});
export interface ImageVolumeStatus extends Infer<typeof ImageVolumeStatus> {}

export const VolumeStatus = struct("core/v1.VolumeStatus", {
  image: ref(1, ImageVolumeStatus).off("ImageVolumeWithDigest"),
});
export interface VolumeStatus extends Infer<typeof VolumeStatus> {}

export const VolumeMountStatus = struct("core/v1.VolumeMountStatus", {
  name: string(1).required(),
  mountPath: string(2).required(),
  readOnly: bool(3),
  recursiveReadOnly: string(4).pointer(),
  volumeStatus: ref(5, VolumeStatus),
});
export interface VolumeMountStatus extends Infer<typeof VolumeMountStatus> {}

export const LinuxContainerUser = struct("core/v1.LinuxContainerUser", {
  uid: int64(1).required(),
  gid: int64(2).required(),
  supplementalGroups: list(3, "int64"),
});
export interface LinuxContainerUser extends Infer<typeof LinuxContainerUser> {}

export const ContainerUser = struct("core/v1.ContainerUser", {
  linux: ref(1, LinuxContainerUser),
});
export interface ContainerUser extends Infer<typeof ContainerUser> {}

export const ResourceHealth = struct("core/v1.ResourceHealth", {
  resourceID: string(1).required(),
  health: string(2),
  message: string(6).pointer(),
});
export interface ResourceHealth extends Infer<typeof ResourceHealth> {}

export const ResourceStatus = struct("core/v1.ResourceStatus", {
  name: string(1).required(),
  resources: list(2, ResourceHealth).keyedBy("resourceID").patch("replace"),
});
export interface ResourceStatus extends Infer<typeof ResourceStatus> {}

export const ContainerStatus = struct("core/v1.ContainerStatus", {
  name: string(1).required(),
  state: ref(2, ContainerState).default({}),
  lastState: ref(3, ContainerState).default({}),
  ready: bool(4).required(),
  restartCount: int32(5).required(),
  image: string(6).required(),
  imageID: string(7).required(),
  containerID: string(8),
  started: bool(9).pointer(),
  allocatedResources: map(10, "quantity"),
  resources: ref(11, ResourceRequirements),
  volumeMounts: list(12, VolumeMountStatus).keyedBy("mountPath"),
  user: ref(13, ContainerUser),
  allocatedResourcesStatus: list(14, ResourceStatus).keyedBy("name"),
  stopSignal: string(15)
    .oneOf(
      "SIGABRT",
      "SIGALRM",
      "SIGBUS",
      "SIGCHLD",
      "SIGCLD",
      "SIGCONT",
      "SIGFPE",
      "SIGHUP",
      "SIGILL",
      "SIGINT",
      "SIGIO",
      "SIGIOT",
      "SIGKILL",
      "SIGPIPE",
      "SIGPOLL",
      "SIGPROF",
      "SIGPWR",
      "SIGQUIT",
      "SIGRTMAX",
      "SIGRTMAX-1",
      "SIGRTMAX-10",
      "SIGRTMAX-11",
      "SIGRTMAX-12",
      "SIGRTMAX-13",
      "SIGRTMAX-14",
      "SIGRTMAX-2",
      "SIGRTMAX-3",
      "SIGRTMAX-4",
      "SIGRTMAX-5",
      "SIGRTMAX-6",
      "SIGRTMAX-7",
      "SIGRTMAX-8",
      "SIGRTMAX-9",
      "SIGRTMIN",
      "SIGRTMIN+1",
      "SIGRTMIN+10",
      "SIGRTMIN+11",
      "SIGRTMIN+12",
      "SIGRTMIN+13",
      "SIGRTMIN+14",
      "SIGRTMIN+15",
      "SIGRTMIN+2",
      "SIGRTMIN+3",
      "SIGRTMIN+4",
      "SIGRTMIN+5",
      "SIGRTMIN+6",
      "SIGRTMIN+7",
      "SIGRTMIN+8",
      "SIGRTMIN+9",
      "SIGSEGV",
      "SIGSTKFLT",
      "SIGSTOP",
      "SIGSYS",
      "SIGTERM",
      "SIGTRAP",
      "SIGTSTP",
      "SIGTTIN",
      "SIGTTOU",
      "SIGURG",
      "SIGUSR1",
      "SIGUSR2",
      "SIGVTALRM",
      "SIGWINCH",
      "SIGXCPU",
      "SIGXFSZ",
    )
    .off("ContainerStopSignals")
    .pointer(),
});
export interface ContainerStatus extends Infer<typeof ContainerStatus> {}
