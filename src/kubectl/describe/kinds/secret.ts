import type { Secret } from "#api/core/v1/secret.ts";
import { tokenSecretType } from "#rules/legacy-tokens.ts";
import { sortedEntries, writeIdentity, writeTags } from "../common.ts";
import type { Describer } from "../describer.ts";

/** Only how long values are is told, but tokens of service accounts are shown, as upstream has it. */
export const describeSecret: Describer<Secret> = async ({ metadata, type = "", data }, _context, w) => {
  writeIdentity(w, metadata);
  writeTags(w, metadata);
  w.write(`\nType:\t${type}\n\nData\n====\n`);
  for (const [key, value] of sortedEntries(data)) {
    const bytes = Buffer.from(value, "base64");
    const isToken = key === "token" && type === tokenSecretType;
    w.line(0, `${key}:`, isToken ? bytes.toString("utf8") : `${bytes.length} bytes`);
  }
};
