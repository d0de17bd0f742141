import { bool, type Infer, inline, int32, list, ref, string, struct } from "#schema/index.ts";
import { EnvFromSource, EnvVar } from "./env.ts";
import { Lifecycle, Probe } from "./probe.ts";
import { ResourceRequirements } from "./resources.ts";
import { SecurityContext } from "./security-context.ts";

export const ContainerPort = struct("core/v1.ContainerPort", {
  name: string(1),
  hostPort: int32(2),
  containerPort: int32(3).required(),
  protocol: string(4).oneOf("SCTP", "TCP", "UDP").default("TCP"),
  hostIP: string(5),
});
export interface ContainerPort extends Infer<typeof ContainerPort> {}

export const ContainerResizePolicy = struct("core/v1.ContainerResizePolicy", {
  resourceName: string(1).required(),
  restartPolicy: string(2).required(),
});
export interface ContainerResizePolicy extends Infer<typeof ContainerResizePolicy> {}

export const ContainerRestartRuleOnExitCodes = struct("core/v1.ContainerRestartRuleOnExitCodes", {
  operator: string(1).required().omitEmpty(),
  values: list(2, "int32").asSet(),
});
export interface ContainerRestartRuleOnExitCodes extends Infer<typeof ContainerRestartRuleOnExitCodes> {}

export const ContainerRestartRule = struct("core/v1.ContainerRestartRule", {
  action: string(1).required().omitEmpty(),
  exitCodes: ref(2, ContainerRestartRuleOnExitCodes),
});
export interface ContainerRestartRule extends Infer<typeof ContainerRestartRule> {}

export const VolumeMount = struct("core/v1.VolumeMount", {
  name: string(1).required(),
  readOnly: bool(2),
  recursiveReadOnly: string(7).pointer(),
  mountPath: string(3).required(),
  subPath: string(4),
  mountPropagation: string(5).oneOf("Bidirectional", "HostToContainer", "None").pointer(),
  subPathExpr: string(6),
});
export interface VolumeMount extends Infer<typeof VolumeMount> {}

export const VolumeDevice = struct("core/v1.VolumeDevice", {
  name: string(1).required(),
  devicePath: string(2).required(),
});
export interface VolumeDevice extends Infer<typeof VolumeDevice> {}

export const Container = struct("core/v1.Container", {
  name: string(1).required(),
  image: string(2),
  command: list(3, "string"),
  args: list(4, "string"),
  workingDir: string(5),
  ports: list(6, ContainerPort).keyedBy("containerPort", "protocol"),
  envFrom: list(19, EnvFromSource),
  env: list(7, EnvVar).keyedBy("name"),
  resources: ref(8, ResourceRequirements).default({}),
  resizePolicy: list(23, ContainerResizePolicy),
  restartPolicy: string(24).pointer(),
  restartPolicyRules: list(25, ContainerRestartRule),
  volumeMounts: list(9, VolumeMount).keyedBy("mountPath"),
  volumeDevices: list(21, VolumeDevice).keyedBy("devicePath"),
  livenessProbe: ref(10, Probe),
  readinessProbe: ref(11, Probe),
  startupProbe: ref(22, Probe),
  lifecycle: ref(12, Lifecycle),
  terminationMessagePath: string(13).default("/dev/termination-log"),
  terminationMessagePolicy: string(20).oneOf("FallbackToLogsOnError", "File").default("File"),
  imagePullPolicy: string(14).oneOf("Always", "IfNotPresent", "Never"),
  securityContext: ref(15, SecurityContext),
  stdin: bool(16),
  stdinOnce: bool(17),
  tty: bool(18),
});
export interface Container extends Infer<typeof Container> {}

export const EphemeralContainerCommon = struct("core/v1.EphemeralContainerCommon", {
  name: string(1).required(),
  image: string(2),
  command: list(3, "string"),
  args: list(4, "string"),
  workingDir: string(5),
  ports: list(6, ContainerPort).keyedBy("containerPort", "protocol"),
  envFrom: list(19, EnvFromSource),
  env: list(7, EnvVar).keyedBy("name"),
  resources: ref(8, ResourceRequirements).default({}),
  resizePolicy: list(23, ContainerResizePolicy),
  restartPolicy: string(24).pointer(),
  restartPolicyRules: list(25, ContainerRestartRule),
  volumeMounts: list(9, VolumeMount).keyedBy("mountPath"),
  volumeDevices: list(21, VolumeDevice).keyedBy("devicePath"),
  livenessProbe: ref(10, Probe),
  readinessProbe: ref(11, Probe),
  startupProbe: ref(22, Probe),
  lifecycle: ref(12, Lifecycle),
  terminationMessagePath: string(13),
  terminationMessagePolicy: string(20).oneOf("FallbackToLogsOnError", "File"),
  imagePullPolicy: string(14).oneOf("Always", "IfNotPresent", "Never"),
  securityContext: ref(15, SecurityContext),
  stdin: bool(16),
  stdinOnce: bool(17),
  tty: bool(18),
});
export interface EphemeralContainerCommon extends Infer<typeof EphemeralContainerCommon> {}

export const EphemeralContainer = struct("core/v1.EphemeralContainer", {
  ...inline(1, EphemeralContainerCommon),
  targetContainerName: string(2),
});
export interface EphemeralContainer extends Infer<typeof EphemeralContainer> {}
