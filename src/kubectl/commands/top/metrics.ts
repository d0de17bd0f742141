// What the metrics API tells of nodes and pods (upstream: kubectl/pkg/metricsutil).
import { isObject } from "#base/is-object.ts";
import {
  addQuantity,
  parseQuantity,
  type Quantity,
  quantityMilliValue,
  quantityValue,
  zeroQuantity,
} from "#schema/quantity.ts";
import { KubectlError } from "../../errors.ts";
import { metadataOf, resourcePath, stringIn } from "../../resources/resource-info.ts";
import type { KubeObject } from "../../rest/client.ts";
import type { Query } from "../../rest/request.ts";
import type { Session } from "../../session.ts";

export type Measured = "cpu" | "memory" | "swap";
export type Usage = Readonly<Partial<Record<Measured, Quantity>>>;

export interface NamedUsage {
  readonly name: string;
  readonly usage: Usage;
}

export interface PodUsage extends NamedUsage {
  readonly namespace: string;
  readonly containers: readonly NamedUsage[];
}

/** Quantities in a list of resources; what is none is left out. */
export function usageIn(resources: unknown): Usage {
  if (!isObject(resources)) return {};
  const found = (["cpu", "memory", "swap"] as const).flatMap((name) => {
    const text = resources[name];
    return typeof text === "string" || typeof text === "number" ? [[name, parseQuantity(text)] as const] : [];
  });
  return Object.fromEntries(found);
}

export const sumOf = (usages: readonly Usage[]): Usage => {
  const total = (name: Measured) =>
    usages.reduce((sum, usage) => addQuantity(sum, usage[name] ?? zeroQuantity), zeroQuantity);
  return { cpu: total("cpu"), memory: total("memory"), swap: total("swap") };
};

export const nodeUsage = (metrics: KubeObject): NamedUsage => ({
  name: stringIn(metadataOf(metrics).name),
  usage: usageIn(metrics.usage),
});

export function podUsage(metrics: KubeObject): PodUsage {
  const { name, namespace } = metadataOf(metrics);
  const containers = (Array.isArray(metrics.containers) ? metrics.containers : [])
    .filter(isObject)
    .map((one) => ({ name: stringIn(one.name), usage: usageIn(one.usage) }));
  return {
    name: stringIn(name),
    namespace: stringIn(namespace),
    containers,
    usage: sumOf(containers.map(({ usage }) => usage)),
  };
}

/** As one cell: cores in thousandths, bytes in Mi. */
export const usageText = (measured: Measured, quantity: Quantity = zeroQuantity): string =>
  measured === "cpu" ? `${quantityMilliValue(quantity)}m` : `${quantityValue(quantity) / 1_048_576n}Mi`;

export function percentText(used: Quantity = zeroQuantity, available: Quantity): string {
  const whole = quantityMilliValue(available);
  const fraction = whole === 0n ? 0 : (Number(quantityMilliValue(used)) / Number(whole)) * 100;
  return `${Math.trunc(fraction)}%`;
}

/** By what is used most, or by name. */
export function sortedUsages<T extends NamedUsage & { readonly namespace?: string }>(
  usages: readonly T[],
  sortBy: string,
  isByNamespace = false,
): readonly T[] {
  const value = ({ usage }: T): bigint =>
    sortBy === "cpu" ? quantityMilliValue(usage.cpu ?? zeroQuantity) : quantityValue(usage.memory ?? zeroQuantity);
  return usages.toSorted((a, b) => {
    if (sortBy !== "") return value(a) > value(b) ? -1 : value(a) < value(b) ? 1 : 0;
    if (isByNamespace && a.namespace !== b.namespace) return (a.namespace ?? "") < (b.namespace ?? "") ? -1 : 1;
    return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
  });
}

/** The metrics of one or of all. Rejects with KubectlError if the server has none. */
export async function metricsOf(
  session: Session,
  resource: "nodes" | "pods",
  { namespace = "", name = "", query = [] as Query },
): Promise<readonly KubeObject[]> {
  const client = await session.client();
  await refuseWithoutMetrics(session);
  const mapping = { group: "metrics.k8s.io", version: "v1beta1", resource, isNamespaced: resource === "pods" };
  const path = resourcePath(mapping, namespace, name);
  const answer = await client.json({ path, query });
  return name === "" ? itemsIn(answer) : [answer];
}

export const itemsIn = ({ items }: KubeObject): readonly KubeObject[] =>
  (Array.isArray(items) ? items : []).filter(isObject);

async function refuseWithoutMetrics(session: Session): Promise<void> {
  const { groups } = await (await session.client()).json({ path: "/apis" });
  const found = (Array.isArray(groups) ? groups : []).find((one) => isObject(one) && one.name === "metrics.k8s.io");
  const versions = isObject(found) && Array.isArray(found.versions) ? found.versions : [];
  if (!versions.some((one) => isObject(one) && one.version === "v1beta1"))
    throw new KubectlError("Metrics API not available");
}

export const selectorsQuery = (labels: string, fields = ""): Query => [
  ...(fields === "" ? [] : [["fieldSelector", fields] as const]),
  ...(labels === "" ? [] : [["labelSelector", labels] as const]),
];

export function checkSortBy(sortBy: string): void {
  if (sortBy !== "" && sortBy !== "cpu" && sortBy !== "memory")
    throw new KubectlError("--sort-by accepts only cpu or memory");
}
