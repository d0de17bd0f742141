// What a pod of one operating system cannot have.
// Upstream: pkg/apis/core/validation/validation.go.
import { forbidden, invalid, notSupported, type Problem, required } from "#schema/index.ts";
import type { PodSpec } from "../pod-spec.ts";
import type { SecurityContext } from "../security-context.ts";
import { allContainers, anyContainer } from "./containers.ts";
import { none } from "./problems.ts";

export function checkOs(spec: PodSpec): readonly Problem[] {
  const found = checkHostProcess(spec);
  switch (spec.os?.name) {
    case undefined:
      return found;
    case "":
      return [...found, required("os.name")];
    case "linux":
      return [...found, ...checkLinux(spec)];
    case "windows":
      return [...found, ...checkWindows(spec)];
    default:
      return [...found, notSupported("os", ["linux", "windows"], spec.os?.name)];
  }
}

function* checkLinux(spec: PodSpec): Iterable<Problem> {
  const why = "windows options cannot be set for a linux pod";
  if (spec.securityContext.windowsOptions) yield forbidden("securityContext.windowsOptions", why);
  for (const [at, { securityContext }] of allContainers(spec))
    if (securityContext?.windowsOptions) yield forbidden(`${at}.securityContext.windowsOptions`, why);
}

const linuxOfPod = ["hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"] as const;
const linuxOfPodSecurity = [
  "appArmorProfile",
  "seLinuxOptions",
  "seccompProfile",
  "fsGroup",
  "fsGroupChangePolicy",
  "sysctls",
  "runAsUser",
  "runAsGroup",
  "supplementalGroups",
  "supplementalGroupsPolicy",
  "seLinuxChangePolicy",
] as const;
const linuxOfContainer = [
  "appArmorProfile",
  "seLinuxOptions",
  "seccompProfile",
  "capabilities",
  "readOnlyRootFilesystem",
  "privileged",
  "allowPrivilegeEscalation",
  "procMount",
  "runAsUser",
  "runAsGroup",
] as const;

function* checkWindows(spec: PodSpec): Iterable<Problem> {
  const why = "cannot be set for a windows pod";
  for (const name of linuxOfPod) {
    const value = spec[name];
    if (value !== undefined && !(value === false && (name === "hostPID" || name === "hostIPC")))
      yield forbidden(name, why);
  }
  for (const name of linuxOfPodSecurity)
    if (spec.securityContext[name] !== undefined) yield forbidden(`securityContext.${name}`, why);
  for (const [at, { securityContext }] of allContainers(spec))
    for (const name of linuxOfContainer)
      if (securityContext?.[name] !== undefined) yield forbidden(`${at}.securityContext.${name}`, why);
}

/** Containers that are processes of a Windows host: all of a pod's, or none, and on the host's network. */
const runsOnWindows = ({ securityContext }: { readonly securityContext?: SecurityContext | undefined }): boolean =>
  securityContext?.windowsOptions !== undefined;

function checkHostProcess(spec: PodSpec): readonly Problem[] {
  const ofPod = spec.securityContext.windowsOptions?.hostProcess;
  if (ofPod === undefined && !anyContainer(spec, runsOnWindows)) return none;
  const problems: Problem[] = [];
  let containers = 0;
  let onHost = 0;
  for (const [at, { securityContext }] of allContainers(spec)) {
    const own = securityContext?.windowsOptions?.hostProcess;
    if (ofPod !== undefined && own !== undefined && own !== ofPod)
      problems.push(
        invalid(
          `${at}.securityContext.windowsOptions.hostProcess`,
          `pod hostProcess value must be identical if both are specified, was ${ofPod}`,
        ),
      );
    containers++;
    if (own ?? ofPod) onHost++;
  }
  if (onHost === 0) return problems;
  if (onHost !== containers)
    problems.push(
      invalid("", "If pod contains any hostProcess containers then all containers must be HostProcess containers", ""),
    );
  if (!spec.hostNetwork)
    problems.push(invalid("hostNetwork", "hostNetwork must be true if pod contains any hostProcess containers", false));
  return problems;
}
