import { type Infer, rawExtension, string, struct } from "#schema/index.ts";

export const WatchEvent = struct(
  "meta/v1.WatchEvent",
  {
    type: string(1, "ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.").required(),
    object: rawExtension(2, "The object after the change, or before its deletion; of an error, a Status.").required(),
  },
  { doc: "A change to an object." },
);
export interface WatchEvent extends Infer<typeof WatchEvent> {}
