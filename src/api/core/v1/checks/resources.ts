// Names and amounts of resources: what containers, pods, quotas and nodes may ask for or offer.
// Upstream: pkg/apis/core/validation/validation.go.
import { dns1123Label, qualifiedName } from "#schema/formats.ts";
import {
  duplicate,
  forbidden,
  invalid,
  mostProblems,
  notFound,
  notSupported,
  type Problem,
  required,
} from "#schema/index.ts";
import { parseQuantity, quantityMilliValue, quantityValue } from "#schema/quantity.ts";
import {
  type Amounts,
  amountOf,
  compareAmounts,
  containerAmounts,
  isExtended,
  isHugePages,
  isNative,
  isPodLevel,
  mayOvercommit,
} from "../amounts.ts";
import type { PodSpec } from "../pod-spec.ts";
import type { ResourceClaim, ResourceRequirements } from "../resources.ts";
import { malformed, none, under } from "./problems.ts";

const computeResources = ["cpu", "memory", "ephemeral-storage"];
const countedResources = [
  "pods",
  "resourcequotas",
  "services",
  "replicationcontrollers",
  "secrets",
  "configmaps",
  "persistentvolumeclaims",
  "services.nodeports",
  "services.loadbalancers",
];
const quotaResources = new Set([
  ...computeResources,
  ...computeResources.flatMap((name) => [`requests.${name}`, `limits.${name}`]),
  "requests.storage",
  ...countedResources,
]);

const isQuotaHugePages = (name: string): boolean => isHugePages(name) || name.startsWith("requests.hugepages-");
export const isQuotaResource = (name: string): boolean => quotaResources.has(name) || isQuotaHugePages(name);
const isStandard = (name: string): boolean => isQuotaResource(name) || name === "storage";
const counted = new Set(countedResources);
const isInteger = (name: string): boolean => counted.has(name) || isExtended(name);

export function* resourceName(at: string, name: string): Iterable<Problem> {
  const bad = [...malformed(at, name, qualifiedName)];
  yield* bad;
  if (bad.length === 0 && !name.includes("/") && !isStandard(name))
    yield invalid(at, "must be a standard resource type or fully qualified", name);
}

export const containerResourceName = (at: string, name: string): Iterable<Problem> =>
  computeResources.includes(name) ? none : otherResourceName(at, name);

function* otherResourceName(at: string, name: string): Iterable<Problem> {
  yield* resourceName(at, name);
  if (!name.includes("/")) {
    if (!isHugePages(name)) yield invalid(at, "must be a standard resource for containers", name);
  } else if (!isNative(name) && !isExtended(name))
    yield invalid(at, "doesn't follow extended resource name standard", name);
}

function* podResourceName(at: string, name: string): Iterable<Problem> {
  const bad = [...resourceName(at, name)];
  yield* bad;
  if (bad.length === 0 && !isPodLevel(name)) yield notSupported(at, ["cpu", "hugepages-", "memory"], name);
}

export function* quotaResourceName(at: string, name: string): Iterable<Problem> {
  yield* resourceName(at, name);
  if (!name.includes("/") && !isQuotaResource(name)) yield invalid(at, "must be a standard resource for quota", name);
}

export function amount(at: string, name: string, value: string): readonly Problem[] {
  const isNegative = value.startsWith("-") && parseQuantity(value).unscaled < 0n;
  const isBroken = isInteger(name) && quantityMilliValue(parseQuantity(value)) % 1000n !== 0n;
  if (!isNegative && !isBroken) return none;
  return [
    ...(isNegative ? [invalid(at, "must be greater than or equal to 0", value)] : none),
    ...(isBroken ? [invalid(at, "must be an integer", value)] : none),
  ];
}

export function* positiveAmount(at: string, value: string): Iterable<Problem> {
  if (parseQuantity(value).unscaled <= 0n) yield invalid(at, "must be greater than zero", value);
}

/** Requests against limits, wherever both are said. */
export function checkAmounts({
  limits,
  requests,
}: Pick<ResourceRequirements, "limits" | "requests">): readonly Problem[] {
  const problems: Problem[] = [];
  for (const name in limits) {
    if (problems.length >= mostProblems) return problems;
    const value = limits[name] as string;
    problems.push(...underName("limits", name, amount("", name, value)));
    if (isHugePages(name)) problems.push(...hugePageAmount(`limits[${name}]`, name, value));
  }
  for (const name in requests) {
    if (problems.length >= mostProblems) return problems;
    const value = requests[name] as string;
    problems.push(...underName("requests", name, amount("", name, value)));
    const limit = amountOf(limits, name);
    if (limit === undefined) {
      if (!mayOvercommit(name)) problems.push(required("limits", "Limit must be set for non overcommitable resources"));
    } else if (!mayOvercommit(name) && compareAmounts(value, limit) !== 0)
      problems.push(invalid("requests", `must be equal to ${name} limit of ${limit}`, value));
    else if (compareAmounts(value, limit) > 0)
      problems.push(invalid("requests", `must be less than or equal to ${name} limit of ${limit}`, value));
    if (isHugePages(name)) problems.push(...hugePageAmount(`requests[${name}]`, name, value));
  }
  const names = [...Object.keys(limits ?? {}), ...Object.keys(requests ?? {})];
  if (names.some(isHugePages) && !names.includes("cpu") && !names.includes("memory"))
    problems.push(forbidden("", "HugePages require cpu or memory"));
  return problems;
}

/** Puts the path together only when something is wrong. */
const underName = (path: string, name: string, found: Iterable<Problem>): readonly Problem[] =>
  found === none ? none : under(`${path}[${name}]`, found);

export const entries = (
  path: string,
  amounts: Amounts | undefined,
): readonly (readonly [at: string, name: string, value: string])[] =>
  amounts === undefined
    ? none
    : Object.keys(amounts).map((name) => [`${path}[${name}]`, name, amounts[name] as string] as const);

function* hugePageAmount(at: string, name: string, value: string): Iterable<Problem> {
  if (isMultiple(value, name.slice("hugepages-".length))) return;
  yield invalid(at, `${value} is not positive integer multiple of ${name}`, value);
}

function isMultiple(value: string, page: string): boolean {
  if (!/^[0-9]/.test(page)) return false;
  try {
    const size = parseQuantity(page);
    return (
      size.unscaled > 0n &&
      quantityMilliValue(size) % 1000n === 0n &&
      quantityValue(parseQuantity(value)) % quantityValue(size) === 0n
    );
  } catch {
    return false; // the name says no size
  }
}

export function resourceNames(
  { limits, requests }: Pick<ResourceRequirements, "limits" | "requests">,
  check: (at: string, name: string) => Iterable<Problem>,
): readonly Problem[] {
  const problems: Problem[] = [];
  const add = (which: "limits" | "requests", amounts: Amounts | undefined) => {
    for (const name in amounts) {
      if (problems.length >= mostProblems) return;
      problems.push(...underName(which, name, check("", name)));
    }
  };
  add("limits", limits);
  add("requests", requests);
  return problems;
}

/** The claims a container uses are those of its pod, each once. */
export function* checkClaims(
  claims: readonly ResourceClaim[] | undefined,
  ofPod: ReadonlySet<string>,
): Iterable<Problem> {
  const seen = new Set<string>();
  const withRequest = new Set<string>();
  let names: string | undefined;
  for (const [index, { name, request = "" }] of (claims ?? []).entries()) {
    const at = `claims[${index}]`;
    if (name === "") {
      yield required(at);
      continue;
    }
    const key = request === "" ? name : `${name}/${request}`;
    if (seen.has(name)) yield duplicate(at, name);
    else {
      if (request !== "") yield* malformed(`${at}.request`, request, dns1123Label);
      if (seen.has(key)) yield duplicate(at, key);
      else if (request === "" && withRequest.has(name)) yield duplicate(at, name);
      seen.add(key);
      if (request !== "") withRequest.add(name);
    }
    if (!ofPod.has(name)) {
      names ??= [...ofPod].toSorted().join(", ");
      const known = ofPod.size === 0 ? " which is empty" : `: ${names}`;
      yield { ...notFound(at, name), detail: `must be one of the names in pod.spec.resourceClaims${known}` };
    }
  }
}

/** What the pod asks for as a whole, and whether its containers fit in. Paths are relative to the pod's spec. */
export function* checkPodResources(spec: PodSpec, resources: ResourceRequirements): Iterable<Problem> {
  const { os, containers } = spec;
  if (os?.name === "windows") return yield forbidden("resources", "may not be set for a windows pod");
  if (resources.claims) yield forbidden("resources.claims", "claims may not be set for Resources at pod-level");
  yield* under("resources", resourceNames(resources, podResourceName));
  yield* under("resources", checkAmounts(resources));
  for (const [name, total] of containerAmounts(spec, "requests")) {
    const ofPod = amountOf(resources.requests, name);
    if (ofPod !== undefined && compareAmounts(total, ofPod) > 0)
      yield invalid(
        `resources.requests[${name}]`,
        `must be greater than or equal to aggregate container requests of ${total}`,
        ofPod,
      );
  }
  for (const [name, total] of containerAmounts(spec, "limits")) {
    const ofPod = amountOf(resources.limits, name);
    if (isHugePages(name) && ofPod !== undefined && compareAmounts(total, ofPod) > 0)
      yield invalid(
        `resources.limits[${name}]`,
        `must be greater than or equal to aggregate container limits of ${total}`,
        ofPod,
      );
  }
  for (const [index, container] of containers.entries())
    for (const [name, limit] of Object.entries(container.resources.limits ?? {})) {
      const ofPod = amountOf(resources.limits, name);
      if (ofPod !== undefined && compareAmounts(limit, ofPod) > 0)
        yield invalid(
          `resources.containers[${index}][${name}].limits`,
          `must be less than or equal to pod limits of ${ofPod}`,
          limit,
        );
    }
}
