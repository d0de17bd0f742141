import { soon } from "#base/soon.ts";
import type { User } from "#wire/api-request.ts";
import type { HttpRequest } from "#wire/http.ts";
import type { Stage } from "../pipeline.ts";

/** Who is asking. Throws ApiError 401. */
export const identifyStage = (identify: (request: HttpRequest) => Promise<User> | User): Stage => ({
  name: "identify",
  pass: (call) =>
    call.over &&
    soon(identify(call.over.sent), (user) => {
      call.user = user;
      call.trace?.mark("identify");
      return undefined;
    }),
});
