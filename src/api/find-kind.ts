import type { AnyKind } from "#schema/kind.ts";
import { catalog } from "./catalog.ts";

/** The kind that people mean by a word: `pod`, `pods`, `po`, `Pod`, `deployments.apps`, `deployment.v1.apps`. */
export function findKind(word: string, kinds: readonly AnyKind[] = catalog): AnyKind | undefined {
  const [name = "", ...rest] = word.toLowerCase().split(".");
  const place = rest.join(".");
  return kinds.find(
    (kind) =>
      [kind.plural, kind.singular, ...(kind.shortNames ?? [])].includes(name) &&
      (place === "" || place === kind.group || place === [kind.version, kind.group].filter(Boolean).join(".")),
  );
}
