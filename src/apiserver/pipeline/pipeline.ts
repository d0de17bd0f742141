// The way of a request: an ordered list of stages. Each either lets the request go on, answers it, or refuses it by throwing ApiError. What
// must happen when a request is over hangs on its life (request-life.ts), so that stages need not wrap each other: a loop costs less than
// ten nested functions, and the list can be read from top to bottom.
import type { Soon } from "#base/soon.ts";
import type { Call, CallAnswer } from "./call.ts";

export interface Stage {
  readonly name: string;
  /** Whether requests from parts of this process pass it, too. Those that only read bytes or identify are for HTTP. */
  readonly inProcess?: boolean;
  /** Undefined lets the request go on; at once where nothing has to be waited for. */
  pass(call: Call): Soon<CallAnswer | undefined>;
}

/** Passes the stages from `first` on. At once where no stage has to wait: a get takes 2 µs here, and a promise would be a tenth of that. */
export function passAll(stages: readonly Stage[], call: Call, first = 0): Soon<CallAnswer> {
  for (let i = first; i < stages.length; i++) {
    const stage = stages[i] as Stage;
    call.stage = stage.name;
    const step = stage.pass(call);
    if (step instanceof Promise) return step.then((answer) => answer ?? passAll(stages, call, i + 1));
    if (step) return step;
  }
  throw new Error("no stage has answered the request");
}
