// Lists are not declared: whatever the kind, a list of it has the same two fields.
import { list, ref, typeMeta } from "../field.ts";
import type { AnyKind } from "../kind.ts";
import { ListMeta } from "../object-meta.ts";
import { type AnyStruct, struct } from "../struct.ts";

/** What a list is depends on nothing but the kind of its items. */
const listStructs = new WeakMap<AnyKind, AnyStruct>();

/** The struct of `PodList`, given `Pod`. */
export function listStruct(kind: AnyKind): AnyStruct {
  const found = listStructs.get(kind);
  if (found) return found;
  const fields = {
    ...typeMeta,
    metadata: ref(1, ListMeta).default({}),
    items: list(2, kind.struct).required().keepsEmpty(), // a list without items says so
  };
  const made = struct(`${kind.struct.name}List`, fields, kind.struct.jsonOnly ? { jsonOnly: true } : {});
  listStructs.set(kind, made);
  return made;
}
