// Upstream: plugin/pkg/admission/podresize/admission.go.
import { amountOf, containerAmounts, isPodLevel } from "#api/core/v1/amounts.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";
import { ApiError } from "#base/errors.ts";
import {
  addQuantity,
  compareQuantity,
  parseQuantity,
  type Quantity,
  quantityMilliValue,
  quantityValue,
} from "#schema/quantity.ts";
import { admissionPlugin, refused } from "./plugin.ts";

/** A running pod does not grow beyond what its node has. */
export const podResizeValidator = admissionPlugin({
  name: "PodResizeValidator",
  on: { kind: Pod, verbs: ["update"], through: ["resize"] },
  validate(asked) {
    const { object, old, server } = asked;
    const { nodeName } = object.spec;
    if (!nodeName || object.metadata.generation === old.metadata.generation) return undefined;
    const node = server.get(Node, nodeName);
    if (!node) return `node ${JSON.stringify(nodeName)} not found`;
    const refuse = (why: string, cause: string): never => {
      const { code, reason, message, details } = refused(asked, why);
      throw new ApiError({ code, reason, message, details: { ...details, causes: [{ reason: cause }] } });
    };
    const os = node.metadata.labels?.["kubernetes.io/os"] ?? "linux";
    if (os !== "linux")
      refuse(
        `pod resize is only supported on linux nodes, node ${JSON.stringify(nodeName)} is ${JSON.stringify(os)}`,
        "UnsupportedPlatform",
      );
    const { allocatable } = node.status;
    const lacking = [
      { name: "cpu", shown: quantityMilliValue },
      { name: "memory", shown: quantityValue },
    ].flatMap(({ name, shown }) => {
      const [requested, available] = [requestOf(object.spec, name), parseQuantity(amountOf(allocatable, name) ?? "0")];
      return compareQuantity(requested, available) > 0
        ? [`${name}, requested: ${shown(requested)}, allocatable: ${shown(available)}`]
        : [];
    });
    if (lacking.length > 0)
      refuse(`node didn't have enough allocatable resources: ${lacking.join("; ")}`, "NodeCapacity");
    return undefined;
  },
});

/** What a pod asks for of one resource, with what running it costs. */
function requestOf(spec: PodSpec, name: string): Quantity {
  const whole = isPodLevel(name) ? amountOf(spec.resources?.requests, name) : undefined;
  const request = parseQuantity(whole ?? containerAmounts(spec, "requests").get(name) ?? "0");
  return addQuantity(request, parseQuantity(amountOf(spec.overhead, name) ?? "0"));
}
