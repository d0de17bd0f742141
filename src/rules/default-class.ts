// Upstream: pkg/volume/util/storageclass.go.
import type { ApiObject } from "#schema/object.ts";

/** The class that those without one get: among several the newest, then the first by name. */
export function defaultClass<T extends Pick<ApiObject, "metadata">>(
  classes: readonly T[],
  ...annotations: readonly string[]
): T | undefined {
  const created = ({ metadata }: T) => Date.parse(metadata.creationTimestamp ?? "") || 0;
  const name = ({ metadata }: T) => metadata.name ?? "";
  return classes
    .filter(({ metadata }) => annotations.some((annotation) => metadata.annotations?.[annotation] === "true"))
    .toSorted((a, b) => created(b) - created(a) || (name(a) < name(b) ? -1 : 1))[0];
}
