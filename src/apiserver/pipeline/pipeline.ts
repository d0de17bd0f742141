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

export async function passAll(stages: readonly Stage[], call: Call): Promise<CallAnswer> {
  for (const stage of stages) {
    call.stage = stage.name;
    const step = stage.pass(call);
    const answer = step instanceof Promise ? await step : step;
    if (answer) return answer;
  }
  throw new Error(`no stage has answered the request`);
}
