import { parseQuantity, quantityValue } from "#schema/quantity.ts";
import type { NodeDescription } from "../node/description.ts";

/** How a kubelet is configured, in upstream's form: what there is a choice about, and is as it says. */
export const configurationOf = ({ port, capacity, podCidrs }: NodeDescription): object => ({
  kind: "KubeletConfiguration",
  apiVersion: "kubelet.config.k8s.io/v1beta1",
  enableServer: true,
  port,
  maxPods: Number(quantityValue(parseQuantity(capacity.pods ?? "0"))),
  ...(podCidrs && { podCIDR: podCidrs.join(",") }),
  enableDebuggingHandlers: true,
  enableSystemLogHandler: false,
  enableProfilingHandler: false,
  enableDebugFlagsHandler: false,
});
