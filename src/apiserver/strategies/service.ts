// Upstream: pkg/registry/core/service/strategy.go and pkg/registry/core/service/storage/storage.go.
import type { Service, ServiceSpec } from "#api/core/v1/service.ts";
import { isReachedFromOutside, needsHealthCheck } from "#api/core/v1/service-defaults.ts";
import { equal } from "#base/collections.ts";
import { isFilledIn } from "#schema/defaults.ts";
import type { Mutable } from "#schema/index.ts";
import type { ApiObject } from "#schema/object.ts";
import type { Strategy } from "../registry/strategy.ts";
import { sameList } from "./service/families.ts";
import { hasNodePorts, nodePortsOf } from "./service/omitted.ts";
import { ServiceReserver } from "./service/reserver.ts";
import { serviceWarnings } from "./service/warnings.ts";

export const service: Strategy = {
  createOnUpdate: true,
  // Nobody owns the list that follows from the one address that was sent; it is made again when the service gets its addresses.
  prepareForTracking({ spec }) {
    if (isFilledIn(spec?.clusterIPs)) delete spec.clusterIPs;
  },
  prepareForUpdate(object, old) {
    dropOfOtherType(object.spec, (old as Service).spec);
    if (object.spec.type !== "LoadBalancer") object.status = { ...object.status, loadBalancer: {} };
  },
  warnings: (object) => serviceWarnings(object as ApiObject & Service),
  reserver: (parts) => new ServiceReserver(parts),
};

/** When a service changes its type, goes what its new type has no use for, unless the client says something about it. */
function dropOfOtherType(spec: Mutable<ServiceSpec>, old: ServiceSpec): void {
  if (old.type !== "ExternalName" && spec.type === "ExternalName") {
    if (spec.clusterIP === old.clusterIP && sameList(spec.clusterIPs, old.clusterIPs)) {
      delete spec.clusterIP;
      delete spec.clusterIPs;
    }
    if (sameList(spec.ipFamilies, old.ipFamilies)) delete spec.ipFamilies;
    if (spec.ipFamilyPolicy === old.ipFamilyPolicy) delete spec.ipFamilyPolicy;
  }
  if (hasNodePorts(old) && !hasNodePorts(spec)) {
    const before = new Set(nodePortsOf(old));
    if (nodePortsOf(spec).every((port) => before.has(port)))
      spec.ports = spec.ports?.map(({ nodePort: _nodePort, ...port }) => port);
  }
  const drop = (field: keyof ServiceSpec, uses: (spec: ServiceSpec) => boolean) => {
    if (uses(old) && !uses(spec) && equal(spec[field], old[field])) delete spec[field];
  };
  drop("healthCheckNodePort", needsHealthCheck);
  drop("allocateLoadBalancerNodePorts", isBalanced);
  drop("loadBalancerClass", isBalanced);
  drop("externalTrafficPolicy", isReachedFromOutside);
  drop("internalTrafficPolicy", ({ type }) => type !== "ExternalName");
}

const isBalanced = ({ type }: ServiceSpec): boolean => type === "LoadBalancer";
