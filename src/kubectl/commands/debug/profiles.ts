// What a debugging container may do, by profile (upstream: kubectl/pkg/cmd/debug/profiles.go).
import { isObject } from "#base/is-object.ts";
import { KubectlError } from "../../errors.ts";
import type { KubeObject } from "../../rest/client.ts";
import { specOf } from "../../workloads/pods.ts";

export type DebugStyle = "ephemeral" | "copy" | "node";

export interface KeepFlags {
  readonly "keep-labels": boolean;
  readonly "keep-annotations": boolean;
  readonly "keep-liveness": boolean;
  readonly "keep-readiness": boolean;
  readonly "keep-startup": boolean;
  readonly "keep-init-containers": boolean;
}

type ContainerChange = (container: KubeObject) => KubeObject;

const containerLists = ["containers", "initContainers", "ephemeralContainers"] as const;

export const entriesOf = (spec: Readonly<KubeObject>, list: string): readonly KubeObject[] => {
  const entries = spec[list];
  return Array.isArray(entries) ? entries.filter(isObject) : [];
};

/** The pod with its container of this name changed. */
export function withContainer(pod: KubeObject, name: string, change: ContainerChange): KubeObject {
  const spec = specOf(pod);
  const lists = containerLists.flatMap((list) => {
    const entries = entriesOf(spec, list);
    return entries.some((one) => one.name === name)
      ? [[list, entries.map((one) => (one.name === name ? change(one) : one))]]
      : [];
  });
  return { ...pod, spec: { ...spec, ...Object.fromEntries(lists) } };
}

const securityOf = ({ securityContext }: KubeObject): Readonly<KubeObject> =>
  isObject(securityContext) ? securityContext : {};

const secured =
  (changes: KubeObject): ContainerChange =>
  (container) => ({ ...container, securityContext: { ...securityOf(container), ...changes } });

const withCapabilities =
  (...added: readonly string[]): ContainerChange =>
  (container) => {
    const security = securityOf(container);
    const capabilities = isObject(security.capabilities) ? security.capabilities : {};
    const before = Array.isArray(capabilities.add) ? capabilities.add : [];
    return {
      ...container,
      securityContext: { ...security, capabilities: { ...capabilities, add: [...before, ...added] } },
    };
  };

const unsecured: ContainerChange = ({ securityContext: _, ...container }) => container;

const restricted: ContainerChange = (container) =>
  secured({
    allowPrivilegeEscalation: false,
    capabilities: { drop: ["ALL"] },
    runAsNonRoot: true,
    seccompProfile: { type: "RuntimeDefault" },
  })(unsecured(container));

const hostVolume = "host-root";
const mounted: ContainerChange = (container) => ({
  ...container,
  volumeMounts: [...entriesOf(container, "volumeMounts"), { mountPath: "/host", name: hostVolume }],
});

const withSpec = (pod: KubeObject, changes: KubeObject): KubeObject => ({
  ...pod,
  spec: { ...specOf(pod), ...changes },
});
const inHostNamespaces = (pod: KubeObject): KubeObject =>
  withSpec(pod, { hostNetwork: true, hostPID: true, hostIPC: true });
const withHostFiles = (pod: KubeObject, name: string): KubeObject =>
  withContainer(
    withSpec(pod, { volumes: [...entriesOf(specOf(pod), "volumes"), { hostPath: { path: "/" }, name: hostVolume }] }),
    name,
    mounted,
  );

/** What a copy leaves behind, so that it does not take part in what the original does. */
function stripped(pod: KubeObject, keep: KeepFlags): KubeObject {
  const { labels, annotations, ...metadata } = isObject(pod.metadata) ? pod.metadata : {};
  const { initContainers, ...spec } = specOf(pod);
  const containers = entriesOf(spec, "containers").map(({ livenessProbe, readinessProbe, startupProbe, ...one }) => ({
    ...one,
    ...(keep["keep-liveness"] && livenessProbe !== undefined && { livenessProbe }),
    ...(keep["keep-readiness"] && readinessProbe !== undefined && { readinessProbe }),
    ...(keep["keep-startup"] && startupProbe !== undefined && { startupProbe }),
  }));
  return {
    ...pod,
    metadata: {
      ...metadata,
      ...(keep["keep-labels"] && labels !== undefined && { labels }),
      ...(keep["keep-annotations"] && annotations !== undefined && { annotations }),
    },
    spec: {
      shareProcessNamespace: true,
      ...spec,
      containers,
      ...(keep["keep-init-containers"] && initContainers !== undefined && { initContainers }),
    },
  };
}

function withoutLabels(pod: KubeObject): KubeObject {
  const { labels: _, ...metadata } = isObject(pod.metadata) ? pod.metadata : {};
  return { ...pod, metadata };
}

type Profile = (pod: KubeObject, name: string, style: DebugStyle, keep: KeepFlags) => KubeObject;

const profiles: Readonly<Record<string, Profile>> = {
  legacy(pod, name, style) {
    if (style === "node") return inHostNamespaces(withHostFiles(pod, name));
    return style === "copy" ? withoutLabels(pod) : pod;
  },
  general(pod, name, style, keep) {
    if (style === "node") return inHostNamespaces(withContainer(withHostFiles(pod, name), name, unsecured));
    const traced = withContainer(pod, name, withCapabilities("SYS_PTRACE"));
    return style === "copy" ? stripped(traced, keep) : traced;
  },
  baseline(pod, name, style, keep) {
    const plain = withContainer(pod, name, unsecured);
    return style === "copy" ? stripped(plain, keep) : plain;
  },
  restricted(pod, name, style, keep) {
    const safe = withContainer(pod, name, restricted);
    return style === "copy" ? stripped(safe, keep) : safe;
  },
  netadmin(pod, name, style, keep) {
    const able = withContainer(pod, name, withCapabilities("NET_ADMIN", "NET_RAW"));
    if (style === "node") return inHostNamespaces(able);
    return style === "copy" ? stripped(able, keep) : able;
  },
  sysadmin(pod, name, style, keep) {
    const able = withContainer(pod, name, secured({ privileged: true }));
    if (style === "node") return withHostFiles(inHostNamespaces(able), name);
    return style === "copy" ? stripped(able, keep) : able;
  },
};

/** Throws KubectlError for a name that no profile has. */
export function profileNamed(name: string): Profile {
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (!profile) throw new KubectlError(`unknown profile: ${name}`);
  return profile;
}
