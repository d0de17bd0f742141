// Upstream: staging/src/k8s.io/pod-security-admission/policy/check_seccompProfile_baseline.go and
// staging/src/k8s.io/pod-security-admission/policy/check_seccompProfile_restricted.go.
import {
  containers,
  containersText,
  namesWhere,
  type PodSecurityCheck,
  quoted,
  settersText,
  sortedSet,
} from "./check.ts";

const isAllowed = (type: string): boolean => type === "RuntimeDefault" || type === "Localhost";

/** A profile that is named must be one that confines. */
export const badSeccomp: PodSecurityCheck["since"][number] = (pod) => {
  const ofPod = pod.spec.securityContext?.seccompProfile?.type;
  const isBad = (type: string | undefined) => type !== undefined && !isAllowed(type);
  const bad = containers(pod).filter(({ securityContext }) => isBad(securityContext?.seccompProfile?.type));
  const setters = settersText(
    isBad(ofPod),
    bad.map(({ name }) => name),
  );
  if (setters === "") return undefined;
  const types = [ofPod, ...bad.map(({ securityContext }) => securityContext?.seccompProfile?.type)];
  return {
    reason: "seccompProfile",
    detail: `${setters} must not set securityContext.seccompProfile.type to ${quoted(sortedSet(types.filter((type) => type !== undefined && !isAllowed(type)) as string[]))}`,
  };
};

/** And one must be named. */
export const missingSeccomp: PodSecurityCheck["since"][number] = (pod) => {
  const bad = badSeccomp(pod);
  if (bad) return bad;
  if (pod.spec.securityContext?.seccompProfile) return undefined;
  const names = namesWhere(pod, ({ securityContext }) => !securityContext?.seccompProfile);
  if (names.length === 0) return undefined;
  return {
    reason: "seccompProfile",
    detail: `pod or ${containersText(names)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`,
  };
};
