import { type Infer, int32, microTime, ref, resource, string, struct, time } from "#schema/index.ts";
import { EventSource } from "../../core/v1/event.ts";
import { ObjectReference } from "../../core/v1/references.ts";

export const EventSeries = struct("events/v1.EventSeries", {
  count: int32(1).required(),
  lastObservedTime: microTime(2).required(),
});
export interface EventSeries extends Infer<typeof EventSeries> {}

export const Event = resource({
  group: "events.k8s.io",
  version: "v1",
  kind: "Event",
  plural: "events",
  shortNames: ["ev"],
  scope: "Namespaced",
  doc: "",
  fields: {
    eventTime: microTime(2).required(),
    series: ref(3, EventSeries),
    reportingController: string(4),
    reportingInstance: string(5),
    action: string(6),
    reason: string(7),
    regarding: ref(8, ObjectReference).default({}),
    related: ref(9, ObjectReference),
    note: string(10),
    type: string(11),
    deprecatedSource: ref(12, EventSource).default({}),
    deprecatedFirstTimestamp: time(13),
    deprecatedLastTimestamp: time(14),
    deprecatedCount: int32(15),
  },
});
export interface Event extends Infer<typeof Event> {}
