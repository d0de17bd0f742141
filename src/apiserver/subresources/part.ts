import type { AnyKind } from "#schema/kind.ts";
import { methodNotAllowed } from "#wire/status.ts";
import { answer, type SubresourceHandler } from "../served-resource.ts";
import { getObject } from "../verbs/get.ts";
import { patch } from "../verbs/patch.ts";
import { update } from "../verbs/update.ts";

/** A subresource that is the object itself, of which this path may change a part; the kind's strategy says which. */
export const part: SubresourceHandler = async (request, served) => {
  if (!verbsOf(served.kind, request.subresource ?? "").includes(request.verb)) throw methodNotAllowed();
  switch (request.verb) {
    case "get":
      return answer(200, served, await getObject(served.registry, request));
    case "update":
      return update(request, served);
    case "patch":
      return patch(request, served);
    default:
      throw methodNotAllowed();
  }
};

function verbsOf({ subresources }: AnyKind, name: string): readonly string[] {
  const declared = subresources?.[name];
  return typeof declared === "object" && "verbs" in declared ? declared.verbs : [];
}
