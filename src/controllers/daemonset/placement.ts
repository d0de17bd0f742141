// On which nodes the pod of a DaemonSet should run, and the pod for a node.
// Upstream: pkg/controller/daemon/daemon_controller.go and pkg/controller/daemon/util/daemonset_util.go.
import type { DaemonSet } from "#api/apps/v1/daemon-set.ts";
import type { Affinity, Toleration } from "#api/core/v1/affinity.ts";
import type { Node } from "#api/core/v1/node.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { PodSpec, PodTemplateSpec } from "#api/core/v1/pod-spec.ts";
import { requiredNodes, selectable } from "#rules/node-selection.ts";
import { untoleratedTaint } from "#rules/tolerations.ts";
import { parseInt64 } from "#schema/int64.ts";
import { revisionLabel } from "../controller-revisions.ts";

export interface DaemonPlacement {
  /** Whether a pod should be started where there is none. */
  readonly shouldRun: boolean;
  /** Whether a pod that is there may stay. */
  readonly shouldStay: boolean;
}

const always: DaemonPlacement = { shouldRun: true, shouldStay: true };
const never: DaemonPlacement = { shouldRun: false, shouldStay: false };

/** The placements of a DaemonSet on nodes, each worked out once. */
export function placementsOf(ds: DaemonSet): (node: Node) => DaemonPlacement {
  const placement = placementOf(ds);
  const known = new Map<Node, DaemonPlacement>();
  return (node) => {
    const found = known.get(node) ?? placement(node);
    known.set(node, found);
    return found;
  };
}

export function placementOf({ spec }: DaemonSet): (node: Node) => DaemonPlacement {
  const pod = spec.template.spec;
  const selected = requiredNodes(pod);
  const tolerations = daemonTolerations(pod);
  return (node) => {
    if ((pod.nodeName && pod.nodeName !== node.metadata.name) || selected?.(selectable(node)) === false) return never;
    const { taints = [] } = node.spec;
    if (taints.length === 0) return always;
    return {
      shouldRun: untoleratedTaint(taints, tolerations, ["NoSchedule", "NoExecute"]) === undefined,
      shouldStay: untoleratedTaint(taints, tolerations, ["NoExecute"]) === undefined,
    };
  };
}

/** Daemon pods tolerate the taints of a node in trouble: they are part of the node. */
export function daemonTolerations({ tolerations = [], hostNetwork }: PodSpec): readonly Toleration[] {
  const own = [
    about("not-ready", "NoExecute"),
    about("unreachable", "NoExecute"),
    about("disk-pressure", "NoSchedule"),
    about("memory-pressure", "NoSchedule"),
    about("pid-pressure", "NoSchedule"),
    about("unschedulable", "NoSchedule"),
    ...(hostNetwork ? [about("network-unavailable", "NoSchedule")] : []),
  ];
  const same = (a: Toleration) => (b: Toleration) =>
    a.key === b.key && a.effect === b.effect && a.operator === b.operator && (a.value ?? "") === (b.value ?? "");
  return [
    ...tolerations.map((given) => own.find(same(given)) ?? given),
    ...own.filter((one) => !tolerations.some(same(one))),
  ];
}

const about = (key: string, effect: "NoExecute" | "NoSchedule") =>
  ({ key: `node.kubernetes.io/${key}`, operator: "Exists", effect }) as const;

/** The template of the pods of one revision. */
export function podTemplate(ds: DaemonSet, hash: string): PodTemplateSpec {
  const { template } = ds.spec;
  const generation = templateGeneration(ds);
  const labels = {
    ...template.metadata.labels,
    ...(generation !== undefined && { [generationLabel]: generation }),
    [revisionLabel]: hash,
  };
  return {
    ...template,
    metadata: { ...template.metadata, labels },
    spec: { ...template.spec, tolerations: daemonTolerations(template.spec) },
  };
}

/** Pins the pod to a node by affinity, so that the scheduler binds it there. The node was checked against all other terms before. */
export const pinnedTo = (template: PodTemplateSpec, node: string): PodTemplateSpec => ({
  ...template,
  spec: { ...template.spec, affinity: affinityTo(template.spec.affinity, node) },
});

const nameField = "metadata.name";

const affinityTo = (affinity: Affinity | undefined, node: string): Affinity => ({
  ...affinity,
  nodeAffinity: {
    ...affinity?.nodeAffinity,
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchFields: [{ key: nameField, operator: "In", values: [node] }] }],
    },
  },
});

/** The node a pod is on, or will be; undefined if it is not pinned to one. */
export function targetNode({ spec }: Pod): string | undefined {
  if (spec.nodeName) return spec.nodeName;
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const fields = (required?.nodeSelectorTerms ?? []).flatMap(({ matchFields = [] }) => matchFields);
  const { values = [] } = fields.find(({ key, operator }) => key === nameField && operator === "In") ?? {};
  return values.length === 1 ? values[0] : undefined;
}

const generationLabel = "pod-template-generation";

/** The label by which DaemonSets distinguished templates before revisions: pods with it are not replaced. */
function templateGeneration({ metadata }: DaemonSet): string | undefined {
  return parseInt64(metadata.annotations?.["deprecated.daemonset.template.generation"] ?? "")?.toString();
}

/** Whether a pod is of the present template. */
export function isUpdated(ds: DaemonSet, { metadata: { labels } }: Pod, hash: string): boolean {
  const generation = templateGeneration(ds);
  return (
    (hash !== "" && labels?.[revisionLabel] === hash) ||
    (generation !== undefined && labels?.[generationLabel] === generation)
  );
}
