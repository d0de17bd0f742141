// Upstream: plugin/pkg/admission/nodedeclaredfeatures/admission.go.
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";
import { equal } from "#base/collections.ts";
import { admissionPlugin } from "./plugin.ts";

/** Refuses changes of a pod on a node whose kubelet would not act on them. */
export const nodeDeclaredFeatureValidator = admissionPlugin({
  name: "NodeDeclaredFeatureValidator",
  on: { kind: Pod, verbs: ["update"], through: ["", "resize"] },
  validate({ object, old, server }) {
    const { nodeName } = object.spec;
    // Only a change of the spec makes a new generation.
    if (!nodeName || object.metadata.generation === old.metadata.generation) return undefined;
    const needed = featuresFor(old.spec, object.spec);
    if (needed.length === 0) return undefined;
    const node = server.get(Node, nodeName);
    if (!node) return `node ${JSON.stringify(nodeName)} not found`;
    const declared: readonly string[] = node.status.declaredFeatures ?? [];
    const lacking = needed.filter((feature) => !declared.includes(feature));
    return lacking.length === 0
      ? undefined
      : `pod update requires features ${lacking.join(", ")} which are not available on node ${JSON.stringify(nodeName)}`;
  },
});

/** What older kubelets do not change of a pod that runs, by the names newer ones declare, in order. */
function featuresFor(old: PodSpec, now: PodSpec): readonly string[] {
  const changesInit = (old.initContainers ?? []).some(
    ({ restartPolicy, resources }, i) =>
      restartPolicy !== "Always" && !equal(resources ?? {}, now.initContainers?.[i]?.resources ?? {}),
  );
  return [
    ...(equal(old.resources ?? {}, now.resources ?? {}) ? [] : ["InPlacePodLevelResourcesVerticalScaling"]),
    ...(changesInit ? ["InPlacePodVerticalScalingInitContainers"] : []),
  ];
}
