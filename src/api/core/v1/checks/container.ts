// One container by itself. What depends on its pod is in `containers.ts`.
// Upstream: pkg/apis/core/validation/validation.go.
import { portNumber } from "#schema/formats.ts";
import { duplicate, forbidden, invalid, notSupported, type Problem, required, tooMany } from "#schema/index.ts";
import type { Container, ContainerPort, VolumeMount } from "../container.ts";
import { checkEnvSource } from "./env.ts";
import { descending, noBacksteps } from "./paths.ts";
import { each, hasRepeats, none, oneOf, under } from "./problems.ts";
import { checkAmounts, containerResourceName, resourceNames } from "./resources.ts";

export function checkContainerPort({ containerPort, hostPort = 0 }: ContainerPort): readonly Problem[] {
  const found: Problem[] = [];
  if (containerPort === 0) found.push(required("containerPort"));
  else found.push(...portRange("containerPort", containerPort));
  if (hostPort !== 0) found.push(...portRange("hostPort", hostPort));
  return found;
}

function portRange(at: string, port: number): readonly Problem[] {
  const message = portNumber(port);
  return message ? [invalid(at, message, port)] : none;
}

export function checkMount({ name, mountPath, subPath = "", subPathExpr = "" }: VolumeMount): readonly Problem[] {
  const found: Problem[] = [];
  if (name === "") found.push(required("name"));
  if (mountPath === "") found.push(required("mountPath"));
  if (subPath !== "" && subPathExpr !== "")
    found.push(invalid("subPathExpr", "subPathExpr and subPath are mutually exclusive"));
  return found;
}

const messagePolicies = ["File", "FallbackToLogsOnError"];

export function checkContainer(container: Container): readonly Problem[] {
  const problems: Problem[] = [
    ...oneOf("terminationMessagePolicy", container.terminationMessagePolicy, messagePolicies),
  ];
  if (container.ports) problems.push(...portNames(container.ports));
  for (const source of container.envFrom ?? []) problems.push(...under("envFrom", checkEnvSource(source)));
  if (container.volumeMounts) problems.push(...checkMounts(container));
  if (container.volumeDevices) problems.push(...checkDevices(container));
  const { limits, requests } = container.resources;
  if (limits || requests) {
    problems.push(...under("resources", resourceNames(container.resources, containerResourceName)));
    problems.push(...under("resources", checkAmounts(container.resources)));
  }
  if (container.resizePolicy) problems.push(...checkResizePolicy(container));
  if (container.restartPolicy !== undefined || container.restartPolicyRules)
    problems.push(...checkRestartRules(container));
  return problems;
}

function portNames(ports: readonly ContainerPort[]): readonly Problem[] {
  if (ports.length < 2) return none;
  const found: Problem[] = [];
  const seen = new Set<string>();
  for (const [at, { name }] of each("ports", ports)) {
    if (!name) continue;
    if (seen.has(name)) found.push(duplicate(`${at}.name`));
    seen.add(name);
  }
  return found;
}

const devicesOf = (devices: NonNullable<Container["volumeDevices"]>) => ({
  names: new Set(devices.map(({ name }) => name)),
  paths: new Set(devices.map(({ devicePath }) => devicePath)),
});

function checkMounts({ volumeMounts, volumeDevices = [], securityContext }: Container): readonly Problem[] {
  const problems: Problem[] = [];
  const seen = hasRepeats(volumeMounts ?? none, "mountPath") ? new Set<string>() : undefined;
  const devices = volumeDevices.length > 0 ? devicesOf(volumeDevices) : undefined;
  for (const [at, mount] of each("volumeMounts", volumeMounts)) {
    if (seen?.has(mount.mountPath)) problems.push(invalid(`${at}.mountPath`, "must be unique"));
    seen?.add(mount.mountPath);
    if (devices?.names.has(mount.name)) problems.push(invalid(`${at}.name`, "must not already exist in volumeDevices"));
    if (devices?.paths.has(mount.mountPath))
      problems.push(invalid(`${at}.mountPath`, "must not already exist as a path in volumeDevices"));
    // Upstream leaves the index out of these paths.
    if (mount.subPath) problems.push(...descending("volumeMounts.subPath", mount.subPath));
    if (mount.subPathExpr) problems.push(...descending("volumeMounts.subPathExpr", mount.subPathExpr));
    if (mount.mountPropagation === "Bidirectional" && securityContext?.privileged !== true)
      problems.push(
        forbidden(
          "volumeMounts.mountPropagation",
          "Bidirectional mount propagation is available only to privileged containers",
        ),
      );
    if (mount.recursiveReadOnly !== undefined) problems.push(...recursiveReadOnly(mount));
  }
  return problems;
}

function* recursiveReadOnly({ recursiveReadOnly, readOnly, mountPropagation }: VolumeMount): Iterable<Problem> {
  const at = "volumeMounts.recursiveReadOnly";
  switch (recursiveReadOnly) {
    case "Disabled":
      return;
    case "Enabled":
    case "IfPossible":
      if (!readOnly) yield forbidden(at, "may only be specified when readOnly is true");
      if (mountPropagation !== undefined && mountPropagation !== "None")
        yield forbidden(at, "may only be specified when mountPropagation is None or not specified");
      return;
    default:
      yield notSupported(at, ["Disabled", "Enabled", "IfPossible"], recursiveReadOnly);
  }
}

function* checkDevices({ volumeMounts = [], volumeDevices }: Container): Iterable<Problem> {
  const names = new Set<string>();
  const paths = new Set<string>();
  const mounted = new Set(volumeMounts.map((mount) => mount.name));
  const mountPaths = new Set(volumeMounts.map(({ mountPath }) => mountPath));
  for (const [at, { name, devicePath }] of each("volumeDevices", volumeDevices)) {
    if (name === "") yield required(`${at}.name`);
    if (names.has(name)) yield invalid(`${at}.name`, "must be unique");
    if (devicePath === "") yield required(`${at}.devicePath`);
    if (paths.has(devicePath)) yield invalid(`${at}.devicePath`, "must be unique");
    if ([...noBacksteps("", devicePath)].length > 0)
      yield invalid(`${at}.devicePath`, "can not contain backsteps ('..')");
    else paths.add(devicePath);
    if (mounted.has(name)) yield invalid(`${at}.name`, "must not already exist in volumeMounts");
    if (mountPaths.has(devicePath))
      yield invalid(`${at}.devicePath`, "must not already exist as a path in volumeMounts");
    if (name !== "") names.add(name);
  }
}

function* checkResizePolicy({ resizePolicy }: Container): Iterable<Problem> {
  const seen = new Set<string>();
  for (const [at, { resourceName, restartPolicy }] of each("resizePolicy", resizePolicy)) {
    if (seen.has(resourceName)) yield duplicate(at, resourceName);
    seen.add(resourceName);
    yield* oneOf("resizePolicy", resourceName, ["cpu", "memory"]);
    yield* oneOf("resizePolicy", restartPolicy, ["NotRequired", "RestartContainer"]);
  }
}

const restartPolicies = ["Always", "Never", "OnFailure"];
const mostExitCodes = 255;

function* checkRestartRules({ restartPolicy, restartPolicyRules = [] }: Container): Iterable<Problem> {
  if (restartPolicy === undefined) {
    if (restartPolicyRules.length > 0)
      yield required("restartPolicy", "must specify restartPolicy when restart rules are used");
  } else if (!restartPolicies.includes(restartPolicy)) yield notSupported("restartPolicy", restartPolicies);
  for (const [at, { action = "", exitCodes }] of each("restartPolicyRules", restartPolicyRules)) {
    const actions = ["Restart", "RestartAllContainers"];
    if (!actions.includes(action)) yield notSupported(`${at}.action`, actions, action);
    if (!exitCodes) {
      yield required(`${at}.exitCodes`, "must be specified");
      continue;
    }
    const operators = ["In", "NotIn"];
    const { operator = "", values = [] } = exitCodes;
    if (!operators.includes(operator)) yield notSupported(`${at}.exitCodes.operator`, operators, operator);
    if (values.length > mostExitCodes) yield tooMany(`${at}.exitCodes.values`, values.length, mostExitCodes);
  }
}
