// Parts that descriptions of many kinds have in common.

import type { Toleration } from "#api/core/v1/affinity.ts";
import type { Event } from "#api/core/v1/event.ts";
import { humanDuration } from "#base/duration.ts";
import { controllerOf } from "#rules/owners.ts";
import { formatRequirements, requirementsOf, type SelectorStruct } from "#schema/selector.ts";
import { byteLength, bytesOf, compareText, textOf } from "../go/value.ts";
import type { DescriptionWriter } from "./description-writer.ts";

type Texts = Readonly<Record<string, string>>;

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";
const longestAnnotation = 140;

export const sortedEntries = <T>(map: Readonly<Record<string, T>> = {}): readonly (readonly [string, T])[] =>
  Object.entries(map).sort(([a], [b]) => compareText(a, b));

export function writeLabels(w: DescriptionWriter, title: string, labels: Texts | undefined): void {
  w.list(
    title,
    sortedEntries(labels).map((entry) => entry.join("=")),
  );
}

/** `a=b,c=d`, or `<none>`. */
export const labelText = (labels: Texts | undefined): string =>
  sortedEntries(labels)
    .map((entry) => entry.join("="))
    .join(",") || "<none>";

export const selectorText = (selector: SelectorStruct | undefined): string =>
  selector === undefined ? "" : formatRequirements(requirementsOf(selector));

/** Long values stand below their keys, and are cut. What apply remembers is left out. */
export function writeAnnotations(w: DescriptionWriter, title: string, annotations: Texts | undefined): void {
  const lines = sortedEntries(annotations)
    .filter(([key]) => key !== lastApplied)
    .flatMap(([key, whole]) => {
      const value = whole.replace(/\n$/, "");
      if (byteLength(value) + byteLength(key) + 2 <= longestAnnotation && !value.includes("\n"))
        return [`${key}: ${value}`];
      return [`${key}:`, ...value.split("\n").map((line) => `  ${shortened(line, longestAnnotation - 2)}`)];
    });
  w.list(title, lines);
}

export const shortened = (text: string, most: number): string =>
  byteLength(text) > most ? `${textOf(bytesOf(text).subarray(0, most))}...` : text;

/** `Name`, `Namespace`, and unless said otherwise labels and annotations. */
export function writeIdentity(
  w: DescriptionWriter,
  { name = "", namespace }: { readonly name?: string | undefined; readonly namespace?: string | undefined },
): void {
  w.line(0, "Name:", name);
  w.line(0, "Namespace:", namespace ?? "");
}

export function writeTags(
  w: DescriptionWriter,
  { labels, annotations }: { readonly labels?: Texts | undefined; readonly annotations?: Texts | undefined },
): void {
  writeLabels(w, "Labels", labels);
  writeAnnotations(w, "Annotations", annotations);
}

export function writeController(w: DescriptionWriter, object: unknown): void {
  const owner = controllerOf(object);
  if (owner) w.line(0, "Controlled By:", `${owner.kind}/${owner.name}`);
}

interface ShortCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string | undefined;
}

/** Conditions of workloads: type, status and reason. */
export function writeConditions(w: DescriptionWriter, conditions: readonly ShortCondition[] = []): void {
  if (conditions.length === 0) return;
  w.line(0, "Conditions:");
  w.line(1, "Type", "Status", "Reason");
  w.line(1, "----", "------", "------");
  for (const { type, status, reason = "" } of conditions) w.line(1, `${type} `, status, reason);
}

export function writeTolerations(w: DescriptionWriter, title: string, tolerations: readonly Toleration[] = []): void {
  const sorted = tolerations.toSorted((a, b) => compareText(a.key ?? "", b.key ?? ""));
  w.list(title, sorted.map(tolerationText));
}

function tolerationText({ key = "", value = "", effect, operator, tolerationSeconds }: Toleration): string {
  const shown = `${key}${value === "" ? "" : `=${value}`}${effect ? `:${effect}` : ""}`;
  const exists = operator === "Exists" && value === "" ? `${shown === "" ? "" : " "}op=Exists` : "";
  return `${shown}${exists}${tolerationSeconds === undefined ? "" : ` for ${tolerationSeconds}s`}`;
}

const days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** In local time, as mail has it: `Mon, 02 Jan 2006 15:04:05 -0700`. A time that is missing is Go's zero. */
export function timeText(time: string | undefined): string {
  if (!time) return "Mon, 01 Jan 0001 00:00:00 +0000";
  const date = new Date(time);
  const two = (value: number) => String(value).padStart(2, "0");
  const offset = -date.getTimezoneOffset();
  const zone = `${offset < 0 ? "-" : "+"}${two(Math.floor(Math.abs(offset) / 60))}${two(Math.abs(offset) % 60)}`;
  const clock = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":");
  return `${days[date.getDay()]}, ${two(date.getDate())} ${months[date.getMonth()]} ${date.getFullYear()} ${clock} ${zone}`;
}

/** How long ago it was. */
export const ageText = (time: string | undefined, now: number): string =>
  time ? humanDuration(now - Date.parse(time)) : "<unknown>";

export function writeEvents(w: DescriptionWriter, events: readonly Event[] | undefined, now: number): void {
  if (events === undefined) return;
  if (events.length === 0) {
    w.line(0, "Events:", "<none>");
    return;
  }
  w.flush();
  w.line(0, "Events:");
  w.line(1, "Type", "Reason", "Age", "From", "Message");
  w.line(1, "----", "------", "----", "----", "-------");
  const time = ({ lastTimestamp }: Event) => (lastTimestamp ? Date.parse(lastTimestamp) : 0);
  for (const event of events.toSorted((a, b) => time(a) - time(b))) {
    const { type = "", reason = "", source, reportingComponent = "", message = "", involvedObject } = event;
    const { fieldPath = "" } = involvedObject;
    w.line(
      1,
      type,
      reason,
      intervalText(event, now),
      source?.component || reportingComponent,
      `${fieldPath === "" ? "" : `${fieldPath}: `}${message.trim()}`,
    );
  }
}

function intervalText({ eventTime, firstTimestamp, lastTimestamp, series, count = 0 }: Event, now: number): string {
  const first = ageText(eventTime || firstTimestamp, now);
  if (series) return `${ageText(series.lastObservedTime, now)} (x${series.count ?? 0} over ${first})`;
  return count > 1 ? `${ageText(lastTimestamp, now)} (x${count} over ${first})` : first;
}
