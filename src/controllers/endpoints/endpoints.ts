// Keeps the Endpoints of services with a selector, for clients that do not read EndpointSlices yet.
// Upstream: pkg/controller/endpoint/endpoints_controller.go.
import { type EndpointAddress, type EndpointPort, type EndpointSubset, Endpoints } from "#api/core/v1/endpoints.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { Service } from "#api/core/v1/service.ts";
import { equal } from "#base/collections.ts";
import { explain, isConflict, isNotFound } from "#base/errors.ts";
import { controller, type Reconcile, watching } from "#client/controller.ts";
import { isReady } from "#rules/conditions.ts";
import { parseIp } from "#schema/ip.ts";
import type { ObjectMeta } from "#schema/object-meta.ts";
import type { Labels } from "#schema/selector.ts";
import { isNamespaceTerminating } from "../pod-writes.ts";
import {
  addressesOf,
  hasEndpoints,
  headlessLabel,
  hostnameIn,
  isHeadless,
  isReachable,
  podsOf,
  targetPortOf,
  triggerTimeAnnotation,
  watchingPodsOfServices,
} from "../services.ts";
import { TriggerTimes } from "../trigger-times.ts";
import { truncateSubsets } from "./capacity.ts";
import { repackSubsets } from "./subsets.ts";

const managedByLabel = "endpoints.kubernetes.io/managed-by";
const manager = "endpoint-controller";
const overCapacityAnnotation = "endpoints.kubernetes.io/over-capacity";

const isOurs = ({ metadata }: Endpoints): boolean => metadata.labels?.[managedByLabel] === manager;

export function endpointsController() {
  const times = new TriggerTimes();
  return controller({
    name: "endpoint",
    for: Service,
    watches: [
      watchingPodsOfServices,
      // Endpoints whose service was deleted while the controller was down are found by their label when they are first listed.
      watching(Endpoints, (endpoints) => (isOurs(endpoints) ? [endpoints.metadata] : [])),
    ],
    // The whole object is rebuilt each time, 20 ms for 5,000 pods, and few clients still read it.
    batchMs: 500,

    async reconcile(service, context) {
      if (!hasEndpoints(service)) return;
      const pods = podsOf(service, context.cache);
      const time = times.next(service, pods);
      const { subsets, isTruncated } = truncateSubsets(wantedSubsets(service, pods));
      const labels = labelsFor(service);
      const present = context.cache.get(Endpoints, service.metadata);
      if (present && isRight(present, subsets, labels, isTruncated)) return;
      const annotations = annotationsFor(present?.metadata.annotations, time, isTruncated);
      await write({ service, present, subsets, labels, annotations }, context);
    },
    async gone(place, { client, cache }) {
      times.forget(place);
      if (!cache.get(Endpoints, place)) return;
      try {
        await client.delete(Endpoints, place);
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    },
  });
}

interface DesiredState {
  readonly service: Service;
  readonly present: Endpoints | undefined;
  readonly subsets: readonly EndpointSubset[];
  readonly labels: Labels;
  readonly annotations: ObjectMeta["annotations"];
}

async function write(
  { service, present, subsets, labels, annotations }: DesiredState,
  context: Reconcile,
): Promise<void> {
  const { client, event } = context;
  const { namespace, name } = service.metadata;
  const metadata = { namespace, name, labels, annotations };
  try {
    if (present)
      await client.update(Endpoints, { ...present, metadata: { ...present.metadata, ...metadata }, subsets });
    else await client.create(Endpoints, { metadata, subsets });
  } catch (error) {
    if (isNamespaceTerminating(error)) return;
    const about = { apiVersion: "v1", kind: "Endpoints", metadata: present?.metadata ?? metadata };
    const [reason, what] = present
      ? ["FailedToUpdateEndpoint", "update endpoint"]
      : ["FailedToCreateEndpoint", "create endpoint for service"];
    if (!isConflict(error))
      event("Warning", reason, `Failed to ${what} ${namespace}/${name}: ${explain(error)}`, about);
    throw error;
  }
}

function wantedSubsets(service: Service, pods: readonly Pod[]): readonly EndpointSubset[] {
  const { publishNotReadyAddresses: isLenient = false } = service.spec;
  const groups = new Map<
    string,
    { ports: readonly EndpointPort[]; ready: EndpointAddress[]; notReady: EndpointAddress[] }
  >();
  for (const pod of pods) {
    if (!isReachable(pod) || (pod.metadata.deletionTimestamp !== undefined && !isLenient)) continue;
    const address = addressOf(service, pod);
    const ports = portsOf(service, pod);
    if (!address || !ports) continue;
    const key = ports.map(({ name = "", port }) => `${name}=${port}`).join();
    const group = groups.get(key) ?? { ports, ready: [], notReady: [] };
    groups.set(key, group);
    (isLenient || isReady(pod) ? group.ready : group.notReady).push(address);
  }
  return repackSubsets(
    [...groups.values()].map(({ ports, ready, notReady }) => ({
      addresses: ready,
      notReadyAddresses: notReady,
      ports,
    })),
  );
}

/** The pod's ports, one for each of the service's that it has; undefined if it has none of those that are wanted. */
function portsOf({ spec: { ports = [], clusterIP } }: Service, pod: Pod): readonly EndpointPort[] | undefined {
  if (ports.length === 0) return clusterIP === "None" ? [] : undefined;
  const found = ports.flatMap((one) => {
    const port = targetPortOf(pod, one);
    if (port === undefined) return [];
    const { name, protocol, appProtocol } = one;
    return [{ port, protocol, ...(name && { name }), ...(appProtocol !== undefined && { appProtocol }) }];
  });
  return found.length > 0 ? found : undefined;
}

/** The pod's address in the service's first family; undefined if it has none there. */
function addressOf(service: Service, pod: Pod): EndpointAddress | undefined {
  const [ip] = addressesOf(pod, familyFor(service, pod));
  if (ip === undefined) return undefined;
  const { namespace, name, uid } = pod.metadata;
  const { nodeName } = pod.spec;
  const hostname = hostnameIn(pod, service);
  return {
    ip,
    ...(nodeName && { nodeName }),
    ...(hostname && { hostname }),
    targetRef: { kind: "Pod", namespace, name, uid },
  };
}

function familyFor({ spec: { ipFamilies = [], clusterIP = "" } }: Service, pod: Pod): "IPv4" | "IPv6" {
  if (ipFamilies[0]) return ipFamilies[0];
  const known = clusterIP === "" || clusterIP === "None" ? (pod.status.podIP ?? "") : clusterIP;
  return parseIp(known)?.family === 6 ? "IPv6" : "IPv4";
}

function labelsFor(service: Service): Labels {
  const { [headlessLabel]: _set, ...labels } = service.metadata.labels ?? {};
  return { ...labels, ...(isHeadless(service) && { [headlessLabel]: "" }), [managedByLabel]: manager };
}

function isRight(
  { metadata, subsets: present = [] }: Endpoints,
  subsets: readonly EndpointSubset[],
  labels: Labels,
  isTruncated: boolean,
): boolean {
  const isMarked = metadata.annotations?.[overCapacityAnnotation] !== undefined;
  return (
    isMarked === isTruncated &&
    withoutHeadless(metadata.labels, labels) &&
    (equal(present, subsets) || equal(repackSubsets(present), subsets))
  );
}

/** Whether labels are equal but for the one that upstream does not compare. */
const withoutHeadless = (a: Labels = {}, b: Labels): boolean =>
  equal({ ...a, [headlessLabel]: undefined }, { ...b, [headlessLabel]: undefined });

function annotationsFor(
  present: ObjectMeta["annotations"],
  time: string | undefined,
  isTruncated: boolean,
): ObjectMeta["annotations"] {
  const { [triggerTimeAnnotation]: _time, [overCapacityAnnotation]: _over, ...others } = present ?? {};
  const annotations = {
    ...others,
    ...(time !== undefined && { [triggerTimeAnnotation]: time }),
    ...(isTruncated && { [overCapacityAnnotation]: "truncated" }),
  };
  return Object.keys(annotations).length > 0 ? annotations : undefined;
}
