// Keeps the EndpointSlices of services with a selector: one endpoint for each pod that the service leads to.
// Upstream: pkg/controller/endpointslice/endpointslice_controller.go.
import { Node } from "#api/core/v1/node.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { Service } from "#api/core/v1/service.ts";
import type { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { explain, isConflict } from "#base/errors.ts";
import { type CacheView, controller, type Reconcile, watching } from "#client/controller.ts";
import { keyOf, type ObjectKey, placeOf } from "#client/object-key.ts";
import { isReady } from "#rules/conditions.ts";
import type { ObjectMeta } from "#schema/object-meta.ts";
import { hasEndpoints, podsOf, triggerTimeAnnotation, watchingPodsOfServices } from "../services.ts";
import { TriggerTimes } from "../trigger-times.ts";
import { type AddressFamily, desiredEndpoints, EndpointMemo, familiesOf, zoneLabel } from "./endpoints.ts";
import { withTrafficHints } from "./hints.ts";
import { manager, planSlices, type SlicePlan } from "./plan.ts";
import { slicesOf, watchingSlicesOf } from "./slice-labels.ts";
import { wantsTopologyHints, zoneRatios } from "./topology.ts";
import { TopologyState } from "./topology-state.ts";
import { writePlan } from "./write.ts";

export function endpointSliceController() {
  const reconciler = new SliceReconciler();
  return controller({
    name: "endpointslice",
    queue: "endpoint_slice",
    reportsAs: "endpoint-slice-controller",
    for: Service,
    watches: [watchingPodsOfServices, watchingSlicesOf(manager), watchingZones(reconciler.topology)],
    // A rollout of 5,000 pods behind one service then takes less than a tenth of a core.
    batchMs: 100,

    async reconcile(service, context) {
      try {
        await reconciler.reconcile(service, context);
      } catch (error) {
        if (!isConflict(causeOf(error))) {
          const { namespace, name } = service.metadata;
          const message = `Error updating Endpoint Slices for Service ${namespace}/${name}: ${explain(error)}`;
          context.event("Warning", "FailedToUpdateEndpointSlices", message);
        }
        throw error;
      }
    },
    gone: async (place) => reconciler.forget(place),
  });
}

/** Wakes services that a change of nodes leaves with too few endpoints in a zone. */
const watchingZones = (topology: TopologyState) =>
  watching(
    Node,
    (_node, cache) => (topology.isEmpty ? [] : topology.overloaded(zoneRatios(cache.list(Node))).map(placeOf)),
    (old, node) =>
      isReady(old) !== isReady(node) || old.metadata.labels?.[zoneLabel] !== node.metadata.labels?.[zoneLabel],
  );

class SliceReconciler {
  readonly topology = new TopologyState();
  readonly #times = new TriggerTimes();
  readonly #memo = new EndpointMemo();

  async reconcile(service: Service, context: Reconcile): Promise<void> {
    if (!hasEndpoints(service)) return;
    const { cache } = context;
    const { namespace, name } = service.metadata;
    const { index, value } = slicesOf(namespace, name, manager);
    const slices = cache.by(index, value).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const pods = podsOf(service, cache);
    const time = this.#times.next(service, pods);
    const families = familiesOf(service);
    const failures: unknown[] = [];
    const unwanted = slices.filter(({ addressType }) => !families.some((family) => family === addressType));
    const memo = this.#memo;
    const plans = families.map((family) => {
      const nodeOf = (node: string) => nodeNamed(node, cache);
      const { groups: desired, homeless } = desiredEndpoints({ service, family, pods, memo, nodeOf });
      failures.push(...homeless.map((pod) => nodeless(service, pod)));
      const own = slices.filter(({ addressType }) => addressType === family);
      return this.#hinted(planSlices({ service, family, desired, slices: own, memo }), service, family, context);
    });
    const annotations = (present: ObjectMeta["annotations"]) => withTriggerTime(present, time);
    for (const plan of [...plans, removal(unwanted)]) {
      try {
        await writePlan(plan, { kind: Service, object: service, annotations }, context);
      } catch (error) {
        failures.push(error);
      }
    }
    for (const { addressType } of unwanted)
      this.topology.disable({ key: keyOf(service.metadata), family: addressType }, context.event);
    if (failures.length > 0) throw failures[0];
  }

  forget(place: ObjectKey): void {
    this.#times.forget(place);
    this.topology.forget(keyOf(place));
  }

  #hinted(plan: SlicePlan, service: Service, family: AddressFamily, { cache, event }: Reconcile): SlicePlan {
    const subject = { key: keyOf(service.metadata), family };
    if (wantsTopologyHints(service)) return this.topology.apply(plan, subject, zoneRatios(cache.list(Node)), event);
    this.topology.disable(subject, event);
    return withTrafficHints(plan, service);
  }
}

const causeOf = (error: unknown): unknown => (error instanceof Error ? (error.cause ?? error) : error);

const nodeNamed = (name: string, cache: CacheView): Node | undefined => cache.get(Node, { name });

const removal = (deletes: readonly EndpointSlice[]): SlicePlan => ({ writes: [], keeps: [], deletes });

/** Retries later: the cache may not have the node yet, and without it the zone of the pod is unknown. */
const nodeless = ({ metadata: { namespace, name } }: Service, pod: Pod) =>
  new Error(
    `skipping Pod ${pod.metadata.name} for Service ${namespace}/${name}: Node ${pod.spec.nodeName ?? ""} Not Found`,
  );

function withTriggerTime(present: ObjectMeta["annotations"], time: string | undefined): ObjectMeta["annotations"] {
  const { [triggerTimeAnnotation]: _old, ...others } = present ?? {};
  if (time !== undefined) return { ...others, [triggerTimeAnnotation]: time };
  return Object.keys(others).length > 0 ? others : undefined;
}
