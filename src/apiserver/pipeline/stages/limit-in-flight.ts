import { type InFlightLimits, InFlightRequests, laneOf, tooManyRequests } from "../../in-flight.ts";
import type { Stage } from "../pipeline.ts";

/** Lets no more requests in than can be served at once. Parts of this process are not counted: they are what the server itself does. */
export function limitInFlightStage(limits: InFlightLimits): Stage {
  const inFlight = new InFlightRequests(limits);
  return {
    name: "limit in flight",
    pass({ over, user, target, life }) {
      if (!over) return undefined;
      const isLasting = target.type === "connection" || (target.type === "resource" && target.verb === "watch");
      const release = inFlight.enter(user, laneOf(over.http, isLasting));
      if (!release) return { type: "http", response: tooManyRequests() };
      life.follow({ ended: release });
      return undefined;
    },
  };
}
