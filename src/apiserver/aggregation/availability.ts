// Whether an aggregated server can be reached at all, as far as its service and endpoints tell.
// Follows kube-aggregator/pkg/controllers/status upstream: people and tools wait for these conditions.
import type { APIServiceCondition } from "#api/apiregistration/v1/api-service.ts";
import type { Service } from "#api/core/v1/service.ts";
import type { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import type { RemoteApi } from "./remote-apis.ts";

/** What is said of the API. */
export type Availability = Pick<APIServiceCondition, "status"> & { readonly reason: string; readonly message: string };

export const localAvailability: Availability = {
  status: "True",
  reason: "Local",
  message: "Local APIServices are always available",
};

export const passedChecks: Availability = { status: "True", reason: "Passed", message: "all checks passed" };

export const failedCheck = (message: string): Availability => ({
  status: "False",
  reason: "FailedDiscoveryCheck",
  message,
});

/** Why nobody would answer; undefined if somebody may, which is then to be tried. */
export function missingServer(
  { service: { namespace, name, port } }: RemoteApi,
  service: Service | undefined,
  slices: readonly EndpointSlice[],
): Availability | undefined {
  const place = `service/${name} in ${JSON.stringify(namespace)}`;
  const no = (reason: string, message: string): Availability => ({ status: "False", reason, message });
  if (!service) return no("ServiceNotFound", `${place} is not present`);
  if (service.spec.type !== "ClusterIP") return undefined;
  const served = (service.spec.ports ?? []).find((one) => one.port === port);
  if (!served) return no("ServicePortError", `${place} is not listening on port ${port}`);
  if (slices.length === 0) return no("EndpointsNotFound", `cannot find endpointslices for ${place}`);
  const portName = served.name ?? "";
  if (slices.some((slice) => takesConnections(slice, portName))) return undefined;
  const problem = `endpointslices for ${place} have no addresses with port name ${JSON.stringify(portName)}`;
  return no("MissingEndpoints", problem);
}

const takesConnections = ({ endpoints, ports }: EndpointSlice, portName: string): boolean =>
  endpoints.some(({ conditions }) => conditions?.ready !== false) &&
  (ports ?? []).some(({ name, port }) => (name ?? "") === portName && port !== undefined);

/** The conditions of an object with this one; the time is that of the last change of status. */
export function withAvailability(
  conditions: readonly APIServiceCondition[],
  { status, reason, message }: Availability,
  now: string,
): readonly APIServiceCondition[] {
  const before = conditions.find(({ type }) => type === "Available");
  const lastTransitionTime = before?.status === status ? before.lastTransitionTime : now;
  const condition = { type: "Available", status, lastTransitionTime, reason, message } as APIServiceCondition;
  return before ? conditions.map((one) => (one === before ? condition : one)) : [...conditions, condition];
}
