// Security contexts as CRI messages; the container's overrides the pod's. Follows upstream's pkg/kubelet/kuberuntime/security_context.go.
import type { Container } from "#api/core/v1/container.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { AppArmorProfile, SELinuxOptions, SeccompProfile } from "#api/core/v1/security-context.ts";

/** Whose namespace a container is in. */
const namespaceMode = { pod: 0, container: 1, node: 2, target: 3 } as const;

const profileType = { RuntimeDefault: 0, Unconfined: 1, Localhost: 2 } as const;
const groupsPolicy = { Merge: 0, Strict: 1 } as const;

const namespacesOf = ({ hostNetwork, hostPID, hostIPC, shareProcessNamespace }: Pod["spec"]) => ({
  network: hostNetwork ? namespaceMode.node : namespaceMode.pod,
  pid: hostPID ? namespaceMode.node : shareProcessNamespace ? namespaceMode.pod : namespaceMode.container,
  ipc: hostIPC ? namespaceMode.node : namespaceMode.pod,
});

/** `profile` is the file of a seccomp filter for sandboxes; defaults to the runtime's own. */
export function sandboxSecurity(pod: Pod, profile: string | undefined) {
  const { securityContext, initContainers = [], containers } = pod.spec;
  const { runAsUser, runAsGroup, seLinuxOptions } = securityContext ?? {};
  return {
    namespaceOptions: namespacesOf(pod.spec),
    privileged: [...initContainers, ...containers].some((container) => container.securityContext?.privileged),
    seccomp: { profileType: profileType[profile ? "Localhost" : "RuntimeDefault"], localhostRef: profile ?? "" },
    ...labelOf(seLinuxOptions),
    ...groupsOf(pod),
    ...idsOf(runAsUser, runAsUser === undefined ? undefined : runAsGroup),
  };
}

export interface ContainerSurroundings {
  readonly seccompDirectory: string;
  /** Folders with temperatures of processors, to be masked; defaults to none. */
  readonly throttleFolders?: readonly string[];
  /** Id of the container whose processes the container is to see. */
  readonly target?: string | undefined;
}

export function containerSecurity(
  pod: Pod,
  { securityContext: containerContext }: Container,
  { seccompDirectory, throttleFolders = [], target }: ContainerSurroundings,
) {
  const podContext = pod.spec.securityContext;
  const privileged = containerContext?.privileged ?? false;
  const isBare = privileged || containerContext?.procMount === "Unmasked";
  return {
    capabilities: { add: containerContext?.capabilities?.add ?? [], drop: containerContext?.capabilities?.drop ?? [] },
    privileged,
    namespaceOptions: {
      ...namespacesOf(pod.spec),
      ...(target !== undefined && { pid: namespaceMode.target, targetId: target }),
    },
    readonlyRootfs: containerContext?.readOnlyRootFilesystem ?? false,
    noNewPrivs: containerContext?.allowPrivilegeEscalation === false,
    maskedPaths: isBare ? [] : [...masked, ...throttleFolders],
    readonlyPaths: isBare ? [] : readOnly,
    seccomp: seccompOf(containerContext?.seccompProfile ?? podContext?.seccompProfile, seccompDirectory),
    ...appArmorOf(containerContext?.appArmorProfile ?? podContext?.appArmorProfile),
    ...labelOf(containerContext?.seLinuxOptions ?? podContext?.seLinuxOptions),
    ...groupsOf(pod),
    ...idsOf(
      containerContext?.runAsUser ?? podContext?.runAsUser,
      containerContext?.runAsGroup ?? podContext?.runAsGroup,
    ),
  };
}

/** What most containers must not see of the kernel, as upstream's `pkg/securitycontext` has it. */
const masked = [
  "/proc/asound",
  "/proc/acpi",
  "/proc/interrupts",
  "/proc/kcore",
  "/proc/keys",
  "/proc/latency_stats",
  "/proc/timer_list",
  "/proc/timer_stats",
  "/proc/sched_debug",
  "/proc/scsi",
  "/sys/firmware",
  "/sys/devices/virtual/powercap",
];
const readOnly = ["bus", "fs", "irq", "sys", "sysrq-trigger"].map((name) => `/proc/${name}`);

/** Groups of all processes besides their own. That of the volumes is among them: their files belong to it. */
function groupsOf({ spec: { securityContext } }: Pod) {
  const { fsGroup, supplementalGroups = [], supplementalGroupsPolicy = "Merge" } = securityContext ?? {};
  return {
    supplementalGroups: [...(fsGroup === undefined ? [] : [fsGroup]), ...supplementalGroups],
    supplementalGroupsPolicy: groupsPolicy[supplementalGroupsPolicy],
  };
}

const idsOf = (runAsUser: number | undefined, runAsGroup: number | undefined) => ({
  ...(runAsUser !== undefined && { runAsUser: { value: runAsUser } }),
  ...(runAsGroup !== undefined && { runAsGroup: { value: runAsGroup } }),
});

function labelOf(options: SELinuxOptions | undefined) {
  if (!options) return {};
  const { user = "", role = "", type = "", level = "" } = options;
  return { selinuxOptions: { user, role, type, level } };
}

const seccompOf = (profile: SeccompProfile | undefined, folder: string) => ({
  profileType: profileType[profile?.type ?? "Unconfined"],
  localhostRef: profile?.type === "Localhost" ? `${folder}/${profile.localhostProfile ?? ""}` : "",
});

/** In the old words, too, for runtimes that know no others. */
function appArmorOf(profile: AppArmorProfile | undefined) {
  if (!profile) return {};
  const { type, localhostProfile: localhostRef = "" } = profile;
  const inOldWords = {
    RuntimeDefault: "runtime/default",
    Unconfined: "unconfined",
    Localhost: `localhost/${localhostRef}`,
  };
  return { apparmor: { profileType: profileType[type], localhostRef }, apparmorProfile: inOldWords[type] };
}
