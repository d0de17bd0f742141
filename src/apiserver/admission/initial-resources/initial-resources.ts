// As upstream had it until v1.10: a container that says nothing of what it needs is taken to need what most of its kind have used.
// Upstream: plugin/pkg/admission/initialresources/admission.go.
import type { Container } from "#api/core/v1/container.ts";
import { Pod } from "#api/core/v1/pod.ts";
import type { Mutable } from "#schema/infer.ts";
import { formatQuantity, milliQuantityOf, quantityOf } from "#schema/quantity.ts";
import { type AdmissionPlugin, admissionPlugin } from "../plugin.ts";
import { type EstimatedResource, splitImage, UsageHistory, type UsageScope } from "./usage-history.ts";
import { UsageSampler } from "./usage-sampler.ts";

export interface InitialResourcesConfiguration {
  /** How many of a hundred measurements the estimate covers. */
  readonly percentile: number;
  /** Whether what other namespaces use counts for nothing. */
  readonly isNamespaceOnly: boolean;
}

const annotation = "kubernetes.io/initial-resources";
/** With fewer measurements than this, more distant ones are asked for. */
const enoughSamples = 30;
const [week, month] = [7, 30];

export function initialResources(
  configuration: InitialResourcesConfiguration,
  history = new UsageHistory(),
): AdmissionPlugin {
  const plugin = admissionPlugin({
    name: "InitialResources",
    on: { kind: Pod, verbs: ["create"] },
    mutate({ object: { metadata, spec }, namespace, server }) {
      const now = server.clock.now();
      const estimate: Estimate = (resource, image) => {
        for (const [scope, days] of scopesOf(image, namespace, configuration)) {
          const found = history.percentile(resource, configuration.percentile, scope, days, now);
          if (found.samples >= enoughSamples || (scope.isLast && found.samples > 0)) return found.amount;
        }
        return undefined;
      };
      const notes = [
        ...(spec.initContainers ?? []).flatMap((container) => fill(container, "init container", estimate)),
        ...spec.containers.flatMap((container) => fill(container, "container", estimate)),
      ];
      if (notes.length === 0) return undefined;
      metadata.annotations = {
        ...metadata.annotations,
        [annotation]: `Initial Resources plugin set: ${notes.join("; ")}`,
      };
      return undefined;
    },
  });
  return { ...plugin, background: (server) => new UsageSampler(server, history) };
}

type Estimate = (resource: EstimatedResource, image: string) => number | undefined;

/** From the nearest to the most distant. The last one has to do with as few measurements as there are. */
function scopesOf(
  image: string,
  namespace: string,
  { isNamespaceOnly }: InitialResourcesConfiguration,
): readonly (readonly [UsageScope & { readonly isLast?: boolean }, days: number])[] {
  const exact = splitImage(image);
  const near = { ...exact, namespace };
  const rest = isNamespaceOnly
    ? ([[{ image: exact.image, namespace, isLast: true }, month]] as const)
    : ([
        [exact, week],
        [exact, month],
        [{ image: exact.image, isLast: true }, month],
      ] as const);
  return [[near, week], [near, month], ...rest];
}

/** Answers what was filled in, in upstream's words. */
function fill(container: Mutable<Container>, what: string, estimate: Estimate): readonly string[] {
  const { image, name, resources } = container;
  if (image === undefined) return [];
  const { requests = {}, limits = {} } = resources;
  const estimates = (["cpu", "memory"] as const).flatMap((resource) => {
    if (Object.hasOwn(requests, resource) || Object.hasOwn(limits, resource)) return [];
    const amount = estimate(resource, image);
    return amount === undefined ? [] : [[resource, textOf[resource](Math.ceil(amount))] as const];
  });
  if (estimates.length === 0) return [];
  resources.requests = { ...requests, ...Object.fromEntries(estimates) };
  return [`${estimates.map(([resource]) => resource).join(", ")} request for ${what} ${name}`];
}

const textOf = {
  cpu: (milli: number) => formatQuantity(milliQuantityOf(milli)),
  memory: (bytes: number) => formatQuantity(quantityOf(bytes)),
};
