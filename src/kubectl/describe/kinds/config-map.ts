import type { ConfigMap } from "#api/core/v1/config-map.ts";
import { sortedEntries, writeEvents, writeIdentity, writeTags } from "../common.ts";
import { type Describer, searchEvents, subjectOf } from "../describer.ts";

export const describeConfigMap: Describer<ConfigMap> = async (map, context, w) => {
  writeIdentity(w, map.metadata);
  writeTags(w, map.metadata);
  w.write("\nData\n====\n");
  for (const [key, value] of sortedEntries(map.data)) w.write(`${key}:\n----\n${value}\n\n`);
  w.write("\nBinaryData\n====\n");
  for (const [key, value] of sortedEntries(map.binaryData))
    w.line(0, `${key}: ${Buffer.from(value, "base64").length} bytes`);
  w.write("\n");
  if (context.showsEvents) writeEvents(w, await searchEvents(context, subjectOf({ ...map })), context.now);
};
