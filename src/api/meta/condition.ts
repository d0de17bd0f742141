import { type Infer, int64, string, struct, time } from "#schema/index.ts";

export const Condition = struct("meta/v1.Condition", {
  type: string(1).required(),
  status: string(2).required(),
  observedGeneration: int64(3),
  lastTransitionTime: time(4).required(),
  reason: string(5).required(),
  message: string(6).required(),
});
export interface Condition extends Infer<typeof Condition> {}
