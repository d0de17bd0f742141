// Upstream: plugin/pkg/admission/defaulttolerationseconds/admission.go.
import { Pod } from "#api/core/v1/pod.ts";
import { deepFreeze } from "#base/collections.ts";
import { admissionPlugin } from "./plugin.ts";

export interface TolerationSeconds {
  readonly notReady: number;
  readonly unreachable: number;
}

/** A pod stays on a node that is gone for five minutes, unless it says otherwise. */
export const defaultTolerationSeconds = ({ notReady, unreachable }: TolerationSeconds) => {
  // Nearly all pods get them, so they share them.
  const tolerations = deepFreeze([
    toleration("node.kubernetes.io/not-ready", notReady),
    toleration("node.kubernetes.io/unreachable", unreachable),
  ]);
  return admissionPlugin({
    name: "DefaultTolerationSeconds",
    on: { kind: Pod, verbs: ["create", "update"] },
    mutate({ object: { spec } }) {
      const given = spec.tolerations ?? [];
      const missing = tolerations.filter(
        ({ key }) => !given.some((one) => (!one.key || one.key === key) && (!one.effect || one.effect === "NoExecute")),
      );
      if (missing.length > 0) spec.tolerations = [...given, ...missing];
    },
  });
};

const toleration = (key: string, tolerationSeconds: number) => ({
  key,
  operator: "Exists" as const,
  effect: "NoExecute" as const,
  tolerationSeconds,
});
