import { age } from "#schema/columns.ts";
import { pathSegment } from "#schema/formats.ts";
import { type Infer, int32, microTime, type Problem, ref, resource, string, struct, time } from "#schema/index.ts";
import { checkEvent } from "./checks/event.ts";
import { firstSeen, lastSeen, targetOf } from "./columns/event.ts";
import { ObjectReference } from "./references.ts";

export const EventSeries = struct(
  "core/v1.EventSeries",
  {
    count: int32(1, "How often it has happened so far."),
    lastObservedTime: microTime(2, "When it last happened."),
  },
  { doc: "The same thing happening again and again." },
);
export interface EventSeries extends Infer<typeof EventSeries> {}

export const EventSource = struct(
  "core/v1.EventSource",
  {
    component: string(1, "Which part of the system saw it."),
    host: string(2, "On which node."),
  },
  { doc: "Who saw it." },
);
export interface EventSource extends Infer<typeof EventSource> {}

export const Event = resource({
  group: "",
  version: "v1",
  kind: "Event",
  plural: "events",
  shortNames: ["ev"],
  scope: "Namespaced",
  nameFormat: pathSegment,
  doc: "Something that happened to an object, told for people and kept for a while only.",
  fields: {
    involvedObject: ref(2, ObjectReference, "What it happened to.").required(),
    reason: string(3, "Why, in one CamelCase word."),
    message: string(4, "What happened, in words."),
    source: ref(5, EventSource, "Who saw it.").default({}),
    firstTimestamp: time(6, "When it first happened."),
    lastTimestamp: time(7, "When it last happened."),
    count: int32(8, "How often it has happened."),
    type: string(9, "Normal or Warning."),
    eventTime: microTime(10, "When it first happened, to the microsecond."),
    series: ref(11, EventSeries, "The same thing happening again and again."),
    action: string(12, "What was done or failed."),
    related: ref(13, ObjectReference, "Another object that has to do with it."),
    reportingComponent: string(14, "The controller that tells it, such as kubernetes.io/kubelet.").always(),
    reportingInstance: string(15, "Which instance of that controller.").always(),
  },
  columns: [
    { name: "Last Seen", doc: "When it last happened.", cell: (event, now): string => age(lastSeen(event), now) },
    { name: "Type", doc: "Normal or Warning.", cell: ({ type }) => type ?? "" },
    { name: "Reason", doc: "Why, in one word.", cell: ({ reason }) => reason ?? "" },
    { name: "Object", doc: "What it happened to.", cell: (event): string => targetOf(event) },
    {
      name: "Subobject",
      wide: true,
      doc: "Which part of it.",
      cell: ({ involvedObject }) => involvedObject.fieldPath ?? "",
    },
    {
      name: "Source",
      wide: true,
      doc: "Who saw it.",
      cell: ({ source, reportingComponent, reportingInstance }) =>
        [source.component || reportingComponent, source.host || reportingInstance]
          .filter((part, i) => i === 0 || part)
          .join(", "),
    },
    { name: "Message", doc: "What happened.", cell: ({ message }) => (message ?? "").trim() },
    {
      name: "First Seen",
      wide: true,
      doc: "When it first happened.",
      cell: (event, now): string => age(firstSeen(event), now),
    },
    {
      name: "Count",
      wide: true,
      doc: "How often it has happened.",
      cell: ({ series, count }) => (series ? (series.count ?? 0) : count || 1),
    },
    { name: "Name", format: "name", wide: true, doc: "Name of the event.", cell: ({ metadata }) => metadata.name },
  ],
  selectableFields: {
    "involvedObject.kind": ({ involvedObject }) => involvedObject.kind ?? "",
    "involvedObject.namespace": ({ involvedObject }) => involvedObject.namespace ?? "",
    "involvedObject.name": ({ involvedObject }) => involvedObject.name ?? "",
    "involvedObject.uid": ({ involvedObject }) => involvedObject.uid ?? "",
    "involvedObject.apiVersion": ({ involvedObject }) => involvedObject.apiVersion ?? "",
    "involvedObject.resourceVersion": ({ involvedObject }) => involvedObject.resourceVersion ?? "",
    "involvedObject.fieldPath": ({ involvedObject }) => involvedObject.fieldPath ?? "",
    reason: ({ reason }) => reason ?? "",
    reportingComponent: ({ reportingComponent }) => reportingComponent,
    source: ({ source, reportingComponent }) => source.component || reportingComponent,
    type: ({ type }) => type ?? "",
  },
  check: (event): Iterable<Problem> => checkEvent(event),
});
export interface Event extends Infer<typeof Event> {}
