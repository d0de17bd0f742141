// The part of CRI v1 that the kubelet uses. Numbers as in k8s.io/cri-api's api.proto.
import {
  bool,
  bytes,
  id,
  int,
  ints,
  many,
  message,
  one,
  type ProtobufMessage,
  pairs,
  signed,
  text,
  texts,
} from "#base/host/protobuf.ts";

/** A remote procedure: its path, and how its messages are written and read. */
export interface CriRpc<D, T> {
  readonly path: string;
  readonly request: ProtobufMessage<unknown, D>;
  readonly response: ProtobufMessage<T, unknown>;
}

const rpc =
  (service: string) =>
  <D, T>(
    method: string,
    request: ProtobufMessage<unknown, D>,
    response: ProtobufMessage<T, unknown>,
  ): CriRpc<D, T> => ({
    path: `/${service}/${method}`,
    request,
    response,
  });

export const containerStates = ["created", "running", "exited", "unknown"] as const;
export const sandboxReady = 0;

const Nothing = message("Nothing", {});
const Int64Value = message("Int64Value", { value: signed(1) });
const UInt64Value = message("UInt64Value", { value: id(1) });

const SandboxMetadata = message("PodSandboxMetadata", {
  name: text(1),
  uid: text(2),
  namespace: text(3),
  attempt: int(4),
});
const NamespaceOption = message("NamespaceOption", { network: int(1), pid: int(2), ipc: int(3), targetId: text(4) });
const SecurityProfile = message("SecurityProfile", { profileType: int(1), localhostRef: text(2) });
const SELinuxOption = message("SELinuxOption", { user: text(1), role: text(2), type: text(3), level: text(4) });
const SandboxSecurity = message("LinuxSandboxSecurityContext", {
  namespaceOptions: one(1, NamespaceOption),
  selinuxOptions: one(2, SELinuxOption),
  runAsUser: one(3, Int64Value),
  readonlyRootfs: bool(4),
  supplementalGroups: ints(5),
  privileged: bool(6),
  runAsGroup: one(8, Int64Value),
  seccomp: one(9, SecurityProfile),
  supplementalGroupsPolicy: int(11),
});
const Resources = message("LinuxContainerResources", {
  cpuPeriod: int(1),
  cpuQuota: signed(2),
  cpuShares: int(3),
  memoryLimitInBytes: int(4),
  oomScoreAdj: signed(5),
  hugepageLimits: many(8, message("HugepageLimit", { pageSize: text(1), limit: int(2) })),
  unified: pairs(9),
});
const SandboxConfigMessage = message("PodSandboxConfig", {
  metadata: one(1, SandboxMetadata),
  hostname: text(2),
  logDirectory: text(3),
  dnsConfig: one(4, message("DNSConfig", { servers: texts(1), searches: texts(2), options: texts(3) })),
  portMappings: many(
    5,
    message("PortMapping", { protocol: int(1), containerPort: int(2), hostPort: int(3), hostIp: text(4) }),
  ),
  labels: pairs(6),
  annotations: pairs(7),
  linux: one(
    8,
    message("LinuxPodSandboxConfig", {
      cgroupParent: text(1),
      securityContext: one(2, SandboxSecurity),
      sysctls: pairs(3),
    }),
  ),
});

const ContainerMetadata = message("ContainerMetadata", { name: text(1), attempt: int(2) });
const ImageSpec = message("ImageSpec", { image: text(1), userSpecifiedImage: text(18) });
const Mount = message("Mount", { containerPath: text(1), hostPath: text(2), readonly: bool(3), propagation: int(5) });
const ContainerSecurity = message("LinuxContainerSecurityContext", {
  capabilities: one(1, message("Capability", { add: texts(1), drop: texts(2) })),
  privileged: bool(2),
  namespaceOptions: one(3, NamespaceOption),
  selinuxOptions: one(4, SELinuxOption),
  runAsUser: one(5, Int64Value),
  readonlyRootfs: bool(7),
  supplementalGroups: ints(8),
  apparmorProfile: text(9),
  noNewPrivs: bool(11),
  runAsGroup: one(12, Int64Value),
  maskedPaths: texts(13),
  readonlyPaths: texts(14),
  seccomp: one(15, SecurityProfile),
  apparmor: one(16, SecurityProfile),
  supplementalGroupsPolicy: int(17),
});
const ContainerConfigMessage = message("ContainerConfig", {
  metadata: one(1, ContainerMetadata),
  image: one(2, ImageSpec),
  command: texts(3),
  args: texts(4),
  workingDir: text(5),
  envs: many(6, message("KeyValue", { key: text(1), value: text(2) })),
  mounts: many(7, Mount),
  devices: many(8, message("Device", { containerPath: text(1), hostPath: text(2), permissions: text(3) })),
  labels: pairs(9),
  annotations: pairs(10),
  logPath: text(11),
  stdin: bool(12),
  stdinOnce: bool(13),
  tty: bool(14),
  linux: one(
    15,
    message("LinuxContainerConfig", { resources: one(1, Resources), securityContext: one(2, ContainerSecurity) }),
  ),
  cdiDevices: many(17, message("CDIDevice", { name: text(1) })),
});

const Sandbox = message("PodSandbox", {
  id: text(1),
  metadata: one(2, SandboxMetadata),
  state: int(3),
  createdAt: id(4),
  labels: pairs(5),
});
const Network = message("PodSandboxNetworkStatus", {
  ip: text(1),
  additionalIps: many(2, message("PodIP", { ip: text(1) })),
});
const SandboxStatus = message("PodSandboxStatus", { id: text(1), state: int(3), network: one(5, Network) });
const Container = message("Container", {
  id: text(1),
  sandbox: text(2),
  metadata: one(3, ContainerMetadata),
  image: one(4, ImageSpec),
  imageRef: text(5),
  state: int(6),
  createdAt: id(7),
  labels: pairs(8),
});
export const ContainerStatus = message("ContainerStatus", {
  id: text(1),
  metadata: one(2, ContainerMetadata),
  state: int(3),
  createdAt: id(4),
  startedAt: id(5),
  finishedAt: id(6),
  exitCode: signed(7),
  image: one(8, ImageSpec),
  imageRef: text(9),
  reason: text(10),
  message: text(11),
  labels: pairs(12),
  annotations: pairs(13),
  logPath: text(15),
});
export const Image = message("Image", {
  id: text(1),
  tags: texts(2),
  digests: texts(3),
  size: int(4),
  uid: one(5, Int64Value),
  username: text(6),
  pinned: bool(8),
});
const labelled = (name: string, field: number) =>
  message(`List${name}Request`, { filter: one(1, message(`${name}Filter`, { labels: pairs(field) })) });
const byContainer = message("ContainerRequest", { id: text(1) });
const amount = (number: number) => one(number, UInt64Value);
export const Stats = message("ContainerStats", {
  attributes: one(1, message("ContainerAttributes", { id: text(1) })),
  cpu: one(2, message("CpuUsage", { usageCoreNanoSeconds: amount(2) })),
  memory: one(
    3,
    message("MemoryUsage", {
      workingSetBytes: amount(2),
      availableBytes: amount(3),
      usageBytes: amount(4),
      rssBytes: amount(5),
      pageFaults: amount(6),
      majorPageFaults: amount(7),
    }),
  ),
  writableLayer: one(4, message("FilesystemUsage", { usedBytes: amount(3), inodesUsed: amount(4) })),
});

/** Where the runtime's own streaming server answers. */
const Place = message("StreamPlace", { url: text(1) });

const runtime = rpc("runtime.v1.RuntimeService");
const images = rpc("runtime.v1.ImageService");

export const rpcs = {
  version: runtime("Version", Nothing, message("VersionResponse", { name: text(2), version: text(3) })),
  status: runtime(
    "Status",
    Nothing,
    message("StatusResponse", {
      status: one(
        1,
        message("RuntimeStatus", {
          conditions: many(
            1,
            message("RuntimeCondition", { type: text(1), status: bool(2), reason: text(3), message: text(4) }),
          ),
        }),
      ),
    }),
  ),
  runSandbox: runtime(
    "RunPodSandbox",
    message("RunPodSandboxRequest", { config: one(1, SandboxConfigMessage), handler: text(2) }),
    message("RunPodSandboxResponse", { id: text(1) }),
  ),
  stopSandbox: runtime("StopPodSandbox", byContainer, Nothing),
  removeSandbox: runtime("RemovePodSandbox", byContainer, Nothing),
  sandboxStatus: runtime(
    "PodSandboxStatus",
    byContainer,
    message("PodSandboxStatusResponse", { status: one(1, SandboxStatus) }),
  ),
  listSandboxes: runtime(
    "ListPodSandbox",
    labelled("PodSandbox", 3),
    message("ListPodSandboxResponse", { items: many(1, Sandbox) }),
  ),
  createContainer: runtime(
    "CreateContainer",
    message("CreateContainerRequest", {
      sandbox: text(1),
      config: one(2, ContainerConfigMessage),
      sandboxConfig: one(3, SandboxConfigMessage),
    }),
    message("CreateContainerResponse", { id: text(1) }),
  ),
  startContainer: runtime("StartContainer", byContainer, Nothing),
  stopContainer: runtime(
    "StopContainer",
    message("StopContainerRequest", { id: text(1), timeoutSeconds: int(2) }),
    Nothing,
  ),
  removeContainer: runtime("RemoveContainer", byContainer, Nothing),
  listContainers: runtime(
    "ListContainers",
    labelled("Container", 4),
    message("ListContainersResponse", { containers: many(1, Container) }),
  ),
  containerStatus: runtime(
    "ContainerStatus",
    byContainer,
    message("ContainerStatusResponse", { status: one(1, ContainerStatus) }),
  ),
  reopenLog: runtime("ReopenContainerLog", byContainer, Nothing),
  updateResources: runtime(
    "UpdateContainerResources",
    message("UpdateContainerResourcesRequest", { id: text(1), linux: one(2, Resources) }),
    Nothing,
  ),
  execSync: runtime(
    "ExecSync",
    message("ExecSyncRequest", { id: text(1), command: texts(2), timeoutSeconds: int(3) }),
    message("ExecSyncResponse", { stdout: bytes(1), stderr: bytes(2), exitCode: signed(3) }),
  ),
  exec: runtime(
    "Exec",
    message("ExecRequest", {
      id: text(1),
      command: texts(2),
      tty: bool(3),
      stdin: bool(4),
      stdout: bool(5),
      stderr: bool(6),
    }),
    Place,
  ),
  attach: runtime(
    "Attach",
    message("AttachRequest", { id: text(1), stdin: bool(2), tty: bool(3), stdout: bool(4), stderr: bool(5) }),
    Place,
  ),
  portForward: runtime("PortForward", message("PortForwardRequest", { sandbox: text(1) }), Place),
  listStats: runtime("ListContainerStats", Nothing, message("ListContainerStatsResponse", { stats: many(1, Stats) })),
  imageStatus: images(
    "ImageStatus",
    message("ImageStatusRequest", { image: one(1, ImageSpec) }),
    message("ImageStatusResponse", { image: one(1, Image) }),
  ),
  listImages: images("ListImages", Nothing, message("ListImagesResponse", { images: many(1, Image) })),
  pullImage: images(
    "PullImage",
    message("PullImageRequest", {
      image: one(1, ImageSpec),
      auth: one(2, message("AuthConfig", { username: text(1), password: text(2) })),
      sandboxConfig: one(3, SandboxConfigMessage),
    }),
    message("PullImageResponse", { ref: text(1) }),
  ),
  removeImage: images("RemoveImage", message("RemoveImageRequest", { image: one(1, ImageSpec) }), Nothing),
};

/** containerd's own events: what its version of CRI has no call for. */
export const containerdEvents = rpc("containerd.services.events.v1.Events")(
  "Subscribe",
  message("SubscribeRequest", { filters: texts(1) }),
  message("Envelope", {
    namespace: text(2),
    topic: text(3),
    event: one(4, message("Any", { typeUrl: text(1), value: bytes(2) })),
  }),
);
const tasks = rpc("containerd.services.tasks.v1.Tasks");
/** containerd's own view of what runs, for what its CRI side has lost sight of. */
export const containerdTasks = {
  kill: tasks("Kill", message("KillRequest", { containerId: text(1), signal: int(3), all: bool(4) }), Nothing),
  delete: tasks("Delete", message("DeleteTaskRequest", { containerId: text(1) }), Nothing),
};
/** Of the events of tasks, only whom they are about. */
export const TaskEvent = message("TaskEvent", { containerId: text(1) });
