import { dns1123Label, portName } from "#schema/formats.ts";
import { bool, type Infer, inline, int32, list, type Problem, ref, string, struct } from "#schema/index.ts";
import { checkContainer, checkContainerPort, checkMount } from "./checks/container.ts";
import { pullPolicyFor } from "./defaults.ts";
import { EnvFromSource, EnvVar } from "./env.ts";
import { Lifecycle, Probe } from "./probe.ts";
import { ResourceRequirements } from "./resources.ts";
import { SecurityContext } from "./security-context.ts";

export const ContainerPort = struct(
  "core/v1.ContainerPort",
  {
    name: string(1, "Name that services and probes may refer to.").is(portName),
    hostPort: int32(2, "Port of the node that leads here; needed by few."),
    containerPort: int32(3, "Port the container listens on.").required(),
    protocol: string(4, "Protocol of the port.").oneOf("SCTP", "TCP", "UDP").default("TCP"),
    hostIP: string(5, "Address of the node the host port is bound to; all of them when left out."),
  },
  {
    doc: "A port the container listens on.",
    problemOrder: "name containerPort hostPort protocol",
    check: (port): Iterable<Problem> => checkContainerPort(port),
  },
);
export interface ContainerPort extends Infer<typeof ContainerPort> {}

export const ContainerResizePolicy = struct(
  "core/v1.ContainerResizePolicy",
  {
    resourceName: string(1, "The resource this is about: cpu or memory.").required(),
    restartPolicy: string(2, "Whether a change needs a restart: NotRequired or RestartContainer.").required(),
  },
  { doc: "What a change of one resource does to the container." },
);
export interface ContainerResizePolicy extends Infer<typeof ContainerResizePolicy> {}

export const ContainerRestartRuleOnExitCodes = struct(
  "core/v1.ContainerRestartRuleOnExitCodes",
  {
    operator: string(1, "In, if the exit code is one of the values; NotIn, if it is none of them.")
      .required()
      .omitEmpty(),
    values: list(2, "int32", "Exit codes to compare with.").asSet(),
  },
  { doc: "Matches exit codes." },
);
export interface ContainerRestartRuleOnExitCodes extends Infer<typeof ContainerRestartRuleOnExitCodes> {}

export const ContainerRestartRule = struct(
  "core/v1.ContainerRestartRule",
  {
    action: string(1, "What to do when the rule matches: Restart or RestartAllContainers.").required().omitEmpty(),
    exitCodes: ref(2, ContainerRestartRuleOnExitCodes, "The exit codes it matches."),
  },
  { doc: "What to do after an exit; the first rule that matches decides." },
);
export interface ContainerRestartRule extends Infer<typeof ContainerRestartRule> {}

export const VolumeMount = struct(
  "core/v1.VolumeMount",
  {
    name: string(1, "Name of a volume of the pod.").required(),
    readOnly: bool(2, "Whether the container may not write to it."),
    recursiveReadOnly: string(
      7,
      "Whether mounts below it are read-only as well: Disabled, IfPossible or Enabled.",
    ).pointer(),
    mountPath: string(3, "Where the volume appears in the container; no colon in it.").required(),
    subPath: string(4, "Path within the volume to mount in place of its root."),
    mountPropagation: string(5, "Whether later mounts are seen from host to container, or both ways.")
      .oneOf("Bidirectional", "HostToContainer", "None")
      .pointer(),
    subPathExpr: string(6, "As subPath, with $(NAME) replaced by variables of the container."),
  },
  {
    doc: "A volume as the container sees it.",
    problemOrder: "name mountPath",
    check: (mount): Iterable<Problem> => checkMount(mount),
  },
);
export interface VolumeMount extends Infer<typeof VolumeMount> {}

export const VolumeDevice = struct(
  "core/v1.VolumeDevice",
  {
    name: string(1, "Name of a volume of the pod that comes from a claim.").required(),
    devicePath: string(2, "Where the device appears in the container.").required(),
  },
  { doc: "A volume as a block device." },
);
export interface VolumeDevice extends Infer<typeof VolumeDevice> {}

const problemOrder = `name image terminationMessagePolicy ports env envFrom volumeMounts volumeDevices imagePullPolicy resources
  resizePolicy securityContext name:Duplicate ports.hostPort:Duplicate lifecycle livenessProbe readinessProbe startupProbe restartPolicy`;

export const Container = struct(
  "core/v1.Container",
  {
    name: string(1, "Name of the container, unique in its pod.").required().nonEmpty().is(dns1123Label),
    image: string(2, "Image to run, such as registry.example/team/app:1.2.").nonEmpty(),
    command: list(3, "string", "Program to run in place of the image's entrypoint; $(NAME) is replaced by variables."),
    args: list(4, "string", "Arguments in place of the image's own; $(NAME) is replaced by variables."),
    workingDir: string(5, "Folder the program starts in; the image's own when left out."),
    ports: list(6, ContainerPort, "Ports to tell people and services about; others can be reached too.").keyedBy(
      "containerPort",
      "protocol",
    ),
    envFrom: list(19, EnvFromSource, "Variables taken from all keys of config maps and secrets."),
    env: list(7, EnvVar, "Variables of the environment; they win over those of envFrom.").keyedBy("name"),
    resources: ref(8, ResourceRequirements, "How much of each resource the container needs and may use.").default({}),
    resizePolicy: list(23, ContainerResizePolicy, "Whether a change of resources restarts the container."),
    restartPolicy: string(
      24,
      "Restarts of this container alone: Always, OnFailure or Never; Always makes an init container a sidecar.",
    ).pointer(),
    restartPolicyRules: list(25, ContainerRestartRule, "Exceptions from restartPolicy by exit code.").maxItems(20),
    volumeMounts: list(9, VolumeMount, "Volumes of the pod to mount.").keyedBy("mountPath"),
    volumeDevices: list(21, VolumeDevice, "Volumes of the pod to give as block devices.").keyedBy("devicePath"),
    livenessProbe: ref(10, Probe, "When it fails the container is restarted."),
    readinessProbe: ref(11, Probe, "While it fails no service sends traffic to the pod."),
    startupProbe: ref(22, Probe, "Until it succeeds the other probes wait; when it fails the container is restarted."),
    lifecycle: ref(12, Lifecycle, "What to do when the container starts and stops."),
    terminationMessagePath: string(13, "File from which the container's last words are read.").default(
      "/dev/termination-log",
    ),
    terminationMessagePolicy: string(20, "Whether the log serves when that file is empty and the container failed.")
      .known("FallbackToLogsOnError", "File")
      .default("File"),
    imagePullPolicy: string(14, "When to pull the image; Always if its tag is latest, else IfNotPresent.").oneOf(
      "Always",
      "IfNotPresent",
      "Never",
    ),
    securityContext: ref(15, SecurityContext, "Rights of the container, over those of the pod."),
    stdin: bool(16, "Whether standard input stays open."),
    stdinOnce: bool(17, "Whether standard input closes after the first client has left."),
    tty: bool(18, "Whether the container gets a terminal; needs stdin."),
  },
  {
    doc: "A program to run in a pod.",
    complete(container): void {
      container.imagePullPolicy ||= pullPolicyFor(container.image ?? "");
    },
    problemOrder,
    check: (container): Iterable<Problem> => checkContainer(container),
  },
);
export interface Container extends Infer<typeof Container> {}

/** The fields of a container. Those that an ephemeral one may not use are refused in the pod's check. */
export const EphemeralContainerCommon = struct(
  "core/v1.EphemeralContainerCommon",
  { ...Container.fields },
  { doc: "A program to run in a pod for a while." },
);
export interface EphemeralContainerCommon extends Infer<typeof EphemeralContainerCommon> {}

export const EphemeralContainer = struct(
  "core/v1.EphemeralContainer",
  {
    ...inline(1, EphemeralContainerCommon),
    targetContainerName: string(2, "The container whose processes it sees; its own alone when left out."),
  },
  {
    doc: "A container added to a running pod to look into it; never restarted.",
    complete(container): void {
      container.imagePullPolicy ||= pullPolicyFor(container.image ?? "");
    },
    check: (container): Iterable<Problem> => checkContainer(container),
  },
);
export interface EphemeralContainer extends Infer<typeof EphemeralContainer> {}
