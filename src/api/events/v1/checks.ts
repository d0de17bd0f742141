// The rules of events as events.k8s.io has them, with the paths of the stored form: that is where upstream looks.
// Upstream: pkg/apis/core/validation/events.go.
import { equal } from "#base/collections.ts";
import { dns1123Subdomain, qualifiedName } from "#schema/formats.ts";
import { invalid, type Problem, required } from "#schema/index.ts";
import { EventSource } from "../../core/v1/event.ts";
import { ObjectReference } from "../../core/v1/references.ts";
import { internalForm } from "../../internal-form.ts";
import type { Event } from "./event.ts";

const mostOfWord = 128;
const mostOfNote = 1024;

export function* checkEvent(event: Event, old: Event | undefined): Iterable<Problem> {
  yield* checkReport(event);
  if (!old || !equal(event.series, old.series)) yield* checkSeries(event);
  if (old) return;
  // The stored kind, which is checked as well, takes any name that can stand in a path.
  for (const detail of event.metadata.name ? dns1123Subdomain(event.metadata.name) : [])
    yield invalid("metadata.name", detail);
  if (!event.eventTime) yield required("eventTime");
  if (event.type !== "Normal" && event.type !== "Warning")
    yield invalid("type", `has invalid value: ${event.type ?? ""}`, "");
  const older = {
    firstTimestamp: event.deprecatedFirstTimestamp,
    lastTimestamp: event.deprecatedLastTimestamp,
    count: event.deprecatedCount,
    source: event.deprecatedSource.component || event.deprecatedSource.host,
  };
  for (const [field, value] of Object.entries(older)) if (value) yield invalid(field, "needs to be unset", "");
}

function* checkReport(event: Event): Iterable<Problem> {
  const {
    metadata,
    regarding,
    reportingController = "",
    reportingInstance = "",
    action = "",
    reason = "",
    note = "",
  } = event;
  const elsewhere = event.eventTime
    ? !regarding.namespace && metadata.namespace !== "default" && metadata.namespace !== "kube-system"
    : metadata.namespace !== (regarding.namespace || "default");
  if (elsewhere) yield invalid("involvedObject.namespace", "does not match event.namespace", regarding.namespace ?? "");
  if (!event.eventTime) return;
  if (reportingController === "") yield required("reportingController");
  for (const detail of qualifiedName(reportingController))
    yield invalid("reportingController", detail, reportingController);
  for (const [field, word] of Object.entries({ reportingInstance, action, reason })) {
    if (word === "") yield required(field);
    if (word.length > mostOfWord) yield invalid(field, `can have at most ${mostOfWord} characters`, "");
  }
  if (note.length > mostOfNote) yield invalid("message", `can have at most ${mostOfNote} characters`, "");
}

function* checkSeries({ series }: Event): Iterable<Problem> {
  if (!series) return;
  if (series.count < 2) yield invalid("series.count", "should be at least 2", "");
  if (!series.lastObservedTime) yield required("series.lastObservedTime");
}

/** Fields that cannot change, by the names and in the order in which upstream compares them; it compares the reason twice. */
const fixed = (event: Event): readonly (readonly [field: string, value: unknown])[] => [
  ["involvedObject", internalForm(ObjectReference, event.regarding)],
  ["reason", event.reason ?? ""],
  ["message", event.note ?? ""],
  ["source", internalForm(EventSource, event.deprecatedSource)],
  ["firstTimestamp", event.deprecatedFirstTimestamp ?? null],
  ["lastTimestamp", event.deprecatedLastTimestamp ?? null],
  ["count", event.deprecatedCount ?? 0],
  ["reason", event.reason ?? ""],
  ["type", event.type ?? ""],
  ["eventTime", event.eventTime ?? null],
  ["action", event.action ?? ""],
  ["related", event.related ? internalForm(ObjectReference, event.related) : null],
  ["reportingController", event.reportingController ?? ""],
  ["reportingInstance", event.reportingInstance ?? ""],
];

export function* checkEventUpdate(event: Event, old: Event): Iterable<Problem> {
  const before = fixed(old);
  for (const [i, [field, value]] of fixed(event).entries())
    if (!equal(value, before[i]?.[1])) yield invalid(field, "field is immutable", value);
}
