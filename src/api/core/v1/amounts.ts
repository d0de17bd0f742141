// Amounts of resources by name, as in requests and limits, and what the names mean.

import { qualifiedName } from "#schema/formats.ts";
import { addQuantity, compareQuantity, formatQuantity, parseQuantity } from "#schema/quantity.ts";

export type Amounts = Readonly<Record<string, string>>;

export const compareAmounts = (a: string, b: string): number =>
  a === b ? 0 : compareQuantity(parseQuantity(a), parseQuantity(b));

/** The amount under a name that anyone may have chosen, `constructor` included. */
export const amountOf = (amounts: Amounts | undefined, name: string): string | undefined =>
  amounts !== undefined && Object.hasOwn(amounts, name) ? amounts[name] : undefined;

type Total = Map<string, string>;

const sum = (a: string | undefined, b: string): string =>
  a === undefined ? b : formatQuantity(addQuantity(parseQuantity(a), parseQuantity(b)));

const add = (total: Total, name: string, amount: string): void => void total.set(name, sum(total.get(name), amount));

function raise(total: Total, name: string, amount: string): void {
  const present = total.get(name);
  if (present === undefined || compareAmounts(amount, present) > 0) total.set(name, amount);
}

/** What the aggregation below reads of a pod; nothing need be defaulted yet. */
interface Containers {
  readonly containers?: readonly Consumer[] | undefined;
  readonly initContainers?: readonly Consumer[] | undefined;
}
interface Consumer {
  readonly restartPolicy?: string | undefined;
  readonly resources?: { readonly [K in "requests" | "limits"]?: Amounts | undefined } | undefined;
}

/**
 * What all containers of a pod need together. Init containers run one after another, so only the hungriest counts;
 * sidecars stay, so they count beside the containers and beside every init container that starts after them.
 */
export function containerAmounts(pod: Containers, which: "requests" | "limits"): ReadonlyMap<string, string> {
  const total: Total = new Map();
  for (const { resources } of pod.containers ?? [])
    for (const [name, amount] of Object.entries(resources?.[which] ?? {})) add(total, name, amount);
  const sidecars: Total = new Map();
  // What the sidecars so far need is in this already, so only what a container names can raise it.
  const starting: Total = new Map();
  for (const container of pod.initContainers ?? [])
    for (const [name, amount] of Object.entries(container.resources?.[which] ?? {})) {
      if (isSidecar(container)) {
        add(total, name, amount);
        add(sidecars, name, amount);
        raise(starting, name, sidecars.get(name) ?? amount);
      } else raise(starting, name, sum(sidecars.get(name), amount));
    }
  for (const [name, amount] of starting) raise(total, name, amount);
  return total;
}

/** An init container that keeps running. */
export const isSidecar = ({ restartPolicy }: Pick<Consumer, "restartPolicy">): boolean => restartPolicy === "Always";

export const isHugePages = (name: string): boolean => name.startsWith("hugepages-");

/** Known to the system itself: without a domain, or in kubernetes.io. */
export const isNative = (name: string): boolean => !name.includes("/") || name.includes("kubernetes.io/");

/** Whether requests may be lower than limits, so that a node promises more than it has. */
export const mayOvercommit = (name: string): boolean => isNative(name) && !isHugePages(name);

/** Offered by a device plugin: `example.com/gpu`. */
export const isExtended = (name: string): boolean =>
  !isNative(name) && !name.startsWith("requests.") && qualifiedName(`requests.${name}`).length === 0;

/** What a pod as a whole may request, besides its containers. */
export const isPodLevel = (name: string): boolean => name === "cpu" || name === "memory" || isHugePages(name);
