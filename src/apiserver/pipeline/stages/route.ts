import { methodNotAllowed } from "#wire/status.ts";
import type { Resources } from "../../resources.ts";
import { wantedBy } from "../../response/form.ts";
import { pageNotFound } from "../../response/respond.ts";
import type { Stage } from "../pipeline.ts";

/** Is there such a resource, does it take the verb, and can it be shown as the client wants it. Throws ApiError 404, 405 or 406. */
export const routeStage = (resources: Resources): Stage => ({
  name: "route",
  pass(call) {
    const { over, target } = call;
    if (!over || target.type === "path") return undefined;
    if (target.type === "connection") {
      resources.check(target.address, "connect");
      return undefined;
    }
    const { address, verb } = target;
    if (resources.isUnknown(address, verb)) return { type: "http", response: pageNotFound };
    resources.check(address, over.http.method === "HEAD" ? undefined : verb); // upstream serves no HEAD of resources
    if (!verb) throw methodNotAllowed();
    call.wanted = wantedBy(over.http, verb, resources.kindAt(address));
    return undefined;
  },
});
