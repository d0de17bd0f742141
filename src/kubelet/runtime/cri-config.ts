// Pods and containers as CRI messages. Pure: what has to be fetched or mounted is given. Follows upstream's kuberuntime_sandbox.go and
// kuberuntime_container.go (pkg/kubelet/kuberuntime).

import type { Container } from "#api/core/v1/container.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { own } from "#base/collections.ts";
import { bytesOf, cpuPeriod, hugepageLimits, millisOf, oomScore, quotaOf, sharesOf } from "../cgroups/limits.ts";
import { kernelNameOf } from "../inputs/host-name.ts";
import { expand } from "../probes/run-probe.ts";
import type { ContainerConfig, SandboxConfig } from "../runtime.ts";
import { containerSecurity, sandboxSecurity } from "./cri-security.ts";

/** What the node adds to every pod. */
export interface CriSettings {
  /** `/var/log/pods`. */
  readonly logsDirectory: string;
  /** Where seccomp profiles of the node's own are: `/var/lib/kubelet/seccomp`. */
  readonly seccompDirectory: string;
  /** The file of a seccomp filter for sandboxes; defaults to the runtime's own filter. */
  readonly sandboxProfile?: string;
  /** Folders with temperatures of processors, to be masked: `/sys/devices/system/cpu/cpu0/thermal_throttle`; defaults to none. */
  readonly throttleFolders?: readonly string[];
  /** The cgroup of a pod; defaults to the runtime's choice. */
  readonly cgroupOf?: (pod: Pod) => string;
  /** Whether groups are of the second version alone, where all of a container is killed when it runs out of memory. */
  readonly isUnified?: boolean;
  /** The domain of pod host names; defaults to none. */
  readonly clusterDomain?: string;
  /** Memory of the node, by which scores for the kernel's killer are made. */
  readonly memoryBytes: number;
  /** The resolv.conf of a pod; defaults to the node's own. */
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
  /** Block devices. */
  readonly devices?: readonly {
    readonly containerPath: string;
    readonly hostPath: string;
    /** Of `m`, `r` and `w`: whether it may be made, read and written. */
    readonly permissions: string;
  }[];
  /** Names under which the runtime finds devices in its own files (CDI). */
  readonly cdiDevices?: readonly string[];
  /** For the runtime, from device plugins. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** Id of the container whose processes it is to see. */
  readonly target?: string | undefined;
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

const protocols: Readonly<Record<string, number>> = { TCP: 0, UDP: 1, SCTP: 2 };

const labelsOf = ({ metadata }: Pod) => ({
  [criLabels.podName]: metadata.name,
  [criLabels.podNamespace]: metadata.namespace ?? "",
  [criLabels.podUid]: metadata.uid ?? "",
});

export const logDirectoryOf = ({ metadata }: Pod, { logsDirectory }: Pick<CriSettings, "logsDirectory">): string =>
  `${logsDirectory}/${metadata.namespace}_${metadata.name}_${metadata.uid}`;

export function criSandbox({ pod, attempt }: SandboxConfig, settings: CriSettings) {
  const { metadata, spec } = pod;
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  return {
    metadata: { name: metadata.name, uid: metadata.uid ?? "", namespace: metadata.namespace ?? "", attempt },
    hostname: kernelNameOf(pod, settings.clusterDomain),
    logDirectory: logDirectoryOf(pod, settings),
    ...(settings.dns && { dnsConfig: settings.dns(pod) }),
    portMappings: containers.flatMap(({ ports = [] }) =>
      ports.flatMap(({ hostPort = 0, containerPort, protocol, hostIP = "" }) =>
        hostPort && !spec.hostNetwork
          ? [{ protocol: own(protocols, protocol) ?? 0, containerPort, hostPort, hostIp: hostIP }]
          : [],
      ),
    ),
    labels: { ...metadata.labels, ...labelsOf(pod) },
    annotations: metadata.annotations ?? {},
    linux: {
      cgroupParent: settings.cgroupOf?.(pod) ?? "",
      securityContext: sandboxSecurity(pod, settings.sandboxProfile),
      sysctls: Object.fromEntries((spec.securityContext?.sysctls ?? []).map(({ name, value }) => [name, value])),
    },
  };
}

export function criContainer(config: ContainerConfig, inputs: ContainerInputs, settings: CriSettings) {
  const { pod, container, attempt, imageId } = config;
  const withValues = {
    ...container,
    env: inputs.env.map(({ name, value }) => ({ name, value, valueFrom: undefined })),
  };
  return {
    metadata: { name: container.name, attempt },
    image: { image: imageId, userSpecifiedImage: container.image ?? "" },
    command: expand(container.command ?? [], withValues),
    args: expand(container.args ?? [], withValues),
    workingDir: container.workingDir ?? "",
    envs: inputs.env.map(({ name, value }) => ({ key: name, value })),
    mounts: inputs.mounts,
    ...(inputs.devices && inputs.devices.length > 0 && { devices: inputs.devices }),
    ...(inputs.cdiDevices?.length && { cdiDevices: inputs.cdiDevices.map((name) => ({ name })) }),
    labels: { ...labelsOf(pod), [criLabels.containerName]: container.name },
    annotations: {
      ...inputs.annotations,
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
      securityContext: containerSecurity(pod, container, { ...settings, target: inputs.target }),
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
