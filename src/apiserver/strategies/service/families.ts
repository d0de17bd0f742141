// Which IP families a service has: as it asks, as its addresses say, or as the cluster has.
// Upstream: pkg/registry/core/service/storage/alloc.go.
import { checkClusterAddresses } from "#api/core/v1/checks/service.ts";
import type { ServiceSpec } from "#api/core/v1/service.ts";
import { isHeadless } from "#api/core/v1/service-defaults.ts";
import { equal } from "#base/collections.ts";
import { invalid, type Mutable, type Problem } from "#schema/index.ts";
import { parseIp } from "#schema/ip.ts";
import { problemsOf } from "#schema/validate.ts";
import type { IpFamily } from "./ranges.ts";

/** Fills in ipFamilies and ipFamilyPolicy, and returns their problems. `configured` starts with the main family. */
export function settleFamilies(
  spec: Mutable<ServiceSpec>,
  old: ServiceSpec | undefined,
  configured: readonly [IpFamily, ...IpFamily[]],
): readonly Problem[] {
  if (spec.type === "ExternalName" || (old && keepsPreference(spec, old))) return [];
  const isOpen = spec.clusterIP === "None" && Object.keys(spec.selector ?? {}).length === 0;
  spec.ipFamilyPolicy ??= old?.ipFamilyPolicy ?? (isOpen ? "RequireDualStack" : "SingleStack");
  const malformed = problemsOf(spec, checkClusterAddresses(spec, old)).map((one) => ({
    ...one,
    field: `spec.${one.field}`,
  }));
  if (malformed.length > 0) return malformed;

  if (old && spec.ipFamilyPolicy === "SingleStack") dropSecond(spec, old);
  const wrong = [
    ...(old ? reduced(spec, old) : []),
    ...tooMany(spec),
    ...(isHeadless(spec) ? [] : unconfigured(spec, configured)),
  ];
  if (wrong.length > 0) return wrong;
  const families = inferred(spec);

  // Nobody but its owner knows which addresses a service without selector leads to: any families will do.
  if (!isOpen) {
    const unmet = [...demands(spec.ipFamilyPolicy, families, configured)];
    if (unmet.length > 0) return unmet;
  }
  const [main] = configured;
  const [first = main, second] = families;
  const wantsTwo = spec.ipFamilyPolicy !== "SingleStack" && (isOpen || configured.length === 2);
  const other = second ?? (wantsTwo ? (first === "IPv4" ? "IPv6" : "IPv4") : undefined);
  spec.ipFamilies = other ? [first, other] : [first];
  return [];
}

/** A service that only prefers two families is left alone when the cluster gains or loses one. */
export const keepsPreference = (spec: ServiceSpec, old: ServiceSpec): boolean =>
  spec.type === old.type &&
  spec.type !== "ExternalName" &&
  spec.ipFamilyPolicy === "PreferDualStack" &&
  (old.ipFamilyPolicy ?? "PreferDualStack") === "PreferDualStack" &&
  sameList(spec.clusterIPs, old.clusterIPs) &&
  sameList(spec.ipFamilies, old.ipFamilies);

export const sameList = (a: readonly string[] = [], b: readonly string[] = []): boolean => equal(a, b);

/** Asking for one family while leaving two addresses in place means: give the second up. */
function dropSecond(spec: Mutable<ServiceSpec>, old: ServiceSpec): void {
  if (spec.clusterIPs && sameList(spec.clusterIPs, old.clusterIPs)) spec.clusterIPs = spec.clusterIPs.slice(0, 1);
  if (spec.ipFamilies && sameList(spec.ipFamilies, old.ipFamilies)) spec.ipFamilies = spec.ipFamilies.slice(0, 1);
}

const policy = "spec.ipFamilyPolicy";

function* reduced(spec: ServiceSpec, old: ServiceSpec): Iterable<Problem> {
  if (spec.ipFamilyPolicy === "SingleStack") return;
  const isShorter = (now: readonly string[] = [], then: readonly string[] = []) =>
    now.length > 0 && now.length < then.length;
  if (isShorter(spec.clusterIPs, old.clusterIPs))
    yield invalid(policy, "must be 'SingleStack' to release the secondary cluster IP", spec.ipFamilyPolicy);
  if (isShorter(spec.ipFamilies, old.ipFamilies))
    yield invalid(policy, "must be 'SingleStack' to release the secondary IP family", spec.ipFamilyPolicy);
}

function* tooMany({ ipFamilyPolicy, clusterIPs, ipFamilies }: ServiceSpec): Iterable<Problem> {
  if (ipFamilyPolicy !== "SingleStack") return;
  const when = (what: string) => `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`;
  if (clusterIPs?.length === 2) yield invalid(policy, when("cluster IPs"), ipFamilyPolicy);
  if (ipFamilies?.length === 2) yield invalid(policy, when("IP families"), ipFamilyPolicy);
}

/** Addresses of a family that the cluster does not have, where only the address tells the family. */
function* unconfigured(spec: ServiceSpec, configured: readonly IpFamily[]): Iterable<Problem> {
  for (const [index, ip] of (spec.clusterIPs ?? []).entries()) {
    const family = familyOf(ip);
    if (spec.ipFamilies?.[index] === undefined && !configured.includes(family))
      yield invalid(`spec.clusterIPs[${index}]`, `${family} is not configured on this cluster`, spec.clusterIPs);
  }
}

function inferred(spec: ServiceSpec): readonly IpFamily[] {
  const families = spec.ipFamilies ?? [];
  if (isHeadless(spec)) return families;
  return [...families, ...(spec.clusterIPs ?? []).slice(families.length).map(familyOf)];
}

function* demands(
  asked: ServiceSpec["ipFamilyPolicy"],
  families: readonly IpFamily[],
  configured: readonly IpFamily[],
): Iterable<Problem> {
  if (asked === "RequireDualStack" && configured.length < 2)
    yield invalid(policy, "this cluster is not configured for dual-stack services", asked);
  for (const [index, family] of families.entries())
    if (!configured.includes(family))
      yield invalid(`spec.ipFamilies[${index}]`, "not configured on this cluster", family);
}

export const familyOf = (ip: string): IpFamily => (parseIp(ip)?.family === 6 ? "IPv6" : "IPv4");
