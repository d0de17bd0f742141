// Containers of a pod, or of a template of pods.
import type { Container } from "#api/core/v1/container.ts";
import type { ContainerState, ContainerStatus } from "#api/core/v1/container-status.ts";
import type { EnvFromSource, EnvVar } from "#api/core/v1/env.ts";
import type { Probe } from "#api/core/v1/probe.ts";
import { goQuote } from "../go/quote.ts";
import { compareText } from "../go/value.ts";
import { sortedEntries, timeText } from "./common.ts";
import type { DescriptionWriter } from "./description-writer.ts";
import { resourceFieldValue } from "./resource-field.ts";

/** The value of a field of the pod, as its environment gets it. */
export type FieldResolver = (fieldPath: string) => string;

export interface ContainerSection {
  readonly title: string;
  readonly containers: readonly Container[];
  readonly statuses?: readonly ContainerStatus[] | undefined;
  readonly resolve?: FieldResolver;
  /** Templates stand two spaces further in. */
  readonly space: string;
}

export function writeContainers(w: DescriptionWriter, section: ContainerSection): void {
  const { title, containers, statuses = [], resolve = () => "", space } = section;
  w.line(0, `${space}${title}:${containers.length === 0 ? " <none>" : ""}`);
  for (const container of containers) {
    const status = statuses.findLast(({ name }) => name === container.name);
    w.line(1, `${space === "" ? "" : " "}${container.name}:`);
    writeBasics(w, container, status);
    writeWords(w, "Command", container.command);
    writeWords(w, "Args", container.args);
    if (status) writeStatus(w, status);
    writeResources(w, container.resources, 2);
    writeProbe(w, "Liveness", container.livenessProbe);
    writeProbe(w, "Readiness", container.readinessProbe);
    writeProbe(w, "Startup", container.startupProbe);
    writeEnvFrom(w, container.envFrom);
    writeEnv(w, container, resolve);
    writeMounts(w, container);
  }
}

function writeBasics(w: DescriptionWriter, container: Container, status: ContainerStatus | undefined): void {
  const { image = "", ports = [], securityContext } = container;
  if (status) w.line(2, "Container ID:", status.containerID ?? "");
  w.line(2, "Image:", image);
  if (status) w.line(2, "Image ID:", status.imageID ?? "");
  const portsText = (which: "containerPort" | "hostPort") =>
    ports.map((port) => `${port[which] ?? 0}/${port.protocol ?? ""}${port.name ? ` (${port.name})` : ""}`).join(", ");
  const plural = (text: string) => (text.includes(",") ? "s" : "");
  const own = portsText("containerPort");
  const host = portsText("hostPort");
  w.line(2, `Port${plural(own)}:`, own || "<none>");
  w.line(2, `Host Port${plural(host)}:`, host || "<none>");
  const seccomp = securityContext?.seccompProfile;
  if (!seccomp) return;
  w.line(2, "SeccompProfile:", seccomp.type);
  if (seccomp.type === "Localhost") w.line(3, "LocalhostProfile:", seccomp.localhostProfile ?? "");
}

function writeWords(w: DescriptionWriter, title: string, words: readonly string[] = []): void {
  if (words.length === 0) return;
  w.line(2, `${title}:`);
  for (const line of words.flatMap((word) => word.split("\n"))) w.line(3, line);
}

export function writeResources(w: DescriptionWriter, resources: Container["resources"], level: number): void {
  for (const [title, amounts] of [
    ["Limits:", sortedEntries(resources?.limits)],
    ["Requests:", sortedEntries(resources?.requests)],
  ] as const) {
    if (amounts.length > 0) w.line(level, title);
    for (const [name, amount] of amounts) w.line(level + 1, `${name}:`, amount);
  }
}

function writeStatus(w: DescriptionWriter, { state, lastState, ready, restartCount }: ContainerStatus): void {
  writeState(w, "State", state);
  if (lastState?.terminated) writeState(w, "Last State", lastState);
  w.line(2, "Ready:", ready ? "True" : "False");
  w.line(2, "Restart Count:", restartCount ?? 0);
}

function writeState(w: DescriptionWriter, title: string, state: ContainerState = {}): void {
  const { running, waiting, terminated } = state;
  if (running) {
    w.line(2, `${title}:`, "Running");
    w.line(3, "Started:", timeText(running.startedAt));
  } else if (terminated && !waiting) {
    const { reason, message, exitCode, signal = 0, startedAt, finishedAt } = terminated;
    w.line(2, `${title}:`, "Terminated");
    if (reason) w.line(3, "Reason:", reason);
    if (message) w.line(3, "Message:", message);
    w.line(3, "Exit Code:", exitCode ?? 0);
    if (signal > 0) w.line(3, "Signal:", signal);
    w.line(3, "Started:", timeText(startedAt));
    w.line(3, "Finished:", timeText(finishedAt));
  } else {
    w.line(2, `${title}:`, "Waiting");
    if (waiting?.reason) w.line(3, "Reason:", waiting.reason);
  }
}

function writeProbe(w: DescriptionWriter, title: string, probe: Probe | undefined): void {
  if (probe) w.line(2, `${title}:`, probeText(probe));
}

function probeText(probe: Probe): string {
  const { initialDelaySeconds = 0, timeoutSeconds = 0, periodSeconds = 0 } = probe;
  const { successThreshold = 0, failureThreshold = 0, exec, httpGet, tcpSocket, grpc } = probe;
  const rest = `delay=${initialDelaySeconds}s timeout=${timeoutSeconds}s period=${periodSeconds}s #success=${successThreshold} #failure=${failureThreshold}`;
  if (exec) return `exec [${(exec.command ?? []).join(" ")}] ${rest}`;
  if (httpGet) {
    const { scheme = "", host = "", port, path = "" } = httpGet;
    const joined = `${host.includes(":") ? `[${host}]` : host}:${port}`;
    const escaped = encodeURI(path).replace(/[?#!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
    const slash = path === "" || path.startsWith("/") ? "" : "/";
    return `http-get ${scheme === "" ? "" : `${scheme.toLowerCase()}:`}//${joined}${slash}${escaped} ${rest}`;
  }
  if (tcpSocket) return `tcp-socket ${tcpSocket.host ?? ""}:${tcpSocket.port} ${rest}`;
  if (grpc) return `grpc <pod>:${grpc.port} ${grpc.service ?? ""} ${rest}`;
  return `unknown ${rest}`;
}

function writeEnvFrom(w: DescriptionWriter, sources: readonly EnvFromSource[] = []): void {
  if (sources.length === 0) return;
  w.line(2, "Environment Variables from:");
  for (const { configMapRef, secretRef, prefix } of sources) {
    const source = configMapRef ?? secretRef;
    const from = configMapRef ? "ConfigMap" : secretRef ? "Secret" : "";
    w.line(
      3,
      source?.name ?? "",
      `${from}${prefix ? ` with prefix '${prefix}'` : ""}`,
      `Optional: ${source?.optional ?? false}`,
    );
  }
}

function writeEnv(w: DescriptionWriter, container: Container, resolve: FieldResolver): void {
  const { env = [] } = container;
  w.line(2, `Environment:${env.length === 0 ? "\t<none>" : ""}`);
  for (const variable of env) {
    const { name, value = "", valueFrom } = variable;
    if (valueFrom) writeSource(w, variable, container, resolve);
    else for (const [i, line] of value.split("\n").entries()) w.line(3, i === 0 ? `${name}:` : "", line);
  }
}

function writeSource(w: DescriptionWriter, variable: EnvVar, container: Container, resolve: FieldResolver): void {
  const { name, valueFrom } = variable;
  const { fieldRef, resourceFieldRef, secretKeyRef, configMapKeyRef } = valueFrom ?? {};
  if (fieldRef)
    w.line(3, `${name}:`, `${resolve(fieldRef.fieldPath)} (${fieldRef.apiVersion ?? ""}:${fieldRef.fieldPath})`);
  else if (resourceFieldRef)
    w.line(3, `${name}:`, `${resourceFieldValue(resourceFieldRef, container)} (${resourceFieldRef.resource})`);
  else if (secretKeyRef)
    w.line(
      3,
      `${name}:`,
      `<set to the key '${secretKeyRef.key}' in secret '${secretKeyRef.name ?? ""}'>`,
      `Optional: ${secretKeyRef.optional ?? false}`,
    );
  else if (configMapKeyRef)
    w.line(
      3,
      `${name}:`,
      `<set to the key '${configMapKeyRef.key}' of config map '${configMapKeyRef.name ?? ""}'>`,
      `Optional: ${configMapKeyRef.optional ?? false}`,
    );
}

function writeMounts(w: DescriptionWriter, { volumeMounts = [], volumeDevices = [] }: Container): void {
  const none = volumeMounts.length === 0 ? "\t<none>" : "";
  w.line(2, `Mounts:${none}`);
  for (const mount of volumeMounts.toSorted((a, b) => compareText(a.mountPath, b.mountPath))) {
    const { mountPath, name, readOnly, subPath } = mount;
    w.line(3, `${mountPath} from ${name} (${readOnly ? "ro" : "rw"}${subPath ? `,path=${goQuote(subPath)}` : ""})`);
  }
  if (volumeDevices.length === 0) return;
  w.line(2, `Devices:${none}`);
  for (const { devicePath, name } of volumeDevices.toSorted((a, b) => compareText(a.devicePath, b.devicePath)))
    w.line(3, `${devicePath} from ${name}`);
}
