// What may change in a service: an address or family may be added or the second one dropped, but none be exchanged.
// Upstream: pkg/apis/core/validation/validation.go.
import { forbidden, invalid, type Problem } from "#schema/index.ts";
import type { Service, ServiceSpec } from "../service.ts";
import { isHeadless, needsHealthCheck } from "../service-defaults.ts";

export function* checkServiceUpdate({ spec }: Service, { spec: old }: Service): Iterable<Problem> {
  if (spec.type !== "ExternalName" && old.type !== "ExternalName") {
    if (!isHeadless(spec) || !isHeadless(old)) yield* addressChange(spec, old);
    if (!isHeadless(spec) && !isHeadless(old)) yield* familyChange(spec, old);
  }
  if (spec.type === "LoadBalancer" && old.type === "LoadBalancer" && spec.loadBalancerClass !== old.loadBalancerClass)
    yield invalid("spec.loadBalancerClass", "may not change once set", spec.loadBalancerClass ?? null);
  if (
    needsHealthCheck(spec) &&
    needsHealthCheck(old) &&
    (spec.healthCheckNodePort ?? 0) !== (old.healthCheckNodePort ?? 0)
  )
    yield forbidden("spec.healthCheckNodePort", "field is immutable");
}

const mayNotChange = "may not change once set";

function* addressChange(spec: ServiceSpec, old: ServiceSpec): Iterable<Problem> {
  const [now, then] = [spec.clusterIPs ?? [], old.clusterIPs ?? []];
  if (now.length === then.length) {
    for (const [index, ip] of then.entries())
      if (now[index] !== ip) yield invalid(`spec.clusterIPs[${index}]`, mayNotChange, now);
    return;
  }
  if (then.length > 0 && now.length > 0 && now[0] !== then[0]) yield invalid("spec.clusterIPs[0]", mayNotChange, now);
  if (now.length > then.length) return;
  if (now.length === 0)
    yield invalid("spec.clusterIPs[0]", "primary clusterIP can not be unset", spec.clusterIPs ?? null);
  if (now.length === 1) yield* singleStack(spec, "clusterIP");
}

function* familyChange(spec: ServiceSpec, old: ServiceSpec): Iterable<Problem> {
  const [now, then] = [spec.ipFamilies ?? [], old.ipFamilies ?? []];
  const at = "spec.ipFamilies[0]";
  if (now.length === then.length) {
    for (const [index, family] of then.entries()) if (now[index] !== family) yield invalid(at, mayNotChange, now);
    return;
  }
  if (now.length < then.length && !spec.clusterIPs?.length)
    yield invalid(at, "primary ipFamily can not be unset", spec.ipFamilies ?? null);
  // Upstream shows the addresses here.
  if (then.length > 0 && now.length > 0 && now[0] !== then[0]) yield invalid(at, mayNotChange, spec.clusterIPs ?? null);
  if (now.length < then.length && now.length === 1) yield* singleStack(spec, "ipFamily");
}

function* singleStack({ ipFamilyPolicy }: ServiceSpec, released: string): Iterable<Problem> {
  if (ipFamilyPolicy !== "SingleStack")
    yield invalid(
      "spec.ipFamilyPolicy",
      `must be set to 'SingleStack' when releasing the secondary ${released}`,
      ipFamilyPolicy ?? null,
    );
}
