// What may change in a pod through `ephemeralcontainers` and `resize`, which its own path does not let change.
// Upstream: pkg/registry/core/pod/strategy.go.
import type { Container } from "#api/core/v1/container.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";
import { validateEphemeralContainers, validateResize } from "#api/core/v1/pod-subresources.ts";
import { including } from "#schema/apply/filter.ts";
import type { ApiObject, DraftObject } from "#schema/object.ts";
import { takeFrom } from "../registry/prepare.ts";
import type { PartStrategy } from "../registry/strategy.ts";

export const ephemeralContainers: PartStrategy = {
  prepare(object, old) {
    const { ephemeralContainers } = object.spec;
    takeOld(object, old);
    const { ephemeralContainers: _ephemeralContainers, ...spec } = old.spec;
    object.spec = ephemeralContainers ? { ...spec, ephemeralContainers } : spec;
  },
  problems: (object, old) => validateEphemeralContainers(object as ApiObject & Pod, old as ApiObject & Pod),
  owned: including("spec.ephemeralContainers"),
};

export const resize: PartStrategy = {
  prepare(object, old) {
    const [spec, before]: readonly PodSpec[] = [object.spec, old.spec];
    if (!spec || !before || sizes(spec) !== sizes(before)) return; // validation says what is wrong with that
    const { resources: _resources, ...kept } = before;
    takeOld(object, old);
    object.spec = {
      ...kept,
      ...(spec.resources && { resources: spec.resources }),
      containers: resized(spec.containers, before.containers),
      ...(spec.initContainers && { initContainers: resized(spec.initContainers, before.initContainers ?? []) }),
    };
  },
  problems: (object, old) => validateResize(object as ApiObject & Pod, old as ApiObject & Pod),
  owned: including(
    "spec.containers.*.resources",
    "spec.containers.*.resizePolicy",
    "spec.initContainers.*.resources",
    "spec.initContainers.*.resizePolicy",
  ),
};

const sizes = ({ containers, initContainers = [] }: PodSpec): string => `${containers.length}/${initContainers.length}`;

/** The containers as they were, with the resources they shall have. */
function resized(containers: readonly Container[], old: readonly Container[]): readonly Container[] {
  if (containers.some(({ name }, i) => name !== old[i]?.name)) return containers;
  return containers.map(({ resources, resizePolicy }, i) => {
    const { resizePolicy: _resizePolicy, ...kept } = old[i] as Container;
    return { ...kept, resources, ...(resizePolicy && { resizePolicy }) };
  });
}

function takeOld(object: DraftObject, old: ApiObject): void {
  object.status = old.status;
  for (const field of ["labels", "annotations", "finalizers", "ownerReferences"])
    takeFrom(object.metadata, old.metadata, field);
}
