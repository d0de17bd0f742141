import { type Infer, int32, microTime, ref, resource, string, struct, time } from "#schema/index.ts";
import { ObjectReference } from "./references.ts";

export const EventSeries = struct("core/v1.EventSeries", {
  count: int32(1),
  lastObservedTime: microTime(2),
});
export interface EventSeries extends Infer<typeof EventSeries> {}

export const EventSource = struct("core/v1.EventSource", {
  component: string(1),
  host: string(2),
});
export interface EventSource extends Infer<typeof EventSource> {}

export const Event = resource({
  group: "",
  version: "v1",
  kind: "Event",
  plural: "events",
  shortNames: ["ev"],
  scope: "Namespaced",
  doc: "",
  fields: {
    involvedObject: ref(2, ObjectReference).required(),
    reason: string(3),
    message: string(4),
    source: ref(5, EventSource).default({}),
    firstTimestamp: time(6),
    lastTimestamp: time(7),
    count: int32(8),
    type: string(9),
    eventTime: microTime(10),
    series: ref(11, EventSeries),
    action: string(12),
    related: ref(13, ObjectReference),
    reportingComponent: string(14).always(),
    reportingInstance: string(15).always(),
  },
});
export interface Event extends Infer<typeof Event> {}
