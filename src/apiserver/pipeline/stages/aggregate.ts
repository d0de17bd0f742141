import type { ForeignRequests } from "../../aggregation/foreign-requests.ts";
import type { Stage } from "../pipeline.ts";

/** Passes on what another server answers for. Who may ask is decided before: the other server is told who it is. */
export const aggregateStage = (foreign: ForeignRequests): Stage => ({
  name: "aggregate",
  inProcess: true,
  pass(call) {
    const { over, target, user } = call;
    if (over && target.type === "path") {
      const api = foreign.atPath(over.http.path);
      return api && foreign.passOn(api, over.http, user);
    }
    if (target.type === "path") return undefined;
    const api = foreign.find(target.address.group, target.address.version);
    if (!api) return undefined;
    return over ? foreign.passOn(api, over.http, user) : foreign.answer(api, call.request);
  },
});
