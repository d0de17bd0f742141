import { soon } from "#base/soon.ts";
import type { PipelineOptions, Stage } from "../pipeline.ts";

/** Who is asking. Throws ApiError 401. */
export const identifyStage = (identify: PipelineOptions["identify"]): Stage => ({
  name: "identify",
  pass: (call) =>
    call.over &&
    soon(identify(call.over.sent, call.audit), (user) => {
      call.user = user;
      call.trace?.mark("identify");
      return undefined;
    }),
});
