// The hash that is added to names of config maps and secrets, so that what changes gets a new name
// (upstream: kubectl/pkg/util/hash, kustomize/api/hasher).
import { createHash } from "node:crypto";
import { goJson } from "../go/json.ts";

/** Ten letters of which no bad words can be made. */
export const nameHash = (value: unknown): string => {
  const letters: Readonly<Record<string, string>> = { "0": "g", "1": "h", "3": "k", a: "m", e: "t" };
  const hex = createHash("sha256").update(goJson(value)).digest("hex").slice(0, 10);
  return [...hex].map((letter) => letters[letter] ?? letter).join("");
};
