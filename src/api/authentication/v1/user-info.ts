import { type Infer, list, map, string, struct } from "#schema/index.ts";

export const UserInfo = struct("authentication/v1.UserInfo", {
  username: string(1, "Name of the user."),
  uid: string(2, "Tells users of the same name apart, over time."),
  groups: list(3, "string", "Groups the user is in."),
  extra: map(4, { listOf: "string" }, "What else the authenticator has to say."),
});
export interface UserInfo extends Infer<typeof UserInfo> {}
