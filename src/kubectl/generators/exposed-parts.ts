// What a service needs to know of the object it is made for (upstream: kubectl/pkg/polymorphichelpers/mapbasedselectorforobject.go,
// portsforobject.go and protocolsforobject.go).
import { KubectlError } from "../errors.ts";
import type { KubeObject } from "../rest/client.ts";

export interface ExposedParts {
  readonly selector: Readonly<Record<string, string>>;
  readonly ports: readonly string[];
  /** The protocols of each port. */
  readonly protocols: ReadonlyMap<string, readonly string[]>;
}

interface Exposable {
  readonly kind?: string;
  readonly metadata?: { readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: {
    readonly selector?: unknown;
    readonly ports?: readonly { readonly port?: number; readonly protocol?: string }[];
    readonly template?: { readonly spec?: PodSpec };
  } & PodSpec;
}
interface PodSpec {
  readonly containers?: readonly {
    readonly ports?: readonly { readonly containerPort?: number; readonly protocol?: string }[];
  }[];
}

/** Throws KubectlError for an object that cannot be exposed. A selector that was given spares looking for one. */
export function exposedParts(object: KubeObject, givenSelector: string): ExposedParts {
  const exposable = object as Exposable;
  const ports = portsOf(exposable);
  const protocols = new Map<string, string[]>();
  for (const { port, protocol } of ports) protocols.set(port, [...new Set([...(protocols.get(port) ?? []), protocol])]);
  return {
    selector: givenSelector === "" ? selectorOf(exposable) : {},
    ports: [...new Set(ports.map(({ port }) => port))],
    protocols,
  };
}

function portsOf({ kind, spec = {} }: Exposable): readonly { readonly port: string; readonly protocol: string }[] {
  switch (kind) {
    case "Service":
      return (spec.ports ?? []).map(({ port, protocol = "TCP" }) => ({ port: String(port), protocol }));
    case "Pod":
      return containerPorts(spec);
    case "ReplicationController":
    case "Deployment":
    case "ReplicaSet":
      return containerPorts(spec.template?.spec ?? {});
    default:
      throw new KubectlError(`cannot expose a ${kind}`);
  }
}

const containerPorts = ({ containers = [] }: PodSpec) =>
  containers.flatMap(({ ports = [] }) =>
    ports.map(({ containerPort, protocol = "TCP" }) => ({ port: String(containerPort), protocol })),
  );

function selectorOf({ kind, metadata, spec = {} }: Exposable): Readonly<Record<string, string>> {
  const refuse = (why: string) =>
    new KubectlError(`couldn't retrieve selectors via --selector flag or introspection: ${why}`);
  if (kind === "Pod") {
    if (Object.keys(metadata?.labels ?? {}).length === 0) throw refuse("the pod has no labels and cannot be exposed");
    return metadata?.labels ?? {};
  }
  if (kind === "Service" || kind === "ReplicationController") {
    const selector = (spec.selector ?? {}) as Readonly<Record<string, string>>;
    if (Object.keys(selector).length === 0 && kind === "Service") throw refuse("the service has no pod selector set");
    return selector;
  }
  const { matchLabels = {}, matchExpressions = [] } = (spec.selector ?? {}) as {
    matchLabels?: Readonly<Record<string, string>>;
    matchExpressions?: readonly unknown[];
  };
  if (matchExpressions.length > 0)
    throw refuse(`couldn't convert expressions - "${JSON.stringify(matchExpressions)}" to map-based selector format`);
  if (Object.keys(matchLabels).length === 0)
    throw refuse(`the ${kind?.toLowerCase()} has no selector and cannot be exposed`);
  return matchLabels;
}
