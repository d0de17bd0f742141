// What stands in the status of a claim that got devices: the devices, their settings, and the nodes that reach them.
// Upstream: staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go.
import type { NodeSelector, NodeSelectorRequirement } from "#api/core/v1/affinity.ts";
import type {
  AllocationResult,
  DeviceAllocationConfiguration,
  ResourceClaim,
} from "#api/resource/v1/resource-claim.ts";
import { equal } from "#base/collections.ts";
import { AllocationError, type DeviceAssignment, resultOf } from "./device-allocation.ts";
import { reachOf } from "./device-pools.ts";

export function allocationResult(
  claim: ResourceClaim,
  given: readonly DeviceAssignment[],
  node: string,
  shareId: () => string,
): AllocationResult {
  const config = [...classSettings(given), ...claimSettings(claim, given)];
  const selector = selectorFor(given, node);
  return {
    devices: { results: given.map((one) => resultOf(one, shareId)), ...(config.length > 0 && { config }) },
    ...(selector && { nodeSelector: selector }),
  };
}

/** Settings of a class are there once, with all requests of that class. */
function classSettings(given: readonly DeviceAssignment[]): readonly DeviceAllocationConfiguration[] {
  const byClass = Map.groupBy(new Set(given.map(({ choice }) => choice)), ({ deviceClass }) => deviceClass);
  return [...byClass].flatMap(([{ spec }, choices]) =>
    (spec.config ?? []).map((settings) => ({
      source: "FromClass" as const,
      requests: choices.map(({ name }) => name),
      ...settings,
    })),
  );
}

function claimSettings(
  { spec }: ResourceClaim,
  given: readonly DeviceAssignment[],
): readonly DeviceAllocationConfiguration[] {
  const names = new Set(given.flatMap(({ choice: { name } }) => [name, name.split("/")[0] ?? ""]));
  return (spec.devices.config ?? [])
    .filter(({ requests = [] }) => requests.length === 0 || requests.some((name) => names.has(name)))
    .map((settings) => ({ source: "FromClaim" as const, ...settings }));
}

/** Undefined if all nodes reach the devices. */
function selectorFor(given: readonly DeviceAssignment[], node: string): NodeSelector | undefined {
  const fields: NodeSelectorRequirement[] = [];
  const expressions: NodeSelectorRequirement[] = [];
  const add = (to: NodeSelectorRequirement[], more: readonly NodeSelectorRequirement[] = []) => {
    for (const one of more) if (!to.some((other) => equal(one, other))) to.push(one);
  };
  for (const { from } of given) {
    const { nodeName, nodeSelector } = reachOf(from.slice, from.device);
    if (nodeName || from.device.bindsToNode)
      return { nodeSelectorTerms: [{ matchFields: [{ key: "metadata.name", operator: "In", values: [node] }] }] };
    const [term, ...others] = nodeSelector?.nodeSelectorTerms ?? [];
    if (others.length > 0)
      throw new AllocationError(`unsupported ResourceSlice.NodeSelector with ${others.length + 1} terms`);
    add(fields, term?.matchFields);
    add(expressions, term?.matchExpressions);
  }
  if (fields.length + expressions.length === 0) return undefined;
  return {
    nodeSelectorTerms: [
      {
        ...(fields.length > 0 && { matchFields: fields }),
        ...(expressions.length > 0 && { matchExpressions: expressions }),
      },
    ],
  };
}
