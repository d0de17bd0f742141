import { bool, type Infer, int64, list, type Problem, ref, string, struct } from "#schema/index.ts";
import {
  checkAppArmor,
  checkPodSecurity,
  checkSeccomp,
  checkSecurity,
  checkWindowsOptions,
} from "./checks/security.ts";

const mostId = 2 ** 31 - 1;

export const AppArmorProfile = struct(
  "core/v1.AppArmorProfile",
  {
    type: string(1, "Which profile: a Localhost one, the RuntimeDefault, or none.")
      .oneOf("Localhost", "RuntimeDefault", "Unconfined")
      .required(),
    localhostProfile: string(2, "Name of a profile loaded on the node; for type Localhost only.").pointer(),
  },
  {
    doc: "An AppArmor profile.",
    union: { discriminator: "type", fields: { localhostProfile: "LocalhostProfile" } },
    check: (profile): Iterable<Problem> => checkAppArmor(profile),
  },
);
export interface AppArmorProfile extends Infer<typeof AppArmorProfile> {}

export const Capabilities = struct(
  "core/v1.Capabilities",
  {
    add: list(1, "string", "Capabilities to give, without the CAP_ in front."),
    drop: list(2, "string", "Capabilities to take away; ALL takes all of them."),
  },
  { doc: "Linux capabilities to give or take, starting from those the runtime gives." },
);
export interface Capabilities extends Infer<typeof Capabilities> {}

export const SELinuxOptions = struct(
  "core/v1.SELinuxOptions",
  {
    user: string(1, "User part of the label."),
    role: string(2, "Role part of the label."),
    type: string(3, "Type part of the label."),
    level: string(4, "Level part of the label."),
  },
  { doc: "An SELinux label." },
);
export interface SELinuxOptions extends Infer<typeof SELinuxOptions> {}

export const WindowsSecurityContextOptions = struct(
  "core/v1.WindowsSecurityContextOptions",
  {
    gmsaCredentialSpecName: string(1, "Name of the group-managed account's credential spec.").pointer(),
    gmsaCredentialSpec: string(2, "The credential spec itself; filled in by a webhook.").pointer(),
    runAsUserName: string(3, "Windows user to run as.").pointer(),
    hostProcess: bool(4, "Whether the container is a process of the host; all of a pod's or none.").pointer(),
  },
  {
    doc: "What Windows containers need.",
    check: (options): Iterable<Problem> => checkWindowsOptions(options),
  },
);
export interface WindowsSecurityContextOptions extends Infer<typeof WindowsSecurityContextOptions> {}

export const Sysctl = struct(
  "core/v1.Sysctl",
  {
    name: string(1, "Name of the parameter.").required(),
    value: string(2, "Value to set.").required(),
  },
  { doc: "A kernel parameter." },
);
export interface Sysctl extends Infer<typeof Sysctl> {}

export const SeccompProfile = struct(
  "core/v1.SeccompProfile",
  {
    type: string(1, "Which profile: a Localhost file, the RuntimeDefault, or none.")
      .oneOf("Localhost", "RuntimeDefault", "Unconfined")
      .required(),
    localhostProfile: string(2, "File below the kubelet's seccomp folder; for type Localhost only.").pointer(),
  },
  {
    doc: "A seccomp profile: the system calls that are allowed.",
    union: { discriminator: "type", fields: { localhostProfile: "LocalhostProfile" } },
    check: (profile): Iterable<Problem> => checkSeccomp(profile),
  },
);
export interface SeccompProfile extends Infer<typeof SeccompProfile> {}

export const PodSecurityContext = struct(
  "core/v1.PodSecurityContext",
  {
    seLinuxOptions: ref(1, SELinuxOptions, "SELinux label of all containers."),
    windowsOptions: ref(8, WindowsSecurityContextOptions, "What Windows containers need."),
    runAsUser: int64(2, "User id of the first process; the image's user when left out.").min(0).max(mostId).pointer(),
    runAsGroup: int64(6, "Group id of the first process.").min(0).max(mostId).pointer(),
    runAsNonRoot: bool(3, "Refuse to start a container that would run as user 0.").pointer(),
    supplementalGroups: list(4, "int64", "More groups of the first process."),
    supplementalGroupsPolicy: string(12, "Whether groups of the image count too: Merge or Strict.")
      .oneOf("Merge", "Strict")
      .pointer(),
    fsGroup: int64(5, "Group that owns the volumes that allow it; their files become writable for it.")
      .min(0)
      .max(mostId)
      .pointer(),
    sysctls: list(7, Sysctl, "Kernel parameters of the pod."),
    fsGroupChangePolicy: string(
      9,
      "Whether owners of a volume's files are changed always or only if its root is wrong.",
    )
      .oneOf("Always", "OnRootMismatch")
      .pointer(),
    seccompProfile: ref(10, SeccompProfile, "System calls the containers may make."),
    appArmorProfile: ref(11, AppArmorProfile, "AppArmor profile of the containers."),
    seLinuxChangePolicy: string(13, "How volumes get their label: Recursive or MountOption.").pointer(),
  },
  {
    doc: "Rights of all containers of a pod; a container's own say goes first.",
    problemOrder: "* supplementalGroupsPolicy",
    check: (context): Iterable<Problem> => checkPodSecurity(context),
  },
);
export interface PodSecurityContext extends Infer<typeof PodSecurityContext> {}

export const SecurityContext = struct(
  "core/v1.SecurityContext",
  {
    capabilities: ref(1, Capabilities, "Linux capabilities to give or take."),
    privileged: bool(2, "Whether it may do nearly all that root on the node may.").pointer(),
    seLinuxOptions: ref(3, SELinuxOptions, "SELinux label of the container."),
    windowsOptions: ref(10, WindowsSecurityContextOptions, "What Windows containers need."),
    runAsUser: int64(4, "User id of the first process; the image's user when left out.").min(0).max(mostId).pointer(),
    runAsGroup: int64(8, "Group id of the first process.").min(0).max(mostId).pointer(),
    runAsNonRoot: bool(5, "Refuse to start if it would run as user 0.").pointer(),
    readOnlyRootFilesystem: bool(6, "Whether the container's own files are read-only.").pointer(),
    allowPrivilegeEscalation: bool(7, "Whether a process may get more rights than its parent.").pointer(),
    procMount: string(9, "Whether parts of /proc are hidden: Default or Unmasked.")
      .oneOf("Default", "Unmasked")
      .pointer(),
    seccompProfile: ref(11, SeccompProfile, "System calls the container may make."),
    appArmorProfile: ref(12, AppArmorProfile, "AppArmor profile of the container."),
  },
  { doc: "Rights of one container.", check: (context): Iterable<Problem> => checkSecurity(context) },
);
export interface SecurityContext extends Infer<typeof SecurityContext> {}
