import { type Directive, isInZone, zonesIn } from "../corefile.ts";

/** Whether a name that a plugin does not have is left to the next one. */
export type Fallthrough = (name: string) => boolean;

/** `fallthrough` alone is for all names; with zones it is for those. */
export function fallthroughOf({ args, line }: Directive): Fallthrough {
  const zones = args.length === 0 ? ["."] : args.flatMap((text) => zonesIn(text, line));
  return (name) => zones.some((zone) => isInZone(name, zone));
}
