import assert from "node:assert/strict";
import { test } from "node:test";
import { Event as CoreEvent } from "../../core/v1/event.ts";
import { changed, defaulted, ruleTests, updateTests } from "../../testing/rules.ts";
import { Event } from "./event.ts";

const event = {
  metadata: { name: "web.1", namespace: "default" },
  eventTime: "2026-01-01T00:00:00.000000Z",
  reportingController: "example.com/controller",
  reportingInstance: "controller-1",
  action: "Scaling",
  reason: "TooSmall",
  type: "Normal",
  note: "made it larger",
  regarding: { kind: "Deployment", name: "web", namespace: "default" },
};

ruleTests(Event, event, {
  "no time": [
    { eventTime: undefined, "regarding.namespace": "other" },
    'involvedObject.namespace: Invalid value: "other": does not match event.namespace',
    "eventTime: Required value",
  ],
  "nobody who reports": [{ reportingInstance: "" }, "reportingInstance: Required value"],
  "a long reason": [{ reason: "x".repeat(129) }, 'reason: Invalid value: "": can have at most 128 characters'],
  "an unknown type": [{ type: "Loud" }, 'type: Invalid value: "": has invalid value: Loud'],
  "a count of the older form": [{ deprecatedCount: 2 }, 'count: Invalid value: "": needs to be unset'],
  "a series of one": [
    { series: { count: 1, lastObservedTime: "2026-01-01T00:00:00.000000Z" } },
    'series.count: Invalid value: "": should be at least 2',
  ],
});
updateTests(Event, event, {
  "another note": [{ note: "made it smaller" }, 'message: Invalid value: "made it smaller": field is immutable'],
  "a series that begins": [{ series: { count: 2, lastObservedTime: "2026-01-01T00:00:01.000000Z" } }],
});

test("an event is the same object in both groups", () => {
  const old = {
    ...event,
    deprecatedCount: 3,
    deprecatedFirstTimestamp: "2026-01-01T00:00:00Z",
    deprecatedSource: { component: "x" },
  };
  for (const one of [event, old, changed(event, { reportingController: undefined, reportingInstance: undefined })]) {
    const given = defaulted(Event, one);
    const stored = defaulted(CoreEvent, Event.convert!.toStored(given as never));
    assert.equal(stored.apiVersion, "v1");
    assert.deepEqual(stored.involvedObject, event.regarding);
    assert.equal(stored.message, event.note);
    assert.deepEqual(defaulted(Event, Event.convert!.fromStored(stored)), given);
  }
});
