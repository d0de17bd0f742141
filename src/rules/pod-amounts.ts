// What a pod takes on its node: what quotas count, what the scheduler adds up and what the kubelet admits by.
// Upstream: staging/src/k8s.io/component-helpers/resource/helpers.go.
import { type Amounts, compareAmounts, containerAmounts, isPodLevel, isSidecar } from "#api/core/v1/amounts.ts";
import type { ContainerStatus } from "#api/core/v1/container-status.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { firstByName } from "#base/collections.ts";
import { addQuantity, formatQuantity, parseQuantity } from "#schema/quantity.ts";

/** Pod-level amounts where the pod has them, else the sum over its containers; plus its overhead. `missing` fills in for containers without. */
export function podAmounts(
  { spec, status }: Pod,
  which: "requests" | "limits",
  missing?: Amounts,
): ReadonlyMap<string, string> {
  const isStuck = (status.conditions ?? []).some(
    ({ type, reason }) => type === "PodResizePending" && reason === "Infeasible",
  );
  const inUse = (container: ResizeAmounts, statuses: ReadonlyMap<string, ContainerStatus>) => {
    const found = statuses.get(container.name);
    if (!found?.resources) return container;
    const allocated = which === "requests" ? found.allocatedResources : undefined;
    const lists = [isStuck ? undefined : container.resources[which], found.resources[which], allocated];
    return { ...container, resources: { [which]: largest(lists) } };
  };
  const filled = (container: ResizeAmounts) =>
    missing === undefined
      ? container
      : { ...container, resources: { [which]: { ...missing, ...container.resources[which] } } };
  const statuses = firstByName(status.containerStatuses);
  const initStatuses = firstByName(status.initContainerStatuses);
  const total = new Map(
    containerAmounts(
      {
        containers: spec.containers.map((container) => filled(inUse(container, statuses))),
        initContainers: (spec.initContainers ?? []).map((container) =>
          filled(isSidecar(container) ? inUse(container, initStatuses) : container),
        ),
      },
      which,
    ),
  );
  for (const [name, amount] of Object.entries(spec.resources?.[which] ?? {}))
    if (isPodLevel(name)) total.set(name, amount);
  for (const [name, amount] of Object.entries(spec.overhead ?? {})) {
    const present = total.get(name);
    if (present !== undefined) total.set(name, sum(present, amount));
    else if (which === "requests") total.set(name, amount);
  }
  return total;
}

/** While a resize is under way, a container takes the larger of what it has and what it will have. */
interface ResizeAmounts {
  readonly name: string;
  readonly restartPolicy?: string | undefined;
  readonly resources: { readonly requests?: Amounts | undefined; readonly limits?: Amounts | undefined };
}

function largest(lists: readonly (Amounts | undefined)[]): Amounts {
  const most: Record<string, string> = {};
  for (const amounts of lists)
    for (const [name, amount] of Object.entries(amounts ?? {}))
      if (most[name] === undefined || compareAmounts(amount, most[name]) > 0) most[name] = amount;
  return most;
}

const sum = (a: string, b: string): string => formatQuantity(addQuantity(parseQuantity(a), parseQuantity(b)));
