import { type Infer, list, map, string, struct } from "#schema/index.ts";

export const UserInfo = struct("authentication/v1.UserInfo", {
  username: string(1),
  uid: string(2),
  groups: list(3, "string"),
  extra: map(4, { listOf: "string" }),
});
export interface UserInfo extends Infer<typeof UserInfo> {}
