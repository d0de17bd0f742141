// The checks of the baseline: what would let a pod out of its sandbox.
// Upstream: staging/src/k8s.io/pod-security-admission/policy/registry.go and the check_*.go beside it.
import type { Container } from "#api/core/v1/container.ts";
import {
  containers,
  containersText,
  namesWhere,
  type PodSecurityCheck,
  type PodToCheck,
  plural,
  quoted,
  settersText,
  sortedSet,
  unlessOwnUsers,
  type Violation,
} from "./check.ts";
import { badSeccomp } from "./seccomp.ts";

const appArmorPrefix = "container.apparmor.security.beta.kubernetes.io/";

const appArmorProfile: PodSecurityCheck = {
  id: "appArmorProfile",
  level: "baseline",
  since: {
    0: (pod) => {
      const isBad = (type: string | undefined) =>
        type !== undefined && type !== "RuntimeDefault" && type !== "Localhost";
      const ofPod = pod.spec.securityContext?.appArmorProfile?.type;
      const bad = containers(pod).filter(({ securityContext }) => isBad(securityContext?.appArmorProfile?.type));
      const types = sortedSet([
        ...(ofPod !== undefined && isBad(ofPod) ? [ofPod] : []),
        ...bad.map(({ securityContext }) => securityContext?.appArmorProfile?.type ?? ""),
      ]);
      const annotations = Object.entries(pod.metadata.annotations ?? {})
        .filter(([key, value]) => key.startsWith(appArmorPrefix) && !isAllowedAppArmor(value))
        .map(([key, value]) => `${key}=${JSON.stringify(value)}`)
        .sort();
      const values = [...types, ...annotations];
      if (values.length === 0) return undefined;
      const setters = [
        settersText(
          isBad(ofPod),
          bad.map(({ name }) => name),
        ),
        annotations.length > 0 ? plural(annotations.length, "annotation") : "",
      ].filter((text) => text !== "");
      return {
        reason: plural(values.length, "forbidden AppArmor profile"),
        detail: `${setters.join(" and ")} must not set AppArmor profile type to ${quoted(values)}`,
      };
    },
  },
};
const isAllowedAppArmor = (profile: string): boolean =>
  profile === "" || profile === "runtime/default" || profile.startsWith("localhost/");

const usualCapabilities = new Set([
  "AUDIT_WRITE",
  "CHOWN",
  "DAC_OVERRIDE",
  "FOWNER",
  "FSETID",
  "KILL",
  "MKNOD",
  "NET_BIND_SERVICE",
  "SETFCAP",
  "SETGID",
  "SETPCAP",
  "SETUID",
  "SYS_CHROOT",
]);

const capabilities: PodSecurityCheck = {
  id: "capabilities_baseline",
  level: "baseline",
  since: {
    0: (pod) => {
      const unusual = ({ securityContext }: Container) =>
        (securityContext?.capabilities?.add ?? []).filter((one) => !usualCapabilities.has(one));
      const names = namesWhere(pod, (container) => unusual(container).length > 0);
      if (names.length === 0) return undefined;
      return {
        reason: "non-default capabilities",
        detail: `${containersText(names)} must not include ${quoted(sortedSet(containers(pod).flatMap(unusual)))} in securityContext.capabilities.add`,
      };
    },
  },
};

const hostNamespaces: PodSecurityCheck = {
  id: "hostNamespaces",
  level: "baseline",
  since: {
    0: ({ spec }) => {
      const shared = (["hostNetwork", "hostPID", "hostIPC"] as const).filter((field) => spec[field]);
      if (shared.length === 0) return undefined;
      return { reason: "host namespaces", detail: shared.map((field) => `${field}=true`).join(", ") };
    },
  },
};

const hostPathVolumes: PodSecurityCheck = {
  id: "hostPathVolumes",
  level: "baseline",
  since: {
    0: ({ spec }) => {
      const names = (spec.volumes ?? []).filter(({ hostPath }) => hostPath).map(({ name }) => name);
      if (names.length === 0) return undefined;
      return { reason: "hostPath volumes", detail: `${plural(names.length, "volume")} ${quoted(names)}` };
    },
  },
};

const hostPorts: PodSecurityCheck = {
  id: "hostPorts",
  level: "baseline",
  since: {
    0: (pod) => {
      const used = ({ ports }: Container) =>
        (ports ?? []).flatMap(({ hostPort }) => (hostPort ? [String(hostPort)] : []));
      const names = namesWhere(pod, (container) => used(container).length > 0);
      if (names.length === 0) return undefined;
      const ports = sortedSet(containers(pod).flatMap(used));
      return {
        reason: "hostPort",
        detail: `${containersText(names)} ${plural(names.length, "uses", "use")} ${plural(ports.length, "hostPort")} ${ports.join(", ")}`,
      };
    },
  },
};

const hostProbes: PodSecurityCheck = {
  id: "hostProbesAndHostLifecycle",
  level: "baseline",
  since: {
    34: (pod) => {
      const hosts = ({ livenessProbe, readinessProbe, startupProbe, lifecycle }: Container) =>
        [livenessProbe, readinessProbe, startupProbe, lifecycle?.postStart, lifecycle?.preStop]
          .flatMap((handler) => [handler?.httpGet?.host ?? "", handler?.tcpSocket?.host ?? ""])
          .filter((host) => host !== "");
      const names = sortedSet(namesWhere(pod, (container) => hosts(container).length > 0));
      if (names.length === 0) return undefined;
      const all = sortedSet(containers(pod).flatMap(hosts));
      return {
        reason: "probe or lifecycle host",
        detail: `${containersText(names)} ${plural(names.length, "uses", "use")} ${plural(all.length, "probe or lifecycle host")} ${quoted(all)}`,
      };
    },
  },
};

const privileged: PodSecurityCheck = {
  id: "privileged",
  level: "baseline",
  since: {
    0: (pod) => {
      const names = namesWhere(pod, ({ securityContext }) => securityContext?.privileged === true);
      if (names.length === 0) return undefined;
      return { reason: "privileged", detail: `${containersText(names)} must not set securityContext.privileged=true` };
    },
  },
};

export function unmaskedProc(pod: PodToCheck): Violation | undefined {
  const mount = ({ securityContext }: Container) => securityContext?.procMount ?? "Default";
  const names = namesWhere(pod, (container) => mount(container) !== "Default");
  if (names.length === 0) return undefined;
  const types = sortedSet(
    containers(pod)
      .map(mount)
      .filter((type) => type !== "Default"),
  );
  return {
    reason: "procMount",
    detail: `${containersText(names)} must not set securityContext.procMount to ${quoted(types)}`,
  };
}

const procMount: PodSecurityCheck = {
  id: "procMount",
  level: "baseline",
  since: { 0: unmaskedProc, 35: unlessOwnUsers(unmaskedProc) },
};

const seLinuxTypes = ["", "container_t", "container_init_t", "container_kvm_t"];

const seLinuxOptions: PodSecurityCheck = {
  id: "seLinuxOptions",
  level: "baseline",
  since: { 0: foreignSeLinux(seLinuxTypes), 31: foreignSeLinux([...seLinuxTypes, "container_engine_t"]) },
};

function foreignSeLinux(allowed: readonly string[]): PodSecurityCheck["since"][number] {
  return (pod) => {
    const ofPod = pod.spec.securityContext?.seLinuxOptions;
    const isBadType = (type: string | undefined) => !allowed.includes(type ?? "");
    const isBad = (options: typeof ofPod) =>
      options !== undefined && (isBadType(options.type) || Boolean(options.user) || Boolean(options.role));
    const bad = containers(pod).filter(({ securityContext }) => isBad(securityContext?.seLinuxOptions));
    const setters = settersText(
      isBad(ofPod),
      bad.map(({ name }) => name),
    );
    if (setters === "") return undefined;
    const options = [
      ...(isBad(ofPod) ? [ofPod] : []),
      ...bad.map(({ securityContext }) => securityContext?.seLinuxOptions),
    ];
    const types = sortedSet(options.flatMap((one) => (isBadType(one?.type) ? [one?.type ?? ""] : [])));
    const wrong = [
      ...(types.length > 0 ? [`${plural(types.length, "type")} ${quoted(types)}`] : []),
      ...(options.some((one) => one?.user) ? ["user may not be set"] : []),
      ...(options.some((one) => one?.role) ? ["role may not be set"] : []),
    ];
    return {
      reason: "seLinuxOptions",
      detail: `${setters} set forbidden securityContext.seLinuxOptions: ${wrong.join("; ")}`,
    };
  };
}

const seccompPod = "seccomp.security.alpha.kubernetes.io/pod";
const seccompPrefix = "container.seccomp.security.alpha.kubernetes.io/";

const seccompProfile: PodSecurityCheck = {
  id: "seccompProfile_baseline",
  level: "baseline",
  since: {
    0: (pod) => {
      const { annotations = {} } = pod.metadata;
      const keys = [seccompPod, ...containers(pod).map(({ name }) => seccompPrefix + name)];
      const forbidden = sortedSet(
        keys.flatMap((key) => {
          const value = annotations[key];
          return value === undefined || isAllowedSeccomp(value) ? [] : [`${key}=${JSON.stringify(value)}`];
        }),
      );
      if (forbidden.length === 0) return undefined;
      return {
        reason: "seccompProfile",
        detail: `forbidden ${plural(forbidden.length, "annotation")} ${forbidden.join(", ")}`,
      };
    },
    19: badSeccomp,
  },
};
const isAllowedSeccomp = (profile: string): boolean =>
  profile === "runtime/default" || profile === "docker/default" || profile.startsWith("localhost/");

const safeSysctls = [
  "kernel.shm_rmid_forced",
  "net.ipv4.ip_local_port_range",
  "net.ipv4.tcp_syncookies",
  "net.ipv4.ping_group_range",
  "net.ipv4.ip_unprivileged_port_start",
];
const safeSince27 = [...safeSysctls, "net.ipv4.ip_local_reserved_ports"];
const safeSince29 = [
  ...safeSince27,
  "net.ipv4.tcp_keepalive_time",
  "net.ipv4.tcp_fin_timeout",
  "net.ipv4.tcp_keepalive_intvl",
  "net.ipv4.tcp_keepalive_probes",
];
const safeSince32 = [...safeSince29, "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"];

const sysctls: PodSecurityCheck = {
  id: "sysctls",
  level: "baseline",
  since: {
    0: unsafeSysctls(safeSysctls),
    27: unsafeSysctls(safeSince27),
    29: unsafeSysctls(safeSince29),
    32: unsafeSysctls(safeSince32),
  },
};

function unsafeSysctls(allowed: readonly string[]): PodSecurityCheck["since"][number] {
  return ({ spec }) => {
    const names = (spec.securityContext?.sysctls ?? [])
      .map(({ name }) => name)
      .filter((name) => !allowed.includes(name));
    return names.length === 0 ? undefined : { reason: "forbidden sysctls", detail: names.join(", ") };
  };
}

const windowsHostProcess: PodSecurityCheck = {
  id: "windowsHostProcess",
  level: "baseline",
  since: {
    0: (pod) => {
      const setters = settersText(
        pod.spec.securityContext?.windowsOptions?.hostProcess === true,
        namesWhere(pod, ({ securityContext }) => securityContext?.windowsOptions?.hostProcess === true),
      );
      if (setters === "") return undefined;
      return {
        reason: "hostProcess",
        detail: `${setters} must not set securityContext.windowsOptions.hostProcess=true`,
      };
    },
  },
};

export const baselineChecks: readonly PodSecurityCheck[] = [
  appArmorProfile,
  capabilities,
  hostNamespaces,
  hostPathVolumes,
  hostPorts,
  hostProbes,
  privileged,
  procMount,
  seLinuxOptions,
  seccompProfile,
  sysctls,
  windowsHostProcess,
];
