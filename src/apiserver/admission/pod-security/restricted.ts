// The checks of the restricted level, which also has those of the baseline that it does not replace.
// Upstream: staging/src/k8s.io/pod-security-admission/policy/registry.go and the check_*.go beside it.
import type { Container } from "#api/core/v1/container.ts";
import type { Volume } from "#api/core/v1/volume.ts";
import { unmaskedProc } from "./baseline.ts";
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
  unlessWindows,
  type Violation,
} from "./check.ts";
import { missingSeccomp } from "./seccomp.ts";

function mayEscalate(pod: PodToCheck): Violation | undefined {
  const names = namesWhere(pod, ({ securityContext }) => securityContext?.allowPrivilegeEscalation !== false);
  if (names.length === 0) return undefined;
  return {
    reason: "allowPrivilegeEscalation != false",
    detail: `${containersText(names)} must set securityContext.allowPrivilegeEscalation=false`,
  };
}

const allowPrivilegeEscalation: PodSecurityCheck = {
  id: "allowPrivilegeEscalation",
  level: "restricted",
  since: { 8: mayEscalate, 25: unlessWindows(mayEscalate) },
};

function keepsCapabilities(pod: PodToCheck): Violation | undefined {
  const added = ({ securityContext }: Container) =>
    (securityContext?.capabilities?.add ?? []).filter((one) => one !== "NET_BIND_SERVICE");
  const keeping = namesWhere(pod, ({ securityContext }) => !securityContext?.capabilities?.drop?.includes("ALL"));
  const adding = namesWhere(pod, (container) => added(container).length > 0);
  const details = [
    ...(keeping.length > 0 ? [`${containersText(keeping)} must set securityContext.capabilities.drop=["ALL"]`] : []),
    ...(adding.length > 0
      ? [
          `${containersText(adding)} must not include ${quoted(sortedSet(containers(pod).flatMap(added)))} in securityContext.capabilities.add`,
        ]
      : []),
  ];
  return details.length === 0 ? undefined : { reason: "unrestricted capabilities", detail: details.join("; ") };
}

const capabilities: PodSecurityCheck = {
  id: "capabilities_restricted",
  level: "restricted",
  replaces: "capabilities_baseline",
  since: { 22: keepsCapabilities, 25: unlessWindows(keepsCapabilities) },
};

const procMount: PodSecurityCheck = {
  id: "procMount_restricted",
  level: "restricted",
  replaces: "procMount",
  since: { 35: unmaskedProc },
};

const allowedVolumes = [
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "image",
  "persistentVolumeClaim",
  "projected",
  "secret",
] as const;
/** In the order in which upstream looks for them. */
const otherVolumes = [
  "hostPath",
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "gitRepo",
  "nfs",
  "iscsi",
  "glusterfs",
  "rbd",
  "flexVolume",
  "cinder",
  "cephfs",
  "flocker",
  "fc",
  "azureFile",
  "vsphereVolume",
  "quobyte",
  "azureDisk",
  "photonPersistentDisk",
  "portworxVolume",
  "scaleIO",
  "storageos",
] as const;

const restrictedVolumes: PodSecurityCheck = {
  id: "restrictedVolumes",
  level: "restricted",
  replaces: "hostPathVolumes",
  since: {
    0: ({ spec }) => {
      const bad = (spec.volumes ?? []).filter((volume) => !allowedVolumes.some((type) => volume[type]));
      if (bad.length === 0) return undefined;
      const typeOf = (volume: Volume) => otherVolumes.find((type) => volume[type]) ?? "unknown";
      const types = sortedSet(bad.map(typeOf));
      return {
        reason: "restricted volume types",
        detail: `${plural(bad.length, "volume")} ${quoted(bad.map(({ name }) => name))} ${plural(bad.length, "uses", "use")} ${plural(types.length, "restricted volume type")} ${quoted(types)}`,
      };
    },
  },
};

function mayRunAsRoot(pod: PodToCheck): Violation | undefined {
  const ofPod = pod.spec.securityContext?.runAsNonRoot;
  const reason = "runAsNonRoot != true";
  const setters = settersText(
    ofPod === false,
    namesWhere(pod, ({ securityContext }) => securityContext?.runAsNonRoot === false),
  );
  if (setters !== "") return { reason, detail: `${setters} must not set securityContext.runAsNonRoot=false` };
  if (ofPod === true) return undefined;
  const silent = namesWhere(pod, ({ securityContext }) => securityContext?.runAsNonRoot === undefined);
  if (silent.length === 0) return undefined;
  return { reason, detail: `pod or ${containersText(silent)} must set securityContext.runAsNonRoot=true` };
}

const runAsNonRoot: PodSecurityCheck = {
  id: "runAsNonRoot",
  level: "restricted",
  since: { 0: mayRunAsRoot, 35: unlessOwnUsers(mayRunAsRoot) },
};

function runsAsRoot(pod: PodToCheck): Violation | undefined {
  const setters = settersText(
    pod.spec.securityContext?.runAsUser === 0,
    namesWhere(pod, ({ securityContext }) => securityContext?.runAsUser === 0),
  );
  return setters === "" ? undefined : { reason: "runAsUser=0", detail: `${setters} must not set runAsUser=0` };
}

const runAsUser: PodSecurityCheck = {
  id: "runAsUser",
  level: "restricted",
  since: { 23: runsAsRoot, 35: unlessOwnUsers(runsAsRoot) },
};

const seccompProfile: PodSecurityCheck = {
  id: "seccompProfile_restricted",
  level: "restricted",
  replaces: "seccompProfile_baseline",
  since: { 19: missingSeccomp, 25: unlessWindows(missingSeccomp) },
};

export const restrictedChecks: readonly PodSecurityCheck[] = [
  allowPrivilegeEscalation,
  capabilities,
  procMount,
  restrictedVolumes,
  runAsNonRoot,
  runAsUser,
  seccompProfile,
];
