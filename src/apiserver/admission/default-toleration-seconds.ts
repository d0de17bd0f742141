import { Pod } from "#api/core/v1/pod.ts";
import { admissionPlugin } from "./plugin.ts";

export interface TolerationSeconds {
  readonly notReady: number;
  readonly unreachable: number;
}

/** A pod stays on a node that is gone for five minutes, unless it says otherwise. */
export const defaultTolerationSeconds = ({ notReady, unreachable }: TolerationSeconds) =>
  admissionPlugin({
    name: "DefaultTolerationSeconds",
    on: { kind: Pod, verbs: ["create", "update"] },
    mutate({ object: { spec } }) {
      const given = spec.tolerations ?? [];
      const missing = [
        { key: "node.kubernetes.io/not-ready", seconds: notReady },
        { key: "node.kubernetes.io/unreachable", seconds: unreachable },
      ].filter(
        ({ key }) =>
          !given.some(
            (toleration) =>
              (!toleration.key || toleration.key === key) && (!toleration.effect || toleration.effect === "NoExecute"),
          ),
      );
      if (missing.length === 0) return;
      spec.tolerations = [
        ...given,
        ...missing.map(({ key, seconds }) => ({
          key,
          operator: "Exists" as const,
          effect: "NoExecute" as const,
          tolerationSeconds: seconds,
        })),
      ];
    },
  });
