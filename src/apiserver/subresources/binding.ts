import { Binding } from "#api/core/v1/binding.ts";
import type { DraftObject } from "#schema/object.ts";
import { timeOf } from "#schema/time.ts";
import { badRequest, conflict, createdStatus, methodNotAllowed } from "#wire/status.ts";
import type { SubresourceHandler } from "../served-resource.ts";
import { admit, askedOf } from "./asked.ts";

/** Gives a pod its node, once and for all: what a scheduler does in the end. */
export const binding: SubresourceHandler = async (request, { registry }) => {
  if (request.verb !== "create") throw methodNotAllowed();
  const { object, dryRun } = askedOf(request, Binding);
  if ((object.metadata?.name ?? "") !== request.name)
    throw badRequest("name in URL does not match name in Binding object");
  const node: string | undefined = object.target?.name;
  if (!node) throw badRequest("target.name: Required value");
  if (object.target.kind && object.target.kind !== "Node")
    throw badRequest(
      `target.kind: Unsupported value: ${JSON.stringify(object.target.kind)}: supported values: "Node", "<empty>"`,
    );
  await admit(registry, request, object, dryRun);
  const { clock } = registry.options;
  const key = registry.keyOf(request.namespace, request.name ?? "");
  await registry.modify(request, key, dryRun, (current) => {
    const name = current.metadata.name ?? "";
    for (const [field, said] of [
      ["uid", "UID"],
      ["resourceVersion", "ResourceVersion"],
    ] as const) {
      const asked = object.metadata[field];
      if (asked && asked !== current.metadata[field])
        throw conflict(
          { group: "", resource: "pods" },
          name,
          `Precondition failed: ${said} in precondition: ${asked}, ${said} in object meta: ${current.metadata[field]}`,
        );
    }
    const refuse = (why: string) => conflict({ group: "", resource: "pods/binding" }, name, why);
    if (current.metadata.deletionTimestamp !== undefined)
      throw refuse(`pod ${name} is being deleted, cannot be assigned to a host`);
    if (current.spec.nodeName)
      throw refuse(`pod ${name} is already assigned to node ${JSON.stringify(current.spec.nodeName)}`);
    if ((current.spec.schedulingGates ?? []).length > 0)
      throw refuse(`pod ${name} has non-empty .spec.schedulingGates`);
    return bound(current as DraftObject, object, timeOf(clock.now()));
  });
  return { type: "plain", code: 201, object: createdStatus() };
};

/** The pod with its node. What does not change is shared with the pod as it was. */
function bound(pod: DraftObject, { metadata: { annotations, labels }, target }: DraftObject, now: string): DraftObject {
  const { nominatedNodeName: _over, conditions = [], ...status } = pod.status;
  const others = conditions.filter(({ type }: { type: string }) => type !== "PodScheduled");
  const scheduled = { type: "PodScheduled", status: "True", lastTransitionTime: now };
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      ...(annotations && { annotations: { ...pod.metadata.annotations, ...annotations } }),
      ...(labels && { labels: { ...pod.metadata.labels, ...labels } }),
    },
    spec: { ...pod.spec, nodeName: target.name },
    status: { ...status, conditions: [...others, scheduled] },
  };
}
