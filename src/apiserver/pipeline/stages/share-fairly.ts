import type { Fairness } from "../../fairness/fairness.ts";
import { InFlightRequests, tooManyRequests } from "../../in-flight.ts";
import type { Stage } from "../pipeline.ts";

/**
 * Lets requests go on by priority and fairness, those of parts of this process included. Connections pass, as they do upstream: they hold
 * nothing of the server but memory. How many of them and of watches one user may have is limited here alone.
 */
export function shareFairlyStage(fairness: Fairness, lasting: number): Stage {
  const open = new InFlightRequests({ reads: 0, writes: 0, lasting });
  return {
    name: "share fairly",
    inProcess: true,
    pass(call) {
      const { over, target, life } = call;
      const isConnection = target.type === "connection";
      if (over && (isConnection || (target.type === "resource" && target.verb === "watch"))) {
        const release = open.enter(call.user, "lasting");
        if (!release) return { type: "http", response: tooManyRequests() };
        life.follow({ ended: release });
      }
      return isConnection ? undefined : fairness.admit(call);
    },
  };
}
