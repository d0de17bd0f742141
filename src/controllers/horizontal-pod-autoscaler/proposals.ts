// What each metric of an autoscaler proposes, what is told of it in the status, and the proposal that counts.
// Upstream: pkg/controller/podautoscaler/horizontal.go.
import type {
  HorizontalPodAutoscaler,
  MetricIdentifier,
  MetricSpec,
  MetricStatus,
  MetricTarget,
} from "#api/autoscaling/v2/horizontal-pod-autoscaler.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { explain } from "#base/errors.ts";
import { formatQuantity, milliQuantityOf, parseQuantity, quantityToNumber } from "#schema/quantity.ts";
import { formatRequirements, requirementsOf } from "#schema/selector.ts";
import type { MetricQuery, MetricSource } from "./metric-source.ts";
import { type MetricsByPod, milli } from "./pod-groups.ts";
import { byAverage, byShare, byUtilization, byValue, type PodAverages, type Tolerances } from "./replica-count.ts";
import { selectorDump } from "./selector-dump.ts";
import type { AutoscalerSettings } from "./settings.ts";

/** What proposals are made from. */
export interface ScalingContext {
  readonly source: MetricSource;
  readonly namespace: string;
  readonly settings: AutoscalerSettings;
  readonly tolerances: Tolerances;
  /** The selector of the pods, in text form. */
  readonly podSelector: string;
  readonly pods: readonly Pod[];
  /** What the target asks for, and what it has. */
  readonly specReplicas: number;
  readonly statusReplicas: number;
  readonly now: number;
}

export interface Proposal {
  readonly replicas: number;
  /** As it is told why there was a change: `cpu resource utilization (percentage of request)`. */
  readonly name: string;
  readonly status: MetricStatus;
}

/** A metric that cannot be told. `reason` is for the condition and the event, `cause` what is told there. */
export class MetricFailure extends Error {
  override readonly name = "MetricFailure";
  readonly reason: string;
  readonly detail: string;

  constructor(reason: string, detail: string, message: string) {
    super(message);
    this.reason = reason;
    this.detail = detail;
  }
}

/** The tolerances of an autoscaler that says its own, else those of the controller. */
export function tolerancesOf({ spec: { behavior } }: HorizontalPodAutoscaler, usual: number): Tolerances {
  const own = (tolerance: string | undefined) =>
    tolerance === undefined ? usual : quantityToNumber(parseQuantity(tolerance));
  return { up: own(behavior?.scaleUp?.tolerance), down: own(behavior?.scaleDown?.tolerance) };
}

/** Throws MetricFailure. */
export async function propose(metric: MetricSpec, context: ScalingContext): Promise<Proposal> {
  const { object, pods, resource, containerResource, external } = metric;
  switch (metric.type) {
    case "Object":
      if (object) return failing("FailedGetObjectMetric", "object metric", () => objectProposal(object, context));
      break;
    case "Pods":
      if (pods) return failing("FailedGetPodsMetric", "pods metric", () => podsProposal(pods, context));
      break;
    case "Resource":
      if (resource)
        return failing("FailedGetResourceMetric", `${resource.name} resource metric`, async () => {
          const { current, ...rest } = await resourceProposal(resource, context);
          return { ...rest, status: { type: "Resource", resource: { name: resource.name, current } } };
        });
      break;
    case "ContainerResource":
      if (containerResource)
        return failing("FailedGetContainerResourceMetric", `${containerResource.container} container metric`, () =>
          containerProposal(containerResource, context),
        );
      break;
    case "External":
      if (external)
        return failing("FailedGetExternalMetric", `${external.metric.name} external metric`, () =>
          externalProposal(external, context),
        );
      break;
  }
  const unknown = `unknown metric source type ${JSON.stringify(metric.type)}`;
  throw new MetricFailure("InvalidMetricSourceType", unknown, unknown);
}

async function failing(reason: string, what: string, attempt: () => Promise<Proposal>): Promise<Proposal> {
  try {
    return await attempt();
  } catch (error) {
    const detail = error instanceof WrappedProblem ? error.inner : explain(error);
    throw new MetricFailure(reason, detail, `failed to get ${what} value: ${explain(error)}`);
  }
}

/** Where upstream's event tells less than its error. */
class WrappedProblem extends Error {
  readonly inner: string;

  constructor(outer: string, cause: unknown) {
    super(`${outer}: ${explain(cause)}`, { cause });
    this.inner = explain(cause);
  }
}

type ObjectSource = NonNullable<MetricSpec["object"]>;
type PodsSource = NonNullable<MetricSpec["pods"]>;
type ResourceSource = NonNullable<MetricSpec["resource"]>;
type ContainerSource = NonNullable<MetricSpec["containerResource"]>;
type ExternalSource = NonNullable<MetricSpec["external"]>;

async function objectProposal(
  { describedObject, metric, target }: ObjectSource,
  context: ScalingContext,
): Promise<Proposal> {
  const { tolerances, specReplicas, statusReplicas, pods, source } = context;
  const read = async () => {
    try {
      return await source.object(queryOf(metric), describedObject);
    } catch (error) {
      // The words are upstream's, which has mixed up their order.
      const place = `${describedObject.kind} on ${context.namespace} ${describedObject.name}`;
      throw new Error(`unable to get metric ${metric.name}: ${place}/${explain(error)}`);
    }
  };
  const status = (current: object) => ({ type: "Object", object: { metric, describedObject, current } });
  if (target.type === "Value" && target.value !== undefined) {
    const { replicas, usage } = byValue({ current: specReplicas, pods, tolerances }, await read(), milli(target.value));
    const name = `${describedObject.kind} metric ${metric.name}`;
    return { replicas, name, status: status({ value: amount(usage) }) };
  }
  if (target.type === "AverageValue" && target.averageValue !== undefined) {
    const usage = await read().catch((error: unknown) => {
      throw new WrappedProblem(`failed to get ${metric.name} object metric`, error);
    });
    const share = byShare(statusReplicas, tolerances, usage, milli(target.averageValue));
    const name = `external metric ${metric.name}(${selectorDump(metric.selector)})`;
    return { replicas: share.replicas, name, status: status({ averageValue: amount(share.usage) }) };
  }
  throw new Error("invalid object metric source: neither a value target nor an average value target was set");
}

async function podsProposal({ metric, target }: PodsSource, context: ScalingContext): Promise<Proposal> {
  const metrics = await context.source.pods(queryOf(metric), context.podSelector).catch((error: unknown) => {
    throw new Error(`unable to get metric ${metric.name}: ${explain(error)}`);
  });
  const { replicas, usage } = byAverage(averagesOf(context, metrics, ""), milli(target.averageValue ?? "0"));
  const current = { averageValue: amount(usage) };
  return { replicas, name: `pods metric ${metric.name}`, status: { type: "Pods", pods: { metric, current } } };
}

async function resourceProposal(
  { name: resource, target }: { readonly name: string; readonly target: MetricTarget },
  context: ScalingContext,
  container = "",
) {
  const metricsFor = async (what: string): Promise<MetricsByPod> => {
    try {
      return await context.source.resource(resource, context.podSelector, container);
    } catch (error) {
      throw new Error(
        `failed to get ${resource} ${what}: unable to get metrics for resource ${resource}: ${explain(error)}`,
      );
    }
  };
  const counted = <T>(what: string, count: () => T): T => {
    try {
      return count();
    } catch (error) {
      throw new Error(`failed to get ${resource} ${what}: ${explain(error)}`);
    }
  };
  const { averageValue, averageUtilization } = target;
  const shown = (usage: bigint) => amount(usage, resource === "memory" ? "BinarySI" : "DecimalSI");
  if (averageValue !== undefined) {
    const input = averagesOf(context, await metricsFor("usage"), resource);
    const { replicas, usage } = counted("usage", () => byAverage(input, milli(averageValue)));
    return { replicas, name: `${resource} resource`, current: { averageValue: shown(usage) } };
  }
  if (averageUtilization === undefined)
    throw new Error(
      "invalid resource metric source: neither an average utilization target nor an average value (usage) target was set",
    );
  const input = { ...averagesOf(context, await metricsFor("utilization"), resource), container };
  const { replicas, usage, utilization = 0 } = counted("utilization", () => byUtilization(input, averageUtilization));
  const kind = container === "" ? "resource" : "container resource";
  return {
    replicas,
    name: `${resource} ${kind} utilization (percentage of request)`,
    current: { averageUtilization: utilization, averageValue: shown(usage) },
  };
}

async function containerProposal(metric: ContainerSource, context: ScalingContext): Promise<Proposal> {
  const { name, container } = metric;
  const { current, ...rest } = await resourceProposal(metric satisfies ResourceSource, context, container);
  return { ...rest, status: { type: "ContainerResource", containerResource: { name, container, current } } };
}

async function externalProposal({ metric, target }: ExternalSource, context: ScalingContext): Promise<Proposal> {
  const { tolerances, specReplicas, statusReplicas, pods, source } = context;
  const total = async (outer: string) => {
    try {
      return (await source.external(queryOf(metric))).reduce((sum, value) => sum + value, 0n);
    } catch (error) {
      const place = `${context.namespace}/${metric.name}/${selectorDump(metric.selector)}`;
      throw new WrappedProblem(outer, new Error(`unable to get external metric ${place}: ${explain(error)}`));
    }
  };
  const name = `external metric ${metric.name}(${selectorDump(metric.selector)})`;
  const status = (current: object) => ({ type: "External", external: { metric, current } });
  if (target.averageValue !== undefined) {
    const usage = await total(`failed to get ${metric.name} external metric`);
    const share = byShare(statusReplicas, tolerances, usage, milli(target.averageValue));
    return { replicas: share.replicas, name, status: status({ averageValue: amount(share.usage) }) };
  }
  if (target.value !== undefined) {
    const usage = await total(`failed to get external metric ${metric.name}`);
    const { replicas } = byValue({ current: specReplicas, pods, tolerances }, usage, milli(target.value));
    return { replicas, name, status: status({ value: amount(usage) }) };
  }
  throw new Error("invalid external metric source: neither a value target nor an average value target was set");
}

const averagesOf = (context: ScalingContext, metrics: MetricsByPod, resource: string): PodAverages => {
  const { pods, specReplicas: current, tolerances, settings: times, now } = context;
  return { pods, metrics, resource, current, tolerances, times, now };
};

const queryOf = ({ name, selector }: MetricIdentifier): MetricQuery => ({
  name,
  selector: selector ? formatRequirements(requirementsOf(selector)) : "",
});

const amount = (thousandths: bigint, format: "DecimalSI" | "BinarySI" = "DecimalSI"): string =>
  formatQuantity(milliQuantityOf(thousandths, format));
