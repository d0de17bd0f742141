// The answer to "why" for a terminal.
import type { Event } from "#api/core/v1/event.ts";
import { humanDuration } from "#base/duration.ts";
import { printableDeep } from "#base/printable.ts";
import { millisOf } from "#schema/time.ts";
import type { WriteRecord } from "#wire/write-record.ts";
import { type Evidence, namesText, type Part, type Reason, type State, spanTo, times } from "./reasons/reason.ts";
import { actorOf, whatOf } from "./trace-text.ts";
import type { Explanation } from "./why.ts";

export interface Paint {
  strong(text: string): string;
  quiet(text: string): string;
  as(state: State, text: string): string;
}

export const plain: Paint = { strong: (text) => text, quiet: (text) => text, as: (_, text) => text };

const colours: Readonly<Record<State, number>> = { fine: 32, underway: 33, wrong: 31 };
const sgr = (code: number, text: string): string => `\u001b[${code}m${text}\u001b[0m`;
export const coloured: Paint = {
  strong: (text) => sgr(1, text),
  quiet: (text) => sgr(2, text),
  as: (state, text) => sgr(colours[state], text),
};

const mostEvents = 5;

/** Foreign text is made printable before colours are added: afterwards its escape codes could not be told from ours. */
export function answerText(unsafe: Explanation, now: number, paint: Paint = plain): readonly string[] {
  const answer = printableDeep(unsafe);
  const { subject, reason, chain } = answer;
  const place = subject.namespace ? `${subject.namespace}/${subject.name}` : subject.name;
  const section = (title: string, lines: readonly string[]): readonly string[] =>
    lines.length === 0 ? [] : ["", paint.strong(title), ...lines];
  return [
    `${paint.strong(`${subject.kind} ${place}`)} ${paint.as(reason.state, reason.says)}.`,
    ...reasonLines(reason, now, paint, "  "),
    ...section(
      "What can be done:",
      (reason.remedies ?? []).map((line) => `  - ${line}`),
    ),
    ...section(
      "How it came to be:",
      chain.map((write) => `  ${chainLine(write, now)}`),
    ),
    ...section(
      "What else was reported:",
      otherEvents(answer).map((event) => `  ${eventLine(event, now)}`),
    ),
  ];
}

function reasonLines(reason: Reason, now: number, paint: Paint, indent: string): readonly string[] {
  const { since, evidence = [], parts = [] } = reason;
  return [
    // Where it is the sum of others, each of them says since when.
    ...(since === undefined || parts.length > 0
      ? []
      : [`${indent}${paint.quiet(`for ${spanTo(since, now)}, since ${since}`)}`]),
    ...evidence.map((one) => evidenceLine(one, now, paint, indent)),
    ...parts.flatMap((part) => partLines(part, now, paint, indent)),
  ];
}

function evidenceLine({ from, says, at, count }: Evidence, now: number, paint: Paint, indent: string): string {
  const isPast = at !== undefined && millisOf(at) <= now;
  const when = [
    ...(count !== undefined ? [times(count)] : []),
    ...(isPast ? [`${count !== undefined ? "last " : ""}${spanTo(at, now)} ago`] : []),
  ].join(", ");
  const lines = says.trimEnd().split("\n");
  return `${indent}${paint.quiet(`${from}${when ? ` (${when})` : ""}:`)} ${lines.join(`\n${indent}  `)}`;
}

/** The first one stands for all that are alike. */
function partLines({ names, of, reason }: Part, now: number, paint: Paint, indent: string): readonly string[] {
  const [first = "", ...others] = names;
  const alike = others.length > 0 ? ` (${namesText(others)} alike)` : "";
  const head = `${indent}${names.length} of ${of} pods: ${paint.as(reason.state, `${first} ${reason.says}`)}${alike}`;
  return reason.state === "fine" ? [head] : [head, ...reasonLines(reason, now, paint, `${indent}  `)];
}

/** Those that are not evidence already. */
function otherEvents({ reason, events }: Explanation): readonly Event[] {
  const told = evidenceIn(reason).map(({ says }) => says);
  return events.filter(({ message = "" }) => !told.some((says) => says.includes(message))).slice(-mostEvents);
}

const evidenceIn = ({ evidence = [], parts = [] }: Reason): readonly Evidence[] => [
  ...evidence,
  ...parts.flatMap(({ reason }) => evidenceIn(reason)),
];

const chainLine = (write: WriteRecord, now: number): string =>
  `${humanDuration(Math.max(0, now - write.at))} ago  ${actorOf(write.user)}: ${whatOf(write)}`;

const eventLine = ({ type, reason, message, count = 1, lastTimestamp }: Event, now: number): string =>
  `${type} ${reason}${lastTimestamp ? ` (${count > 1 ? `${times(count)}, last ` : ""}${spanTo(lastTimestamp, now)} ago)` : ""}: ${message}`;
