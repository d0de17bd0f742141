// Node ports of services, and the port that load balancers ask for a node's health.
// Upstream: pkg/registry/core/service/storage/alloc.go and pkg/registry/core/service/portallocator/operation.go.
import type { ServicePort, ServiceSpec } from "#api/core/v1/service.ts";
import { needsHealthCheck } from "#api/core/v1/service-defaults.ts";
import type { ApiError } from "#base/errors.ts";
import type { Random } from "#base/random.ts";
import { invalid, type Mutable, type Problem } from "#schema/index.ts";
import { internalError } from "#wire/status.ts";
import type { HoldingClaim } from "./holdings.ts";
import { getsNodePorts, hasNodePorts, nodePortsOf } from "./omitted.ts";
import { freeNumber, isWithin, type NumberRange } from "./ranges.ts";

export interface PortTaking {
  readonly claim: HoldingClaim;
  readonly range: NumberRange;
  readonly random: Random;
  /** In a dry run, the highest port that it has taken so far. */
  readonly trial?: { highest?: number };
  isTaken(port: string): boolean;
  refuse(...problems: readonly Problem[]): ApiError;
}

/** What a service no longer has is free once the change is stored. */
export function takeNodePorts(spec: Mutable<ServiceSpec>, old: ServiceSpec | undefined, taking: PortTaking): void {
  if (hasNodePorts(spec) && spec.ports) spec.ports = old ? updated(spec, old, taking) : created(spec, taking);
  if (needsHealthCheck(spec) && !(old && needsHealthCheck(old))) takeHealthCheckPort(spec, taking);
}

/** Ports of one number, such as DNS over TCP and UDP, share a node port unless they ask for different ones. */
function created(spec: ServiceSpec, taking: PortTaking): ServicePort[] {
  const shared = new Map<number, number>();
  const ports: ServicePort[] = [];
  // Ports of one number share a node port: the one that the first of them asks for.
  const firstAsked = new Map(
    (spec.ports ?? [])
      .filter(({ nodePort }) => nodePort)
      .toReversed()
      .map(({ port, nodePort }) => [port, nodePort]),
  );
  for (const [index, port] of (spec.ports ?? []).entries()) {
    const requested = port.nodePort ?? 0;
    if (requested === 0 && !getsNodePorts(spec)) {
      ports.push(port);
      continue;
    }
    const known = shared.get(port.port);
    let nodePort = requested || known;
    if (known === undefined) {
      const wanted = requested || firstAsked.get(port.port);
      nodePort = wanted ? take(index, wanted, taking) : takeAny(taking);
      shared.set(port.port, nodePort);
    } else if (requested !== 0 && requested !== known) take(index, requested, taking);
    ports.push({ ...port, nodePort });
  }
  return ports;
}

function updated(spec: ServiceSpec, old: ServiceSpec, taking: PortTaking): ServicePort[] {
  const held = new Set(nodePortsOf(old));
  return (spec.ports ?? []).map((port, index) => {
    const asked = port.nodePort ?? 0;
    if (asked === 0) return getsNodePorts(spec) ? { ...port, nodePort: takeAny(taking) } : port;
    if (!held.has(asked)) take(index, asked, taking);
    held.add(asked);
    return port;
  });
}

function take(index: number, port: number, { refuse, ...taking }: PortTaking): number {
  const why = problemOf(port, taking);
  if (why) throw refuse(invalid(`spec.ports[${index}].nodePort`, why, port));
  return taken(port, taking);
}

function taken(port: number, { claim, trial }: Pick<PortTaking, "claim" | "trial">): number {
  claim.take(String(port));
  if (trial) trial.highest = Math.max(trial.highest ?? 0, port);
  return port;
}

/** Upstream does not look at the range in a dry run. */
function problemOf(
  port: number,
  { range, isTaken, trial }: Pick<PortTaking, "range" | "isTaken" | "trial">,
): string | undefined {
  if (!trial && (!Number.isInteger(port) || !isWithin(range, BigInt(port))))
    return `provided port is not in the valid range. The range of valid ports is ${range.text}`;
  return isTaken(String(port)) ? "provided port is already allocated" : undefined;
}

function takeAny(taking: PortTaking): number {
  const port = anyPort(taking);
  if (port === undefined) throw internalError("failed to allocate a nodePort: range is full");
  return port;
}

function anyPort(taking: PortTaking): number | undefined {
  const { range, isTaken, random, trial } = taking;
  if (trial) return taken(examplePort(trial), taking);
  const free = freeNumber(range, (port) => isTaken(String(port)), random);
  return free === undefined ? undefined : taken(Number(free), taking);
}

const firstExample = 32769;

/** A dry run shows a port without asking whether it is free, as upstream's does: the one after the highest so far. */
const examplePort = ({ highest }: { readonly highest?: number }): number =>
  highest === undefined ? firstExample : highest + 1;

function takeHealthCheckPort(spec: Mutable<ServiceSpec>, taking: PortTaking): void {
  const nodePort = spec.healthCheckNodePort ?? 0;
  if (nodePort === 0) {
    const port = anyPort(taking);
    if (port === undefined) throw internalError("failed to allocate a HealthCheck NodePort 0: range is full");
    spec.healthCheckNodePort = port;
    return;
  }
  const why = problemOf(nodePort, taking);
  if (why) throw internalError(`failed to allocate requested HealthCheck NodePort ${nodePort}: ${why}`);
  taken(nodePort, taking);
}
