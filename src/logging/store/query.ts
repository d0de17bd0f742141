// What is searched for, from the parameters of a request. Patterns are those of RE2: nobody can keep the store busy with one.
import { RE2JS } from "re2js";
import type { ApiError } from "#base/errors.ts";
import { labelMatcher, parseSelector, SelectorError } from "#schema/selector.ts";
import { type Instant, parseTime, TimeError } from "#schema/time.ts";
import { badRequest } from "#wire/status.ts";
import type { LogSource } from "../log-line.ts";
import { formatPlace, type Moment, type Place, parseMoment, parsePlace } from "./place.ts";

export interface LineQuery {
  readonly selects: (source: LogSource) => boolean;
  readonly matches: (text: string) => boolean;
  readonly since: Instant | undefined;
  readonly until: Instant | undefined;
  readonly limit: number;
  /**
   * `first`: the oldest lines, then what follows `after`. `last`: the newest ones. `arrival`: what came after the place, as it came, for
   * those who follow.
   */
  readonly order: "first" | "last" | "arrival";
  readonly after: Moment | undefined;
  readonly from: Place | undefined;
  /** Lines that came later are not asked for: pages of one search see the same lines. */
  readonly end: Place | undefined;
}

export const mostLines = 5000;
const usualLines = 1000;
const longestText = 1000;

const names = [
  ...["podSelector", "pod", "container", "node", "since", "until", "grep", "limit", "order", "continue", "from"],
];

/** Throws ApiError 400 that names the parameter. `namespace` is none for all. */
export function parseQuery(parameters: URLSearchParams, namespace: string | undefined): LineQuery {
  for (const [name, text] of parameters) {
    if (!names.includes(name)) throw wrong(name, `there is no such parameter; there are ${names.join(", ")}`);
    if (text.length > longestText) throw wrong(name, `is longer than ${longestText} characters`);
  }
  const text = (name: string): string | undefined => parameters.get(name) || undefined;
  const order = text("order") ?? "first";
  if (order !== "first" && order !== "last" && order !== "arrival")
    throw wrong("order", `${JSON.stringify(order)} is none of first, last, arrival`);
  const { after, end } = continuation(text("continue"));
  return {
    selects: sourceFilter(text, namespace),
    matches: textFilter(text("grep")),
    since: momentOf(text, "since"),
    until: momentOf(text, "until"),
    limit: limitOf(text("limit")),
    order,
    after,
    from: placeOf("from", text("from")),
    end,
  };
}

/** Where the next page begins, and which lines it may have. */
export const formatContinue = (after: string, end: Place): string => `${after}/${formatPlace(end)}`;

function continuation(text: string | undefined): Pick<LineQuery, "after" | "end"> {
  if (text === undefined) return { after: undefined, end: undefined };
  const [after = "", end = ""] = text.split("/");
  const moment = parseMoment(after);
  if (!moment) throw wrong("continue", `${JSON.stringify(text)} was never given out`);
  return { after: moment, end: placeOf("continue", end) };
}

function placeOf(name: string, text: string | undefined): Place | undefined {
  if (text === undefined) return undefined;
  const place = parsePlace(text);
  if (!place) throw wrong(name, `${JSON.stringify(text)} was never given out`);
  return place;
}

type TextOf = (name: string) => string | undefined;

function sourceFilter(text: TextOf, namespace: string | undefined): LineQuery["selects"] {
  const [pod, container, node] = [text("pod"), text("container"), text("node")];
  const matches = selectorOf(text("podSelector"));
  return (source) =>
    (namespace === undefined || source.namespace === namespace) &&
    (pod === undefined || source.pod === pod) &&
    (container === undefined || source.container === container) &&
    (node === undefined || source.node === node) &&
    matches(source.labels);
}

function selectorOf(text = ""): (labels: LogSource["labels"]) => boolean {
  try {
    return labelMatcher(parseSelector(text));
  } catch (error) {
    if (error instanceof SelectorError) throw wrong("podSelector", error.message);
    throw error;
  }
}

/** Plain text, which is most of what people look for, is found without an engine. */
function textFilter(pattern: string | undefined): LineQuery["matches"] {
  if (pattern === undefined) return () => true;
  if (!/[\\^$.*+?()[\]{}|]/.test(pattern)) return (text) => text.includes(pattern);
  try {
    const compiled = RE2JS.compile(pattern);
    return (text) => compiled.test(text);
  } catch (error) {
    throw wrong("grep", error instanceof Error ? error.message : "no regular expression");
  }
}

function momentOf(text: TextOf, name: string): Instant | undefined {
  const given = text(name);
  if (given === undefined) return undefined;
  try {
    return parseTime(given);
  } catch (error) {
    if (error instanceof TimeError)
      throw wrong(name, `${JSON.stringify(given)} is no time such as 2026-01-31T12:00:00Z`);
    throw error;
  }
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return usualLines;
  const limit = /^\d+$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > mostLines)
    throw wrong("limit", `${JSON.stringify(text)} is no number from 1 to ${mostLines}`);
  return limit;
}

const wrong = (name: string, what: string): ApiError => badRequest(`${name}: ${what}`);
