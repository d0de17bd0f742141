import { bool, type Infer, int64, list, ref, string, struct } from "#schema/index.ts";

export const AppArmorProfile = struct(
  "core/v1.AppArmorProfile",
  {
    type: string(1).oneOf("Localhost", "RuntimeDefault", "Unconfined").required(),
    localhostProfile: string(2).pointer(),
  },
  { union: { discriminator: "type", fields: { localhostProfile: "LocalhostProfile" } } },
);
export interface AppArmorProfile extends Infer<typeof AppArmorProfile> {}

export const Capabilities = struct("core/v1.Capabilities", {
  add: list(1, "string"),
  drop: list(2, "string"),
});
export interface Capabilities extends Infer<typeof Capabilities> {}

export const SELinuxOptions = struct("core/v1.SELinuxOptions", {
  user: string(1),
  role: string(2),
  type: string(3),
  level: string(4),
});
export interface SELinuxOptions extends Infer<typeof SELinuxOptions> {}

export const WindowsSecurityContextOptions = struct("core/v1.WindowsSecurityContextOptions", {
  gmsaCredentialSpecName: string(1).pointer(),
  gmsaCredentialSpec: string(2).pointer(),
  runAsUserName: string(3).pointer(),
  hostProcess: bool(4).pointer(),
});
export interface WindowsSecurityContextOptions extends Infer<typeof WindowsSecurityContextOptions> {}

export const Sysctl = struct("core/v1.Sysctl", {
  name: string(1).required(),
  value: string(2).required(),
});
export interface Sysctl extends Infer<typeof Sysctl> {}

export const SeccompProfile = struct(
  "core/v1.SeccompProfile",
  {
    type: string(1).oneOf("Localhost", "RuntimeDefault", "Unconfined").required(),
    localhostProfile: string(2).pointer(),
  },
  { union: { discriminator: "type", fields: { localhostProfile: "LocalhostProfile" } } },
);
export interface SeccompProfile extends Infer<typeof SeccompProfile> {}

export const PodSecurityContext = struct("core/v1.PodSecurityContext", {
  seLinuxOptions: ref(1, SELinuxOptions),
  windowsOptions: ref(8, WindowsSecurityContextOptions),
  runAsUser: int64(2).pointer(),
  runAsGroup: int64(6).pointer(),
  runAsNonRoot: bool(3).pointer(),
  supplementalGroups: list(4, "int64"),
  supplementalGroupsPolicy: string(12).oneOf("Merge", "Strict").pointer(),
  fsGroup: int64(5).pointer(),
  sysctls: list(7, Sysctl),
  fsGroupChangePolicy: string(9).oneOf("Always", "OnRootMismatch").pointer(),
  seccompProfile: ref(10, SeccompProfile),
  appArmorProfile: ref(11, AppArmorProfile),
  seLinuxChangePolicy: string(13).pointer(),
});
export interface PodSecurityContext extends Infer<typeof PodSecurityContext> {}

export const SecurityContext = struct("core/v1.SecurityContext", {
  capabilities: ref(1, Capabilities),
  privileged: bool(2).pointer(),
  seLinuxOptions: ref(3, SELinuxOptions),
  windowsOptions: ref(10, WindowsSecurityContextOptions),
  runAsUser: int64(4).pointer(),
  runAsGroup: int64(8).pointer(),
  runAsNonRoot: bool(5).pointer(),
  readOnlyRootFilesystem: bool(6).pointer(),
  allowPrivilegeEscalation: bool(7).pointer(),
  procMount: string(9).oneOf("Default", "Unmasked").pointer(),
  seccompProfile: ref(11, SeccompProfile),
  appArmorProfile: ref(12, AppArmorProfile),
});
export interface SecurityContext extends Infer<typeof SecurityContext> {}
