import { type Infer, rawExtension, string, struct } from "#schema/index.ts";

export const WatchEvent = struct("meta/v1.WatchEvent", {
  type: string(1).required(),
  object: rawExtension(2).required(),
});
export interface WatchEvent extends Infer<typeof WatchEvent> {}
