import type { ServiceAccount } from "#api/core/v1/service-account.ts";
import { writeEvents, writeIdentity, writeTags } from "../common.ts";
import { type Describer, eventsOf, subjectOf } from "../describer.ts";

export const describeServiceAccount: Describer<ServiceAccount> = async (account, context, w) => {
  const events = await eventsOf(context, subjectOf({ ...account }));
  writeIdentity(w, account.metadata);
  writeTags(w, account.metadata);
  const title = "Image pull secrets:";
  const names = (account.imagePullSecrets ?? []).map(({ name = "" }) => name);
  w.line(0, title, names[0] ?? "<none>");
  for (const name of names.slice(1)) w.line(0, " ".repeat(title.length), name);
  writeEvents(w, events, context.now);
};
