import type { Problem } from "#schema/index.ts";
import { type Infer, int32, microTime, ref, resource, string, struct, time } from "#schema/index.ts";
import { Event as CoreEvent, EventSource } from "../../core/v1/event.ts";
import { ObjectReference } from "../../core/v1/references.ts";
import { checkEvent, checkEventUpdate } from "./checks.ts";

export const EventSeries = struct("events/v1.EventSeries", {
  count: int32(1, "How often it has happened.").required(),
  lastObservedTime: microTime(2, "When it last happened.").required(),
});
export interface EventSeries extends Infer<typeof EventSeries> {}

type Json = Readonly<Record<string, unknown>>;
const present = (object: Json): Json =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined));

export const Event = resource({
  group: "events.k8s.io",
  version: "v1",
  kind: "Event",
  plural: "events",
  shortNames: ["ev"],
  scope: "Namespaced",
  doc: "Something that happened to an object.",
  fields: {
    eventTime: microTime(2, "When it first happened.").required(),
    series: ref(3, EventSeries, "Set when it went on happening."),
    reportingController: string(4, "Which controller reports it."),
    reportingInstance: string(5, "Which of the controller's processes reports it."),
    action: string(6, "What was done, in one word."),
    reason: string(7, "Why, in one word."),
    regarding: ref(8, ObjectReference, "What it is about.").default({}),
    related: ref(9, ObjectReference, "Another object that has to do with it."),
    note: string(10, "What happened, in a sentence."),
    type: string(11, "Normal or Warning."),
    deprecatedSource: ref(12, EventSource, "Who reports it, in the older form.").default({}),
    deprecatedFirstTimestamp: time(13, "When it first happened, in the older form."),
    deprecatedLastTimestamp: time(14, "When it last happened, in the older form."),
    deprecatedCount: int32(15, "How often it has happened, in the older form."),
  },
  selectableFields: {
    reason: ({ reason }) => reason ?? "",
    "regarding.kind": ({ regarding }) => regarding.kind ?? "",
    "regarding.namespace": ({ regarding }) => regarding.namespace ?? "",
    "regarding.name": ({ regarding }) => regarding.name ?? "",
    "regarding.uid": ({ regarding }) => regarding.uid ?? "",
    "regarding.apiVersion": ({ regarding }) => regarding.apiVersion ?? "",
    "regarding.resourceVersion": ({ regarding }) => regarding.resourceVersion ?? "",
    "regarding.fieldPath": ({ regarding }) => regarding.fieldPath ?? "",
    reportingController: ({ reportingController }) => reportingController ?? "",
    type: ({ type }) => type ?? "",
  },
  *check(event, old): Iterable<Problem> {
    yield* checkEvent(event, old);
    if (old) yield* checkEventUpdate(event, old);
  },
  // The same objects as those of the core group, so the same table.
  ...(CoreEvent.columns && {
    columns: CoreEvent.columns.map((column) => ({
      ...column,
      cell: (event: Json, now: number): unknown => column.cell(toCore(event) as never, now),
    })),
  }),
  convert: {
    to: () => CoreEvent,
    toStored: (event): Json => toCore(event),
    fromStored: (event): Json => fromCore(event),
  },
});
export interface Event extends Infer<typeof Event> {}

const toCore = ({
  regarding,
  note,
  reportingController,
  deprecatedSource,
  deprecatedFirstTimestamp,
  deprecatedLastTimestamp,
  deprecatedCount,
  ...same
}: Json): Json =>
  present({
    ...same,
    apiVersion: CoreEvent.apiVersion,
    involvedObject: regarding,
    message: note,
    reportingComponent: reportingController,
    source: deprecatedSource,
    firstTimestamp: deprecatedFirstTimestamp,
    lastTimestamp: deprecatedLastTimestamp,
    count: deprecatedCount,
  });

const fromCore = ({
  involvedObject,
  message,
  reportingComponent,
  source,
  firstTimestamp,
  lastTimestamp,
  count,
  ...same
}: Json): Json =>
  present({
    ...same,
    apiVersion: "events.k8s.io/v1",
    regarding: involvedObject,
    note: message,
    // Always written there, never here when empty.
    reportingController: reportingComponent || undefined,
    reportingInstance: same.reportingInstance || undefined,
    deprecatedSource: source,
    deprecatedFirstTimestamp: firstTimestamp,
    deprecatedLastTimestamp: lastTimestamp,
    deprecatedCount: count,
  });
