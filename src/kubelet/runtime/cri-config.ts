// Pods and containers as CRI wants them described. Pure: what has to be fetched or mounted for them is given.
import type { Container } from "#api/core/v1/container.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { bytesOf, cpuPeriod, hugepageLimits, millisOf, oomScore, quotaOf, sharesOf } from "../cgroups/limits.ts";
import { expand } from "../probes/ask.ts";
import type { ContainerConfig, SandboxConfig } from "../runtime.ts";

/** What the node adds to every pod. */
export interface CriSettings {
  /** `/var/log/pods`. */
  readonly logsDirectory: string;
  /** The control group that holds all of a pod; the runtime's choice unless told. */
  readonly cgroupOf?: (pod: Pod) => string;
  /** Whether groups are of the second version alone, where all of a container is killed when it runs out of memory. */
  readonly isUnified?: boolean;
  /** Memory of the node, by which scores for the kernel's killer are made. */
  readonly memoryBytes: number;
  /** What a pod's resolv.conf says; the node's own unless told. */
  readonly dns?: (pod: Pod) => {
    readonly servers: readonly string[];
    readonly searches: readonly string[];
    readonly options: readonly string[];
  };
}

/** What was fetched and mounted for a container. */
export interface ContainerInputs {
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly mounts: readonly {
    readonly containerPath: string;
    readonly hostPath: string;
    readonly readonly: boolean;
    readonly propagation: number;
  }[];
}

export const criLabels = {
  podName: "io.kubernetes.pod.name",
  podNamespace: "io.kubernetes.pod.namespace",
  podUid: "io.kubernetes.pod.uid",
  containerName: "io.kubernetes.container.name",
} as const;
export const criAnnotations = {
  restartCount: "io.kubernetes.container.restartCount",
  image: "knarr.dev/container.image",
  messagePath: "io.kubernetes.container.terminationMessagePath",
  messagePolicy: "io.kubernetes.container.terminationMessagePolicy",
} as const;

const inPod = 0;
const inContainer = 1;
const onNode = 2;
const protocols: Readonly<Record<string, number>> = { TCP: 0, UDP: 1, SCTP: 2 };

const labelsOf = ({ metadata }: Pod) => ({
  [criLabels.podName]: metadata.name,
  [criLabels.podNamespace]: metadata.namespace ?? "",
  [criLabels.podUid]: metadata.uid ?? "",
});

const namespacesOf = ({ hostNetwork, hostPID, hostIPC, shareProcessNamespace }: Pod["spec"]) => ({
  network: hostNetwork ? onNode : inPod,
  pid: hostPID ? onNode : shareProcessNamespace ? inPod : inContainer,
  ipc: hostIPC ? onNode : inPod,
});

export const logDirectoryOf = ({ metadata }: Pod, { logsDirectory }: Pick<CriSettings, "logsDirectory">): string =>
  `${logsDirectory}/${metadata.namespace}_${metadata.name}_${metadata.uid}`;

export function criSandbox({ pod, attempt }: SandboxConfig, settings: CriSettings) {
  const { metadata, spec } = pod;
  const { securityContext } = spec;
  const { runAsUser, runAsGroup } = securityContext ?? {};
  const all = [...(spec.initContainers ?? []), ...spec.containers];
  return {
    metadata: { name: metadata.name, uid: metadata.uid ?? "", namespace: metadata.namespace ?? "", attempt },
    hostname: spec.hostNetwork ? "" : (spec.hostname ?? metadata.name).slice(0, 63).replace(/[.-]+$/, ""),
    logDirectory: logDirectoryOf(pod, settings),
    ...(settings.dns && { dnsConfig: settings.dns(pod) }),
    portMappings: all.flatMap(({ ports = [] }) =>
      ports.flatMap(({ hostPort = 0, containerPort, protocol, hostIP = "" }) =>
        hostPort && !spec.hostNetwork
          ? [{ protocol: protocols[protocol] ?? 0, containerPort, hostPort, hostIp: hostIP }]
          : [],
      ),
    ),
    labels: { ...metadata.labels, ...labelsOf(pod) },
    annotations: metadata.annotations ?? {},
    linux: {
      cgroupParent: settings.cgroupOf?.(pod) ?? "",
      securityContext: {
        namespaceOptions: namespacesOf(spec),
        privileged: all.some((container) => container.securityContext?.privileged),
        seccomp: runtimeDefault,
        ...(runAsUser !== undefined && { runAsUser: { value: runAsUser } }),
        ...(runAsUser !== undefined && runAsGroup !== undefined && { runAsGroup: { value: runAsGroup } }),
      },
      sysctls: Object.fromEntries((securityContext?.sysctls ?? []).map(({ name, value }) => [name, value])),
    },
  };
}

const runtimeDefault = { profileType: 0, localhostRef: "" };
const unconfined = { profileType: 1, localhostRef: "" };

export function criContainer(config: ContainerConfig, inputs: ContainerInputs, settings: CriSettings) {
  const { pod, container, attempt, imageId } = config;
  const known = { ...container, env: inputs.env.map(({ name, value }) => ({ name, value, valueFrom: undefined })) };
  return {
    metadata: { name: container.name, attempt },
    image: { image: imageId, userSpecifiedImage: container.image ?? "" },
    command: expand(container.command ?? [], known),
    args: expand(container.args ?? [], known),
    workingDir: container.workingDir ?? "",
    envs: inputs.env.map(({ name, value }) => ({ key: name, value })),
    mounts: inputs.mounts,
    labels: { ...labelsOf(pod), [criLabels.containerName]: container.name },
    annotations: {
      [criAnnotations.restartCount]: String(attempt),
      [criAnnotations.image]: container.image ?? "",
      [criAnnotations.messagePath]: container.terminationMessagePath,
      [criAnnotations.messagePolicy]: container.terminationMessagePolicy,
    },
    logPath: `${container.name}/${attempt}.log`,
    stdin: container.stdin ?? false,
    stdinOnce: container.stdinOnce ?? false,
    tty: container.tty ?? false,
    linux: {
      resources: criResources(pod, container, settings),
      securityContext: criSecurity(pod, container),
    },
  };
}

/** Shares for the request, a quota for the limit, and how early the kernel's killer takes it. */
export function criResources(
  pod: Pod,
  container: Container,
  { memoryBytes, isUnified = false }: Pick<CriSettings, "memoryBytes" | "isUnified">,
) {
  const { requests = {}, limits = {} } = container.resources;
  const memoryLimitInBytes = bytesOf(limits.memory);
  return {
    cpuPeriod,
    cpuQuota: quotaOf(millisOf(limits.cpu)),
    cpuShares: sharesOf(millisOf(requests.cpu ?? limits.cpu)),
    memoryLimitInBytes,
    oomScoreAdj: oomScore(pod, container, memoryBytes),
    hugepageLimits: hugepageLimits(Object.entries(limits)),
    ...(isUnified && { unified: { "memory.oom.group": "1" } }),
  };
}

/** What most containers must not see of the kernel. */
const masked = [
  "acpi",
  "asound",
  "kcore",
  "keys",
  "latency_stats",
  "timer_list",
  "timer_stats",
  "sched_debug",
  "scsi",
].map((name) => `/proc/${name}`);
const readOnly = ["bus", "fs", "irq", "sys", "sysrq-trigger"].map((name) => `/proc/${name}`);

function criSecurity({ spec }: Pod, { securityContext: own }: Container) {
  const pod = spec.securityContext;
  const runAsUser = own?.runAsUser ?? pod?.runAsUser;
  const runAsGroup = own?.runAsGroup ?? pod?.runAsGroup;
  const seccomp = own?.seccompProfile ?? pod?.seccompProfile;
  const privileged = own?.privileged ?? false;
  const isBare = own?.procMount === "Unmasked";
  return {
    capabilities: { add: own?.capabilities?.add ?? [], drop: own?.capabilities?.drop ?? [] },
    privileged,
    namespaceOptions: namespacesOf(spec),
    readonlyRootfs: own?.readOnlyRootFilesystem ?? false,
    noNewPrivs: own?.allowPrivilegeEscalation === false,
    maskedPaths: privileged || isBare ? [] : [...masked, "/sys/firmware"],
    readonlyPaths: privileged || isBare ? [] : readOnly,
    seccomp:
      seccomp?.type === "RuntimeDefault"
        ? runtimeDefault
        : seccomp?.type === "Localhost"
          ? { profileType: 2, localhostRef: seccomp.localhostProfile ?? "" }
          : unconfined,
    ...(runAsUser !== undefined && { runAsUser: { value: runAsUser } }),
    ...(runAsGroup !== undefined && { runAsGroup: { value: runAsGroup } }),
  };
}
