// Probes and lifecycle handlers.
// Upstream: pkg/apis/core/validation/validation.go.
import { httpHeaderName, portName, portNumber } from "#schema/formats.ts";
import { forbidden, invalid, type Problem, required } from "#schema/index.ts";
import type { HTTPHeader, Lifecycle, LifecycleHandler, Probe, ProbeHandler } from "../probe.ts";
import { malformed, none } from "./problems.ts";

/** A port by number or name, at `port` by default. */
export function checkPort(port: number | string, at = "port"): readonly Problem[] {
  if (typeof port === "string") return malformed(at, port, portName);
  const message = portNumber(port);
  return message ? [invalid(at, message, port)] : none;
}

export const checkHeaders = (headers: readonly HTTPHeader[] | undefined): readonly Problem[] =>
  headers ? headers.flatMap(({ name }) => malformed("httpHeaders", name, httpHeaderName)) : none;

const handlers = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"] as const;

export function checkHandler(handler: LifecycleHandler & ProbeHandler): readonly Problem[] {
  const given = handlers.filter((name) => handler[name] !== undefined);
  if (given.length === 0) return [required("", "must specify a handler type")];
  if (given.length === 1) return none;
  return given.slice(1).map((name) => forbidden(name, "may not specify more than 1 handler type"));
}

export function checkProbe(probe: Probe): readonly Problem[] {
  const found: Problem[] = [...checkHandler(probe)];
  const grace = probe.terminationGracePeriodSeconds;
  if (grace !== undefined && grace <= 0) found.push(invalid("terminationGracePeriodSeconds", "must be greater than 0"));
  return found;
}

/** What depends on where a probe stands. Paths are relative to the container. */
export function checkProbes({
  livenessProbe,
  readinessProbe,
  startupProbe,
}: {
  readonly [K in "livenessProbe" | "readinessProbe" | "startupProbe"]?: Probe | undefined;
}): readonly Problem[] {
  const found: Problem[] = [];
  if (livenessProbe && livenessProbe.successThreshold !== 1)
    found.push(invalid("livenessProbe.successThreshold", "must be 1"));
  if (startupProbe && startupProbe.successThreshold !== 1)
    found.push(invalid("startupProbe.successThreshold", "must be 1"));
  if (readinessProbe?.terminationGracePeriodSeconds !== undefined)
    found.push(invalid("readinessProbe.terminationGracePeriodSeconds", "must not be set for readinessProbes"));
  return found;
}

/** A sleep must end within the grace period. Paths are relative to the container. */
export function* checkSleeps({ postStart, preStop }: Lifecycle, gracePeriod: number): Iterable<Problem> {
  for (const [name, handler] of Object.entries({ postStart, preStop })) {
    const seconds = handler?.sleep?.seconds;
    if (seconds !== undefined && (seconds < 0 || seconds > gracePeriod))
      yield invalid(
        `lifecycle.${name}.sleep`,
        `must be non-negative and less than terminationGracePeriodSeconds (${gracePeriod})`,
        seconds,
      );
  }
}
