// Runs one probe once.
// Upstream: pkg/kubelet/prober/prober.go.
import type { Container } from "#api/core/v1/container.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { HTTPGetAction, Probe } from "#api/core/v1/probe.ts";
import type { Clock } from "#base/clock.ts";
import { formatDuration } from "#base/duration.ts";
import type { ContainerRuntime } from "../runtime.ts";

export interface ProbeOutcome {
  readonly result: "success" | "warning" | "failure";
  readonly output: string;
}

export interface HttpProbe {
  readonly url: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Sends probes over the network. Each rejects when the signal aborts. */
export interface ProbeHandlers {
  http(probe: HttpProbe, signal: AbortSignal): Promise<ProbeOutcome>;
  tcp(host: string, port: number, signal: AbortSignal): Promise<ProbeOutcome>;
  grpc(host: string, port: number, service: string, signal: AbortSignal): Promise<ProbeOutcome>;
}

export interface ProbeTarget {
  readonly pod: Pod;
  readonly container: Container;
  /** At the runtime. */
  readonly id: string;
  readonly ip: string;
}

export interface ProbeContext {
  readonly handlers: ProbeHandlers;
  readonly runtime: Pick<ContainerRuntime, "exec">;
  readonly clock: Clock;
  /** `1.36`, for the name under which HTTP servers see us. */
  readonly version: string;
}

/** Runs a probe. A timeout is a failure; an error that is not about the container rejects. */
export async function runProbe(
  probe: Probe,
  target: ProbeTarget,
  context: ProbeContext,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const limitMs = probe.timeoutSeconds * 1000;
  const timeout = new AbortController();
  const abort = () => timeout.abort(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  let isLate = false;
  const cancel = context.clock.after(limitMs, () => {
    isLate = true;
    timeout.abort(new Error("the probe took too long"));
  });
  try {
    return await ask(probe, target, context, timeout.signal);
  } catch (error) {
    if (!isLate || signal.aborted) throw error;
    return { result: "failure", output: lateWords(probe, target, formatDuration(BigInt(limitMs) * 1_000_000n)) };
  } finally {
    cancel();
    signal.removeEventListener("abort", abort);
  }
}

/** Upstream's message for a timeout. */
function lateWords({ exec, httpGet, tcpSocket, grpc }: Probe, { container, ip }: ProbeTarget, time: string): string {
  const late = "context deadline exceeded";
  if (exec) return `command timed out: "${expand(exec.command ?? [], container).join(" ")}" timed out after ${time}`;
  if (httpGet) {
    const { url } = httpProbeOf(httpGet, container, ip, "");
    return `Get "${url}": ${late} (Client.Timeout exceeded while awaiting headers)`;
  }
  if (tcpSocket) return `dial tcp ${authorityOf(tcpSocket.host || ip, portOf(tcpSocket.port, container))}: i/o timeout`;
  return `timeout: failed to connect service "${authorityOf(ip, grpc?.port ?? 0)}" within ${time}: ${late}`;
}

const authorityOf = (host: string, port: number): string => `${host.includes(":") ? `[${host}]` : host}:${port}`;

async function ask(
  { exec, httpGet, tcpSocket, grpc }: Probe,
  { container, id, ip }: ProbeTarget,
  { handlers, runtime, version }: ProbeContext,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  if (exec) {
    const { exitCode, output } = await runtime.exec(id, expand(exec.command ?? [], container), signal);
    return { result: exitCode === 0 ? "success" : "failure", output: new TextDecoder().decode(output) };
  }
  if (httpGet) return handlers.http(httpProbeOf(httpGet, container, ip, `kube-probe/${version}`), signal);
  if (tcpSocket) return handlers.tcp(tcpSocket.host || ip, portOf(tcpSocket.port, container), signal);
  if (grpc) return handlers.grpc(ip, grpc.port, grpc.service ?? "", signal);
  throw new Error(`missing probe handler for container ${container.name}`);
}

export function httpProbeOf(action: HTTPGetAction, container: Container, ip: string, userAgent: string): HttpProbe {
  const authority = authorityOf(action.host || ip, portOf(action.port, container));
  const path = action.path.startsWith("/") ? action.path : `/${action.path}`;
  const headers: Record<string, string> = { "user-agent": userAgent, accept: "*/*" };
  for (const { name, value } of action.httpHeaders ?? []) {
    const key = name.toLowerCase();
    // An empty Accept means none at all; of others the last counts.
    if (key === "accept" && value === "") delete headers.accept;
    else headers[key] = value;
  }
  return { url: `${action.scheme.toLowerCase()}://${authority}${path}`, headers };
}

/** A port by number, or by the name the container gives it. */
export function portOf(port: number | string, { name, ports = [] }: Container): number {
  const number =
    typeof port === "number" ? port : (ports.find((one) => one.name === port)?.containerPort ?? Number(port));
  if (!Number.isInteger(number) || number <= 0 || number > 65535)
    throw new Error(`invalid port ${JSON.stringify(port)} of container ${name}`);
  return number;
}

/** `$(NAME)` is replaced by a variable whose value the spec tells; `$$` stands for a dollar. */
export function expand(words: readonly string[], { env = [] }: Container): string[] {
  const values = new Map(
    env.flatMap(({ name, value, valueFrom }) => (valueFrom ? [] : [[name, value ?? ""] as const])),
  );
  return words.map((word) =>
    word.replace(/\$(\$|\(([^)]*)\))/g, (whole, what: string, name: string | undefined) =>
      what === "$" ? "$" : (values.get(name ?? "") ?? whole),
    ),
  );
}
