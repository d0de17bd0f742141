// How objects are deleted, for the commands that may delete what they replace.
import { KubectlError } from "../errors.ts";
import type { FlagDeclarations } from "../flags.ts";
import type { KubeObject } from "../rest/client.ts";
import type { Session } from "../session.ts";

export const cascadeFlags = {
  cascade: {
    type: "string",
    default: "background",
    withoutValue: "background",
    help: "What becomes of what the objects own: background, orphan or foreground.",
  },
  force: { type: "bool", help: "Remove the objects from the API at once, and do not wait for what they stand for." },
  "grace-period": { type: "int", default: -1, help: "Seconds that objects have to end; their own if negative." },
  timeout: { type: "duration", help: "How long to wait for the end; 0 is as long as the objects have." },
} as const satisfies FlagDeclarations;

/** Throws KubectlError. */
export function propagationOf(session: Session, cascade: string): string {
  switch (cascade) {
    case "background":
      return "Background";
    case "foreground":
      return "Foreground";
    case "orphan":
      return "Orphan";
    case "true":
    case "false":
      session.warn(
        `--cascade=${cascade} is deprecated (boolean value) and can be replaced with --cascade=${cascade === "true" ? "background" : "orphan"}.`,
      );
      return cascade === "true" ? "Background" : "Orphan";
    default:
      throw new KubectlError(`invalid cascade value (${cascade}). Must be "background", "foreground", or "orphan"`);
  }
}

/** The options of a deletion, as a server takes them. */
export const deletionOptions = (graceSeconds: number, propagationPolicy: string): KubeObject => ({
  ...(graceSeconds >= 0 && { gracePeriodSeconds: graceSeconds }),
  propagationPolicy,
});
