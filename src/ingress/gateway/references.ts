// References to objects of other namespaces, and what backends they lead to.
import type { Service } from "#api/core/v1/service.ts";
import type { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { serversIn } from "../endpoints.ts";
import { maxWeight, type ProxyServer } from "../proxy-state.ts";
import type { ServerProtocol } from "../route-options.ts";
import { type BackendReference, gatewayGroup, type ObjectReference, type ReferenceGrantObject } from "./kinds.ts";

export interface ReferenceProblem {
  readonly reason: "InvalidKind" | "BackendNotFound" | "RefNotPermitted" | "InvalidCertificateRef";
  readonly message: string;
}

/** Whether an object of a kind of the Gateway API in a namespace may name the other one. */
export function isPermitted(
  from: { readonly kind: string; readonly namespace: string },
  to: ObjectReference & { readonly group: string; readonly kind: string; readonly namespace: string },
  grants: readonly ReferenceGrantObject[],
): boolean {
  if (from.namespace === to.namespace) return true;
  return grants.some(
    ({ metadata, spec }) =>
      metadata.namespace === to.namespace &&
      spec.from.some(
        (one) => one.group === gatewayGroup && one.kind === from.kind && one.namespace === from.namespace,
      ) &&
      spec.to.some((one) => one.group === to.group && one.kind === to.kind && (!one.name || one.name === to.name)),
  );
}

export interface BackendSources {
  readonly service: (key: string) => Service | undefined;
  readonly slices: (service: string) => readonly EndpointSlice[];
  readonly grants: readonly ReferenceGrantObject[];
}

export interface ResolvedBackends {
  readonly servers: ReadonlyMap<string, ProxyServer>;
  readonly problems: readonly ReferenceProblem[];
}

/** Where the requests of a rule go. What is not there takes its share of them, and answers with an error. */
export function resolveBackends(
  route: { readonly kind: string; readonly namespace: string },
  refs: readonly BackendReference[],
  protocol: ServerProtocol,
  sources: BackendSources,
): ResolvedBackends {
  const problems: ReferenceProblem[] = [];
  const groups = refs.map((ref) => {
    const result = resolveBackend(route, ref, protocol, sources);
    if ("reason" in result) problems.push(result);
    const share = "reason" in result ? { addresses: ["@500"], protocol: "HTTP" as const } : result;
    return { ...share, weight: ref.weight ?? 1 };
  });
  return { servers: weighted(groups), problems };
}

interface BackendAddresses {
  readonly addresses: readonly string[];
  readonly protocol: ServerProtocol;
}

function resolveBackend(
  route: { readonly kind: string; readonly namespace: string },
  ref: BackendReference,
  protocol: ServerProtocol,
  { service, slices, grants }: BackendSources,
): BackendAddresses | ReferenceProblem {
  const { group = "", kind = "Service", namespace = route.namespace, name } = ref;
  if (group !== "" || kind !== "Service")
    return { reason: "InvalidKind", message: `${kind} ${name}: only services can be backends` };
  const key = `${namespace}/${name}`;
  if (!isPermitted(route, { group, kind, namespace, name }, grants))
    return { reason: "RefNotPermitted", message: `no ReferenceGrant of ${namespace} permits the service ${key}` };
  const port = service(key)?.spec.ports?.find((one) => one.port === ref.port);
  if (!port) return { reason: "BackendNotFound", message: `there is no service ${key} with the port ${ref.port}` };
  const addresses = slices(key).flatMap((slice) => serversIn(slice, port.name ?? ""));
  if (addresses.length === 0 && protocol !== "TCP") return { addresses: ["@503"], protocol: "HTTP" };
  const isH2 = port.appProtocol === "kubernetes.io/h2c" && protocol === "HTTP";
  return { addresses, protocol: isH2 ? "GRPC" : protocol };
}

interface WeightedGroup extends BackendAddresses {
  readonly weight: number;
}

/** The weight of a group is shared by its addresses. */
function weighted(groups: readonly WeightedGroup[]): ReadonlyMap<string, ProxyServer> {
  const present = groups.filter(({ weight, addresses }) => weight > 0 && addresses.length > 0);
  const shares = new Map<string, { share: number; protocol: ServerProtocol }>();
  for (const { addresses, weight, protocol } of present)
    for (const address of addresses) {
      const share = (shares.get(address)?.share ?? 0) + weight / addresses.length;
      shares.set(address, { share, protocol });
    }
  const weights = scaled([...shares.values()].map(({ share }) => share));
  const servers = [...shares].map(
    ([address, { protocol }], i) => [address, { weight: weights[i] ?? 1, protocol }] as const,
  );
  return new Map(servers.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Small whole numbers in the same proportion, as well as they can. */
export function scaled(shares: readonly number[]): readonly number[] {
  const largest = Math.max(...shares, 0);
  if (largest === 0) return [];
  const smallest = Math.min(...shares);
  const isWhole = (factor: number) =>
    shares.every((share) => Math.abs(share * factor - Math.round(share * factor)) < 1e-6);
  for (let n = 1; n * (largest / smallest) <= maxWeight; n++)
    if (isWhole(n / smallest)) return shares.map((share) => Math.round((share * n) / smallest));
  return shares.map((share) => Math.max(1, Math.round((share * maxWeight) / largest)));
}
