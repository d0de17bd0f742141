// Subresources besides `status`, by group and plural of the kind and by their own name.
import type { AnyKind, ScalePaths } from "#schema/kind.ts";
import type { ServedResource, SubresourceHandler } from "../served-resource.ts";
import { strategyOf } from "../strategies/list.ts";
import { binding } from "./binding.ts";
import { eviction } from "./eviction.ts";
import { part } from "./part.ts";
import { scale } from "./scale.ts";

/** The resource that serves a kind, for handlers that look at others besides their own. */
export type Find = (kind: AnyKind) => ServedResource;

const handlers: Readonly<Record<string, (find: Find) => Readonly<Record<string, SubresourceHandler>>>> = {
  "/pods": (find) => ({ binding, eviction: eviction(find) }),
};

export function subresourceHandlers(kind: AnyKind, find: Find): Readonly<Record<string, SubresourceHandler>> {
  const paths = kind.subresources?.scale as ScalePaths | undefined;
  const parts = Object.keys(strategyOf(kind).parts ?? {});
  return {
    ...handlers[`${kind.group}/${kind.plural}`]?.(find),
    ...Object.fromEntries(parts.map((name) => [name, part])),
    ...(paths && { scale: scale(paths) }),
  };
}
