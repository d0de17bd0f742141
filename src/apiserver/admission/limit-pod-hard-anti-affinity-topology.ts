// Upstream: plugin/pkg/admission/antiaffinity/admission.go.
import { Pod } from "#api/core/v1/pod.ts";
import { admissionPlugin } from "./plugin.ts";

const hostname = "kubernetes.io/hostname";

/** A pod keeps others away from its own node at most, not from a whole zone. */
export const limitPodHardAntiAffinityTopology = admissionPlugin({
  name: "LimitPodHardAntiAffinityTopology",
  on: { kind: Pod, verbs: ["create", "update"] },
  validate({ object: { spec } }) {
    const terms = spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
    const wide = terms.find(({ topologyKey }) => topologyKey !== hostname);
    return (
      wide &&
      `affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ${wide.topologyKey} but only key ${hostname} is allowed`
    );
  },
});
