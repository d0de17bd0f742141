// All containers of a pod, in upstream's order: init, plain, ephemeral.
// Upstream: pkg/api/pod/util.go.
import type { Container } from "#api/core/v1/container.ts";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";
import type { Mutable } from "#schema/infer.ts";

export interface PlacedContainer {
  readonly container: Container;
  /** Where it is: `spec.containers[0]`. */
  readonly path: string;
}

const lists = ["initContainers", "containers", "ephemeralContainers"] as const;

export function* containersOf(spec: Partial<Pick<PodSpec, (typeof lists)[number]>>): Generator<PlacedContainer> {
  for (const list of lists)
    for (const [i, container] of (spec[list] ?? []).entries()) yield { container, path: `spec.${list}[${i}]` };
}

/** The same, of a pod that may be changed. */
export function* draftContainersOf(spec: Mutable<PodSpec>): Generator<Mutable<Container>> {
  for (const list of lists) yield* spec[list] ?? [];
}
