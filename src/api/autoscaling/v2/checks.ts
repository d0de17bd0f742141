// The rules of metrics: which of their many optional parts belong together.
// Upstream: pkg/apis/autoscaling/validation/validation.go.
import { forbidden, invalid, notSupported, type Problem, required } from "#schema/index.ts";
import { parseQuantity } from "#schema/quantity.ts";
import type { HorizontalPodAutoscalerSpec, MetricSpec, MetricTarget } from "./horizontal-pod-autoscaler.ts";

const sources = ["object", "external", "pods", "resource", "containerResource"] as const;
type Source = (typeof sources)[number];
const sourceOf: ReadonlyMap<string, Source> = new Map<string, Source>(
  Object.entries({
    ContainerResource: "containerResource",
    External: "external",
    Object: "object",
    Pods: "pods",
    Resource: "resource",
  } as const),
);

/** One source, the one that `type` names. Of several, only the first is looked into. */
export function* checkMetric(metric: MetricSpec): Iterable<Problem> {
  const types = [...sourceOf.keys()];
  const expected = sourceOf.get(metric.type);
  if (metric.type === "") yield required("type", "must specify a metric source type");
  if (!expected) yield notSupported("type", types);
  const present = sources.filter((source) => metric[source]);
  const [first] = present;
  if (first) yield* sourceChecks[first](metric, first);
  // Said twice, as upstream does.
  if (!expected) yield notSupported("type", types);
  else if (!metric[expected]) yield required(expected, "must populate information for the given metric source");
  if (present.length > 1)
    for (const source of present.filter((one) => one !== expected))
      yield forbidden(source, "must populate the given metric source only");
}

const sourceChecks: Readonly<Record<Source, (metric: MetricSpec, path: string) => Iterable<Problem>>> = {
  *object({ object }, path) {
    if (object && !hasValue(object.target))
      yield required(`${path}.target.averageValue`, "must set either a target value or averageValue");
  },
  *external({ external }, path) {
    if (!external) return;
    const { value, averageValue } = external.target;
    if (!hasValue(external.target))
      yield required(`${path}.target.averageValue`, "must set either a target value for metric or a per-pod target");
    if (value !== undefined && averageValue !== undefined)
      yield forbidden(`${path}.target.value`, "may not set both a target value for metric and a per-pod target");
  },
  *pods({ pods }, path) {
    if (pods && pods.target.averageValue === undefined)
      yield required(`${path}.target.averageValue`, "must specify a positive target averageValue");
  },
  *resource({ resource }, path) {
    if (resource) yield* checkResourceTarget(resource.target, path);
  },
  *containerResource({ containerResource }, path) {
    if (containerResource) yield* checkResourceTarget(containerResource.target, path);
  },
};

const hasValue = ({ value, averageValue }: MetricTarget): boolean => value !== undefined || averageValue !== undefined;

function* checkResourceTarget({ averageUtilization, averageValue }: MetricTarget, path: string): Iterable<Problem> {
  if (averageUtilization === undefined && averageValue === undefined)
    yield required(`${path}.target.averageUtilization`, "must set either a target raw value or a target utilization");
  if (averageUtilization !== undefined && averageValue !== undefined)
    yield forbidden(`${path}.target.averageValue`, "may not set both a target raw value and a target utilization");
}

export function* checkTarget({ type, value, averageValue, averageUtilization }: MetricTarget): Iterable<Problem> {
  if (type === "") yield required("type", "must specify a metric target type");
  if (type !== "Utilization" && type !== "Value" && type !== "AverageValue")
    yield invalid("type", "must be either Utilization, Value, or AverageValue");
  for (const [field, amount] of Object.entries({ value, averageValue }))
    if (amount !== undefined && parseQuantity(amount).unscaled <= 0n) yield invalid(field, "must be positive");
  if (averageUtilization !== undefined && averageUtilization < 1)
    yield invalid("averageUtilization", "must be greater than 0");
}

interface Reference {
  readonly kind: string;
  readonly apiVersion?: string | undefined;
}

/** A group and version; only a ReplicationController can be scaled that has no group. */
export function* checkScaleTarget(spec: HorizontalPodAutoscalerSpec, old: Reference | undefined): Iterable<Problem> {
  const { kind, apiVersion = "" } = spec.scaleTargetRef;
  if (old && (old.apiVersion ?? "") === apiVersion && old.kind === kind) return;
  const problem = versionProblem(apiVersion, kind === "ReplicationController");
  if (problem) yield invalid("scaleTargetRef.apiVersion", problem, apiVersion);
}

export function* checkObjectVersions(spec: HorizontalPodAutoscalerSpec, old?: HorizontalPodAutoscalerSpec) {
  const bad = ({ object }: MetricSpec) => object && versionProblem(object.describedObject.apiVersion ?? "", true);
  if (old?.metrics?.some((metric) => metric.type === "Object" && bad(metric))) return;
  for (const [i, metric] of (spec.metrics ?? []).entries()) {
    const problem = bad(metric);
    if (problem) yield invalid(`metrics[${i}].object.describedObject.apiVersion`, problem);
  }
}

const versionProblem = (apiVersion: string, groupless: boolean): string | undefined => {
  const slashes = apiVersion.split("/").length - 1;
  if (slashes > 1) return `unexpected GroupVersion string: ${apiVersion}`;
  return slashes === 0 && !groupless ? "apiVersion must specify API group" : undefined;
};
