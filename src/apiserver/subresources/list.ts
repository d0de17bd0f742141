// Subresources that are more than a part of the object, by group and plural of the kind and by their own name.
import type { AnyKind, ScalePaths } from "#schema/kind.ts";
import type { SubresourceHandler } from "../served-resource.ts";
import { binding } from "./binding.ts";
import { finalize } from "./finalize.ts";
import { scale } from "./scale.ts";

const handlers: Readonly<Record<string, Readonly<Record<string, SubresourceHandler>>>> = {
  "/namespaces": { finalize },
  "/pods": { binding },
};

export function subresourceHandlers(kind: AnyKind): Readonly<Record<string, SubresourceHandler>> {
  const paths = kind.subresources?.scale as ScalePaths | undefined;
  return { ...handlers[`${kind.group}/${kind.plural}`], ...(paths && { scale: scale(paths) }) };
}
