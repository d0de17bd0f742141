// Why something is as it is: one sentence, who says so, and what a person can do about it. All rules about kinds are functions from
// objects to this; they read no clock and ask no server, so that a console or another tool can use them as they are.
import { lastSeen } from "#api/core/v1/columns/event.ts";
import type { Event } from "#api/core/v1/event.ts";
import { humanDuration } from "#base/duration.ts";
import { millisOf } from "#schema/time.ts";

/** `underway`: not where it should be, but nothing is in its way. */
export type State = "fine" | "underway" | "wrong";

export interface Reason {
  /** One CamelCase word for programs. It stays when the sentences are improved. */
  readonly code: string;
  readonly state: State;
  /** A sentence that goes on from "Pod default/web", without its full stop. */
  readonly says: string;
  /** Since when, as the API writes times. */
  readonly since?: string;
  readonly evidence?: readonly Evidence[];
  /** What a person can do about it, the likeliest first. */
  readonly remedies?: readonly string[];
  /** Where it is the sum of others: pods of one reason together, worst first. */
  readonly parts?: readonly Part[];
  /** Objects with the same code and this in common have the same reason. */
  readonly alike?: string;
}

export interface Evidence {
  /** Who says it: `condition PodScheduled`, `event FailedMount`, `container web`, `log of web`. */
  readonly from: string;
  readonly says: string;
  /** When it was said, or said last. */
  readonly at?: string;
  /** How often, if more than once. */
  readonly count?: number;
}

export interface Part {
  /** Names of the objects. */
  readonly names: readonly string[];
  /** Out of how many. */
  readonly of: number;
  /** That of the first of them. */
  readonly reason: Reason;
}

/** As conditions of all kinds have it. */
export interface ConditionWords {
  readonly type?: string | undefined;
  readonly status?: string | undefined;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  readonly lastTransitionTime?: string | undefined;
}

export function conditionEvidence(condition: ConditionWords | undefined): readonly Evidence[] {
  if (!condition) return [];
  const { type, status, reason, message, lastTransitionTime } = condition;
  const says = [reason, message].filter(Boolean).join(": ") || `${status}`;
  return [{ from: `condition ${type}`, says, ...dated(lastTransitionTime) }];
}

export function eventEvidence(event: Event | undefined): readonly Evidence[] {
  if (!event) return [];
  const count = timesSeen(event);
  return [
    {
      from: `event ${event.reason}`,
      says: event.message ?? "",
      ...dated(lastSeen(event)),
      ...(count > 1 && { count }),
    },
  ];
}

export const containerEvidence = (name: string, says: string | undefined, at?: string): readonly Evidence[] =>
  says ? [{ from: `container ${name}`, says, ...dated(at) }] : [];

const dated = (at: string | undefined): { readonly at?: string } => (at === undefined ? {} : { at });

/** For a reason: only what is known. */
export const sinceOf = (since: string | undefined): { readonly since?: string } =>
  since === undefined ? {} : { since };

export const timesSeen = ({ series, count }: Event): number => series?.count ?? count ?? 1;

/** The last event of one of these reasons, of those that a test lets through. */
export const lastEvent = (
  events: readonly Event[],
  reasons: readonly string[],
  matches: (event: Event) => boolean = () => true,
): Event | undefined => events.findLast((event) => reasons.includes(event.reason ?? "") && matches(event));

/** `5m` for how long ago, or how long until. */
export const spanTo = (time: string, now: number): string => humanDuration(Math.abs(now - millisOf(time)));

export const times = (count: number): string => (count === 1 ? "once" : `${count} times`);
export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;
const shown = 5;
/** Names in a sentence: all of a few, and how many more there are. */
export const namesText = (names: readonly string[]): string =>
  names.length <= shown + 1 ? names.join(", ") : `${names.slice(0, shown).join(", ")} and ${names.length - shown} more`;

const order: readonly State[] = ["fine", "underway", "wrong"];
const isWorse = (a: State, b: State): boolean => order.indexOf(a) > order.indexOf(b);
export const worst = (states: readonly State[]): State =>
  states.reduce<State>((found, one) => (isWorse(one, found) ? one : found), "fine");

/** The objects of one reason together, the worst first, among equals the most. */
export function partsOf(
  reasons: readonly { readonly name: string; readonly reason: Reason }[],
  of = reasons.length,
): readonly Part[] {
  const alike = Map.groupBy(reasons, ({ reason }) => `${reason.state} ${reason.code} ${reason.alike ?? ""}`);
  return [...alike.values()]
    .flatMap((all) => {
      const [first] = all;
      return first ? [{ names: all.map(({ name }) => name), of, reason: first.reason }] : [];
    })
    .sort((a, b) => order.indexOf(b.reason.state) - order.indexOf(a.reason.state) || b.names.length - a.names.length);
}
