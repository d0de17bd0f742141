// Defaults that depend on other fields. They run before those of the parts: what the types promise of a container, say,
// is not yet there when its pod is completed.
import { setOwn } from "#base/collections.ts";
import type { Mutable } from "#schema/index.ts";
import { formatQuantity, parseQuantity, roundQuantityUp } from "#schema/quantity.ts";
import { containerAmounts, isHugePages, isPodLevel, mayOvercommit } from "./amounts.ts";
import type { Container } from "./container.ts";
import { imageTag } from "./image.ts";
import type { PodSpec } from "./pod-spec.ts";

const milli = -3;

/** Amounts finer than a thousandth are rounded up, as they always were. */
export function roundUpAmounts(amounts: Record<string, string> | undefined): void {
  for (const name in amounts) {
    const amount = amounts[name] as string;
    if (/^\d+(?:m|[KMGTPE]i?)?$/.test(amount)) continue;
    const quantity = parseQuantity(amount);
    if (quantity.scale < milli) setOwn(amounts, name, formatQuantity(roundQuantityUp(quantity, milli)));
  }
}

/** An image that may change under its tag is pulled at every start. */
export const pullPolicyFor = (image: string): "Always" | "IfNotPresent" =>
  imageTag(image) === "latest" ? "Always" : "IfNotPresent";

/** What holds for pods and not for templates of pods. */
export function completePod(spec: Mutable<PodSpec>): void {
  spec.enableServiceLinks ??= true;
  // A negative period once meant to kill at once; pods get the shortest there is.
  if (spec.terminationGracePeriodSeconds < 0) spec.terminationGracePeriodSeconds = 1;
  for (const container of [...(spec.containers ?? []), ...(spec.initContainers ?? [])]) {
    requestLimits(container);
    if (spec.hostNetwork) for (const port of container.ports ?? []) port.hostPort ||= port.containerPort;
  }
  completePodResources(spec);
}

function requestLimits({ resources }: Mutable<Container>): void {
  const { limits, requests } = resources ?? {};
  if (!resources || !limits) return;
  for (const name in limits)
    if (!requests || !Object.hasOwn(requests, name)) {
      resources.requests = { ...limits, ...requests };
      return;
    }
}

function completePodResources(spec: Mutable<PodSpec>): void {
  const { resources } = spec;
  if (!resources || !(hasAny(resources.limits) || hasAny(resources.requests))) return;
  const limits: Record<string, string> = {};
  for (const [name, amount] of containerAmounts(spec, "limits"))
    if (isHugePages(name) && resources.requests?.[name] === undefined) limits[name] = amount;
  if (lacksAny(resources.limits, limits)) resources.limits = { ...limits, ...resources.limits };
  if (!hasAny(resources.limits)) return;

  const requests: Record<string, string> = {};
  for (const [name, amount] of Object.entries(resources.limits ?? {})) if (isPodLevel(name)) requests[name] = amount;
  for (const [name, amount] of containerAmounts(spec, "requests"))
    if (isPodLevel(name) && mayOvercommit(name)) requests[name] = amount;
  if (lacksAny(resources.requests, requests)) resources.requests = { ...requests, ...resources.requests };
}

/** Whether something is to be written: of a status update the spec is the stored object's, which is shared and must stay. */
const lacksAny = (amounts: object | undefined, wanted: object): boolean =>
  Object.keys(wanted).some((name) => !Object.hasOwn(amounts ?? {}, name));

const hasAny = (amounts: object | undefined): boolean => amounts !== undefined && Object.keys(amounts).length > 0;

/** The field has two names; the newer one decides, and both are shown. */
export function syncServiceAccount(spec: Mutable<PodSpec>): void {
  const name = spec.serviceAccountName || spec.serviceAccount;
  // Nothing is written that is there already: of a status update the spec is the stored object's, which is shared.
  if (!name || (spec.serviceAccountName === name && spec.serviceAccount === name)) return;
  spec.serviceAccountName = name;
  spec.serviceAccount = name;
}
