// Upstream: pkg/registry/core/pod/storage/storage.go.
import { Binding } from "#api/core/v1/binding.ts";
import { ApiError } from "#base/errors.ts";
import { dns1123Subdomain } from "#schema/formats.ts";
import type { DraftObject } from "#schema/object.ts";
import { invalid, problemText } from "#schema/problem.ts";
import { timeOf } from "#schema/time.ts";
import { annotationProblems, labelProblems } from "#schema/validate-metadata.ts";
import { badRequest, conflict, createdStatus, invalidObject, methodNotAllowed } from "#wire/status.ts";
import type { SubresourceHandler } from "../served-resource.ts";
import { admit, sentObject } from "./sent-object.ts";

/** Gives a pod its node, once and for all: what a scheduler does in the end. */
export const binding: SubresourceHandler = async (request, { registry }) => {
  if (request.verb !== "create") throw methodNotAllowed();
  const { object, dryRun } = await sentObject(request, Binding);
  if ((object.metadata?.name ?? "") !== request.name)
    throw badRequest("name in URL does not match name in Binding object");
  refuseTarget(object);
  await admit(registry, request, object, dryRun);
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
    const pod = bound(current as DraftObject, object, timeOf(registry.now()));
    refuseInvalid(pod);
    return pod;
  });
  return { type: "plain", code: 201, object: createdStatus() };
};

/** Upstream takes these for errors of its own. */
function refuseTarget(object: DraftObject): void {
  const problems = [...(Binding.check?.(object as Binding, undefined) ?? [])].map(problemText);
  if (problems.length === 0) return;
  const message = problems.length === 1 ? `${problems[0]}` : `[${problems.join(", ")}]`;
  throw new ApiError({ code: 500, reason: "", message });
}

/** What a binding adds to a pod must not make it one that nobody could update any more. Upstream does not look at this. */
function refuseInvalid({ metadata: { name = "", labels, annotations }, spec: { nodeName } }: DraftObject): void {
  const problems = [
    ...labelProblems(labels, "metadata.labels"),
    ...annotationProblems(annotations, "metadata.annotations"),
    ...dns1123Subdomain(nodeName).map((why) => invalid("target.name", why, nodeName)),
  ];
  if (problems.length > 0) throw invalidObject(Binding, name, problems);
}

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
