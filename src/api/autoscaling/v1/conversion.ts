// autoscaling/v1 knows one metric, the use of CPU. All else of a v2 autoscaler travels in annotations, and comes back
// from them. Annotations are what a client may write: what cannot be read there is left out, as upstream does.

import { setOwn } from "#base/collections.ts";
import { decodeText, decodeValue } from "#schema/decode.ts";
import { applyDefaults } from "#schema/defaults.ts";
import type { AnyStruct, Infer } from "#schema/index.ts";
import { list, struct } from "#schema/index.ts";
import { parseJson } from "#schema/json.ts";
import {
  HorizontalPodAutoscalerBehavior,
  HorizontalPodAutoscalerCondition,
  type MetricSpec as MetricSpecV2,
  type MetricStatus as MetricStatusV2,
} from "../v2/horizontal-pod-autoscaler.ts";
import { type MetricSpec, MetricSpecs, type MetricStatus, MetricStatuses } from "./metrics.ts";

const annotation = {
  metrics: "autoscaling.alpha.kubernetes.io/metrics",
  currentMetrics: "autoscaling.alpha.kubernetes.io/current-metrics",
  conditions: "autoscaling.alpha.kubernetes.io/conditions",
  behavior: "autoscaling.alpha.kubernetes.io/behavior",
  scaleDownTolerance: "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
  scaleUpTolerance: "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
} as const;

type Annotations = Readonly<Record<string, string>>;
const Conditions = struct("autoscaling/v1.Conditions", { items: list(1, HorizontalPodAutoscalerCondition) });

/** What clients see as v1, made of the stored v2. */
export function toAnnotations(annotations: Annotations | undefined, stored: StoredParts): Annotations | undefined {
  const { metrics = [], behavior, currentMetrics = [], conditions = [] } = stored;
  const others = metrics.filter((metric) => !isCpuUtilization(metric));
  return orNone({
    ...withoutRoundTrip(annotations),
    ...(others.length > 0 && { [annotation.metrics]: JSON.stringify(others.map(specToV1)) }),
    ...(currentMetrics.length > 0 && { [annotation.currentMetrics]: JSON.stringify(currentMetrics.map(statusToV1)) }),
    ...(behavior && { [annotation.behavior]: JSON.stringify(capitalized(behavior)) }),
    ...(conditions.length > 0 && { [annotation.conditions]: JSON.stringify(conditions) }),
  });
}

export interface StoredParts {
  readonly metrics?: readonly MetricSpecV2[] | undefined;
  readonly behavior?: Infer<typeof HorizontalPodAutoscalerBehavior> | undefined;
  readonly currentMetrics?: readonly MetricStatusV2[] | undefined;
  readonly conditions?: readonly Infer<typeof HorizontalPodAutoscalerCondition>[] | undefined;
}

/** What the annotations of a v1 autoscaler hold of a v2 one. */
export function fromAnnotations(annotations: Annotations = {}): StoredParts {
  const metrics = readList(MetricSpecs, annotations[annotation.metrics]);
  const currentMetrics = readList(MetricStatuses, annotations[annotation.currentMetrics]);
  const conditions = readList(Conditions, annotations[annotation.conditions]);
  const behavior = read(HorizontalPodAutoscalerBehavior, annotations[annotation.behavior]);
  return {
    metrics: metrics?.map(specToV2),
    currentMetrics: currentMetrics?.map(statusToV2),
    conditions,
    behavior: behavior && Object.keys(behavior).length > 0 ? behavior : undefined,
  };
}

export const withoutRoundTrip = (annotations: Annotations = {}): Annotations => {
  const own = new Set<string>(Object.values(annotation));
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => !own.has(key)));
};

export const orNone = (annotations: Annotations): Annotations | undefined =>
  Object.keys(annotations).length === 0 ? undefined : annotations;

export const isCpuUtilization = ({ type, resource }: MetricSpecV2): boolean =>
  type === "Resource" && resource?.name === "cpu" && resource.target.averageUtilization !== undefined;

/** The same without fields that are undefined: what is absent on the wire is absent in memory. */
export function compact<T>(value: T): T;
export function compact(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(compact);
  if (typeof value !== "object" || value === null) return value;
  const kept: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value)) if (inner !== undefined) setOwn(kept, key, compact(inner));
  return kept;
}

function read<S extends AnyStruct>(subject: S, text: string | undefined): Infer<S> | undefined {
  if (text === undefined) return undefined;
  try {
    return applyDefaults(subject, decodeText(subject, lowered(text)).object) as Infer<S>;
  } catch {
    return undefined; // a client's own words in an annotation of ours: upstream passes over them too
  }
}

function readList<T>(subject: AnyStruct & { readonly fields: { items: { infer: T } } }, text: string | undefined) {
  if (text === undefined) return undefined;
  try {
    const { object } = decodeValue(subject, { items: parseJson(text).value });
    return applyDefaults(subject, object).items as T;
  } catch {
    return undefined; // as above
  }
}

/** Upstream writes the behavior with Go's own field names, by a slip that has become the format. */
function capitalized(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(capitalized);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key.charAt(0).toUpperCase() + key.slice(1), capitalized(inner)]),
  );
}

const lowered = (text: string): string =>
  JSON.stringify(parseJson(text).value, (_key, value: unknown) =>
    typeof value !== "object" || value === null || Array.isArray(value)
      ? value
      : Object.fromEntries(
          Object.entries(value)
            .filter(([, inner]) => inner !== null)
            .map(([key, inner]) => [key.charAt(0).toLowerCase() + key.slice(1), inner]),
        ),
  );

function specToV1({ type, object, pods, resource, containerResource, external }: MetricSpecV2): MetricSpec {
  return {
    type,
    object: object && {
      target: object.describedObject,
      metricName: object.metric.name,
      targetValue: object.target.value ?? "0",
      selector: object.metric.selector,
      averageValue: object.target.averageValue,
    },
    pods: pods && {
      metricName: pods.metric.name,
      targetAverageValue: pods.target.averageValue ?? "0",
      selector: pods.metric.selector,
    },
    resource: resource && {
      name: resource.name,
      targetAverageUtilization: resource.target.averageUtilization,
      targetAverageValue: resource.target.averageValue,
    },
    containerResource: containerResource && {
      name: containerResource.name,
      targetAverageUtilization: containerResource.target.averageUtilization,
      targetAverageValue: containerResource.target.averageValue,
      container: containerResource.container,
    },
    external: external && {
      metricName: external.metric.name,
      metricSelector: external.metric.selector,
      targetValue: external.target.value,
      targetAverageValue: external.target.averageValue,
    },
  };
}

function specToV2({ type, object, pods, resource, containerResource, external }: MetricSpec): MetricSpecV2 {
  const ofResource = (one: NonNullable<typeof resource>) => ({
    type: one.targetAverageUtilization === undefined ? "AverageValue" : "Utilization",
    averageValue: one.targetAverageValue,
    averageUtilization: one.targetAverageUtilization,
  });
  return {
    type,
    object: object && {
      describedObject: object.target,
      metric: { name: object.metricName, selector: object.selector },
      target: {
        type: object.averageValue === undefined ? "Value" : "AverageValue",
        // v1 cannot leave the value out, so beside an average its zero says nothing.
        value: object.averageValue !== undefined && object.targetValue === "0" ? undefined : object.targetValue,
        averageValue: object.averageValue,
      },
    },
    pods: pods && {
      metric: { name: pods.metricName, selector: pods.selector },
      target: { type: "AverageValue", averageValue: pods.targetAverageValue },
    },
    resource: resource && { name: resource.name, target: ofResource(resource) },
    containerResource: containerResource && {
      name: containerResource.name,
      container: containerResource.container,
      target: ofResource(containerResource),
    },
    external: external && {
      metric: { name: external.metricName, selector: external.metricSelector },
      target: {
        type: external.targetValue === undefined ? "AverageValue" : "Value",
        value: external.targetValue,
        averageValue: external.targetAverageValue,
      },
    },
  };
}

function statusToV1({ type, object, pods, resource, containerResource, external }: MetricStatusV2): MetricStatus {
  return {
    type,
    object: object && {
      target: object.describedObject,
      metricName: object.metric.name,
      currentValue: object.current.value ?? "0",
      selector: object.metric.selector,
      averageValue: object.current.averageValue,
    },
    pods: pods && {
      metricName: pods.metric.name,
      currentAverageValue: pods.current.averageValue ?? "0",
      selector: pods.metric.selector,
    },
    resource: resource && {
      name: resource.name,
      currentAverageUtilization: resource.current.averageUtilization,
      currentAverageValue: resource.current.averageValue ?? "0",
    },
    containerResource: containerResource && {
      name: containerResource.name,
      currentAverageUtilization: containerResource.current.averageUtilization,
      currentAverageValue: containerResource.current.averageValue ?? "0",
      container: containerResource.container,
    },
    external: external && {
      metricName: external.metric.name,
      metricSelector: external.metric.selector,
      currentValue: external.current.value ?? "0",
      currentAverageValue: external.current.averageValue,
    },
  };
}

function statusToV2({ type, object, pods, resource, containerResource, external }: MetricStatus): MetricStatusV2 {
  const ofResource = (one: NonNullable<typeof resource>) => ({
    averageValue: one.currentAverageValue,
    averageUtilization: one.currentAverageUtilization,
  });
  return {
    type,
    object: object && {
      describedObject: object.target,
      metric: { name: object.metricName, selector: object.selector },
      current: { value: object.currentValue, averageValue: object.averageValue },
    },
    pods: pods && {
      metric: { name: pods.metricName, selector: pods.selector },
      current: { averageValue: pods.currentAverageValue },
    },
    resource: resource && { name: resource.name, current: ofResource(resource) },
    containerResource: containerResource && {
      name: containerResource.name,
      container: containerResource.container,
      current: ofResource(containerResource),
    },
    external: external && {
      metric: { name: external.metricName, selector: external.metricSelector },
      current: { value: external.currentValue, averageValue: external.currentAverageValue },
    },
  };
}
