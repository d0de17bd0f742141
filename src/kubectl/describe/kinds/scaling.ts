// How many pods there are to be, how many may go at once, and which come first.
import type { HorizontalPodAutoscaler } from "#api/autoscaling/v2/horizontal-pod-autoscaler.ts";
import type { PodDisruptionBudget } from "#api/policy/v1/pod-disruption-budget.ts";
import type { PriorityClass } from "#api/scheduling/v1/priority-class.ts";
import { isObject } from "#base/is-object.ts";
import { formatSelector } from "#schema/selector.ts";
import { labelText, timeText, writeEvents, writeIdentity, writeTags } from "../common.ts";
import { type Describer, eventsOf, subjectOf } from "../describer.ts";
import type { DescriptionWriter } from "../description-writer.ts";

export const describeDisruptionBudget: Describer<PodDisruptionBudget> = async (budget, context, w) => {
  const { metadata, spec, status } = budget;
  const events = await eventsOf(context, subjectOf({ ...budget }));
  writeIdentity(w, metadata);
  if (spec.minAvailable !== undefined) w.line(0, "Min available:", spec.minAvailable);
  else if (spec.maxUnavailable !== undefined) w.line(0, "Max unavailable:", spec.maxUnavailable);
  w.line(0, "Selector:", spec.selector ? formatSelector(spec.selector) : "<unset>");
  w.line(0, "Status:");
  w.line(2, "Allowed disruptions:", status.disruptionsAllowed);
  w.line(2, "Current:", status.currentHealthy);
  w.line(2, "Desired:", status.desiredHealthy);
  w.line(2, "Total:", status.expectedPods);
  writeEvents(w, events, context.now);
};

export const describePriorityClass: Describer<PriorityClass> = async (found, context, w) => {
  const events = await eventsOf(context, subjectOf({ ...found }));
  w.line(0, "Name:", found.metadata.name);
  w.line(0, "Value:", found.value);
  w.line(0, "GlobalDefault:", found.globalDefault ?? false);
  w.line(0, "PreemptionPolicy:", found.preemptionPolicy);
  w.line(0, "Description:", found.description ?? "");
  w.line(0, "Annotations:", labelText(found.metadata.annotations));
  writeEvents(w, events, context.now);
};

type Part = Readonly<Record<string, unknown>>;
const part = (value: unknown): Part => (isObject(value) ? value : {});

export const describeAutoscaler: Describer<HorizontalPodAutoscaler> = async (scaler, context, w) => {
  const { metadata, spec, status } = scaler;
  const events = await eventsOf(context, subjectOf({ ...scaler }));
  writeIdentity(w, metadata);
  writeTags(w, metadata);
  w.line(0, "CreationTimestamp:", timeText(metadata.creationTimestamp));
  w.line(0, "Reference:", `${spec.scaleTargetRef.kind}/${spec.scaleTargetRef.name}`);
  w.line(0, "Metrics:", "( current / target )");
  for (const [i, metric] of (spec.metrics ?? []).entries())
    writeMetric(w, { ...metric }, part(part(status?.currentMetrics)[i]));
  w.line(0, "Min replicas:", spec.minReplicas ?? "<unset>");
  w.line(0, "Max replicas:", spec.maxReplicas);
  if (spec.behavior) {
    w.line(0, "Behavior:");
    writeBehavior(w, "Scale Up", part(spec.behavior.scaleUp));
    writeBehavior(w, "Scale Down", part(spec.behavior.scaleDown));
  }
  w.line(
    0,
    `${spec.scaleTargetRef.kind} pods:`,
    `${status?.currentReplicas ?? 0} current / ${status?.desiredReplicas ?? 0} desired`,
  );
  const conditions = status?.conditions ?? [];
  if (conditions.length > 0) {
    w.line(0, "Conditions:");
    w.line(1, "Type", "Status", "Reason", "Message");
    w.line(1, "----", "------", "------", "-------");
  }
  for (const { type, status: is, reason = "", message = "" } of conditions) w.line(1, type, is, reason, message);
  writeEvents(w, events, context.now);
};

/** The field of a metric that says more of it, by its type. */
const metricFields: Readonly<Record<string, string>> = {
  External: "external",
  Pods: "pods",
  Object: "object",
  Resource: "resource",
  ContainerResource: "containerResource",
};

function writeMetric(w: DescriptionWriter, metric: Part, currentMetric: Part): void {
  const type = String(metric.type);
  const field = metricFields[type];
  if (field === undefined) w.line(1, `<unknown metric type ${JSON.stringify(type)}>`);
  else w.line(1, ...metricCells(type, part(metric[field]), part(part(currentMetric[field]).current)));
}

function metricCells(type: string, source: Part, current: Part): readonly string[] {
  const target = part(source.target);
  const name = JSON.stringify(part(source.metric).name ?? "");
  const said = (key: string) => `${current[key] ?? "<unknown>"} / ${target[key] ?? "0"}`;
  if (type === "Pods") return [`${name} on pods:`, said("averageValue")];
  if (type === "External" || type === "Object") {
    const { kind, name: of } = part(source.describedObject);
    const on = type === "Object" ? ` on ${kind}/${of}` : "";
    const isAverage = type === "Object" ? target.type === "AverageValue" : target.averageValue !== undefined;
    return [`${name}${on} (target ${isAverage ? "average " : ""}value):`, said(isAverage ? "averageValue" : "value")];
  }
  const of = type === "Resource" ? "" : ` of container "${source.container}"`;
  const title = `resource ${source.name}${of} on pods`;
  if (target.averageValue !== undefined) return [`${title}:`, said("averageValue")];
  const used = current.averageUtilization;
  const shown = used === undefined ? "<unknown>" : `${used}% (${current.averageValue ?? "<unknown>"})`;
  const wanted = target.averageUtilization === undefined ? "<auto>" : `${target.averageUtilization}%`;
  return [`${title}  (as a percentage of request):`, `${shown} / ${wanted}`];
}

function writeBehavior(w: DescriptionWriter, direction: string, rules: Part): void {
  if (Object.keys(rules).length === 0) return;
  w.line(1, `${direction}:`);
  if (rules.stabilizationWindowSeconds !== undefined)
    w.line(2, `Stabilization Window: ${rules.stabilizationWindowSeconds} seconds`);
  const policies = Array.isArray(rules.policies) ? rules.policies.map(part) : [];
  if (policies.length === 0) return;
  w.line(2, `Select Policy: ${rules.selectPolicy ?? "Max"}`);
  w.line(2, "Policies:");
  for (const { type, value, periodSeconds } of policies)
    w.line(3, `- Type: ${type}`, `Value: ${value}`, `Period: ${periodSeconds} seconds`);
}
