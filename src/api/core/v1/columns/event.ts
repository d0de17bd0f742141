import type { Event } from "../event.ts";

export const firstSeen = ({ firstTimestamp, eventTime }: Event): string | undefined => firstTimestamp || eventTime;

export const lastSeen = (event: Event): string | undefined =>
  event.series ? event.series.lastObservedTime : event.lastTimestamp || firstSeen(event);

/** `pod/web`. */
export function targetOf({ involvedObject: { kind = "", name } }: Event): string {
  return name ? `${kind.toLowerCase()}/${name}` : kind.toLowerCase();
}
