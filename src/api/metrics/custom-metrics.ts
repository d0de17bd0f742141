// What servers of custom and external metrics answer. Knarr has none of its own; autoscalers ask whoever an APIService names.
import { type Infer, int64, list, map, quantity, ref, resource, string, struct, time } from "#schema/index.ts";
import { ObjectReference } from "../core/v1/references.ts";

export const MetricValue = struct("custom.metrics/v1beta2.MetricValue", {
  describedObject: ref(1, ObjectReference, "What the metric is about.").required(),
  timestamp: time(3, "When it was measured.").required(),
  windowSeconds: int64(4, "The span of time before that, where it is an average.").pointer(),
  window: int64(7, "The same in the older version.").pointer(),
  value: quantity(5, "The value.").required(),
});
export interface MetricValue extends Infer<typeof MetricValue> {}

const metricValueList = (version: "v1beta1" | "v1beta2") =>
  resource({
    group: "custom.metrics.k8s.io",
    version,
    kind: "MetricValueList",
    plural: "metrics",
    scope: "Namespaced",
    verbs: ["get"],
    stored: false,
    doc: "Values of one metric, of one object or of several.",
    fields: { items: list(2, MetricValue, "The values.").required() },
  });

/** The newer version first. */
export const metricValueLists = [metricValueList("v1beta2"), metricValueList("v1beta1")] as const;

export const ExternalMetricValue = resource({
  group: "external.metrics.k8s.io",
  version: "v1beta1",
  kind: "ExternalMetricValue",
  plural: "externalmetrics",
  scope: "Namespaced",
  verbs: ["list"],
  stored: false,
  doc: "A value of a metric of something outside the cluster.",
  fields: {
    metricName: string(2, "Name of the metric.").required(),
    metricLabels: map(3, "string", "What it is about.").required(),
    timestamp: time(4, "When it was measured.").required(),
    window: int64(5, "The span of time before that, where it is an average.").pointer(),
    value: quantity(6, "The value.").required(),
  },
});
export interface ExternalMetricValue extends Infer<typeof ExternalMetricValue> {}
