// Upstream: plugin/pkg/admission/extendedresourcetoleration/admission.go.
import { isExtended } from "#api/core/v1/amounts.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { admissionPlugin } from "./plugin.ts";

/** Nodes with special devices are tainted by their names: a pod that asks for a device tolerates its taint. */
export const extendedResourceToleration = admissionPlugin({
  name: "ExtendedResourceToleration",
  on: { kind: Pod, verbs: ["create", "update"] },
  mutate({ object: { spec } }) {
    const containers = [...spec.containers, ...(spec.initContainers ?? [])];
    const names = new Set(
      containers.flatMap(({ resources }) => Object.keys(resources.requests ?? {}).filter(isExtended)),
    );
    for (const key of [...names].sort()) {
      const present = spec.tolerations ?? [];
      const has = present.some(
        (one) => one.key === key && one.effect === "NoSchedule" && one.operator === "Exists" && !one.value,
      );
      if (!has) spec.tolerations = [...present, { key, operator: "Exists", effect: "NoSchedule" }];
    }
  },
});
