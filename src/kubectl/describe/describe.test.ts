import assert from "node:assert/strict";
import { test } from "node:test";
import type { Event } from "#api/core/v1/event.ts";
import { timeText, writeAnnotations, writeEvents } from "./common.ts";
import { DescriptionWriter } from "./description-writer.ts";
import { fieldLabel } from "./generic.ts";

test("names of fields become words", () => {
  const labels = [
    "creationTimestamp",
    "apiVersion",
    "uid",
    "podCIDR",
    "podCIDRRange",
    "x-y",
    "a.b",
    "f:status",
    "kind",
  ];
  assert.deepEqual(labels.map(fieldLabel), [
    "Creation Timestamp",
    "API Version",
    "UID",
    "Pod CIDR",
    "Pod CIDRRange",
    "X - Y",
    "a.b",
    "f:status",
    "Kind",
  ]);
});

test("a missing time is Go's zero", () => {
  assert.equal(timeText(undefined), "Mon, 01 Jan 0001 00:00:00 +0000");
  assert.match(timeText("2026-11-17T12:00:00Z"), /^\w{3}, 1[78] Nov 2026 \d\d:\d\d:00 [+-]\d{4}$/);
});

test("long annotations stand below their keys and are cut, and what apply remembers is left out", () => {
  const w = new DescriptionWriter();
  writeAnnotations(w, "Annotations", {
    long: "x".repeat(150),
    short: "a",
    "kubectl.kubernetes.io/last-applied-configuration": "{}",
  });
  assert.equal(w.finish(), `Annotations:  long:\n                ${"x".repeat(138)}...\n              short: a\n`);
});

test("events have columns of their own, the oldest first", () => {
  const w = new DescriptionWriter();
  const now = Date.parse("2026-01-01T01:00:00Z");
  const common = { type: "Normal", source: { component: "kubelet" }, metadata: {}, apiVersion: "v1", kind: "Event" };
  const events = [
    {
      ...common,
      reason: "Pulled",
      message: " done\n",
      involvedObject: { fieldPath: "spec.containers{a}" },
      firstTimestamp: "2026-01-01T00:00:00Z",
      lastTimestamp: "2026-01-01T00:59:00Z",
      count: 3,
    },
    {
      ...common,
      reason: "Scheduled",
      message: "here",
      involvedObject: {},
      source: {},
      reportingComponent: "scheduler",
      eventTime: "2026-01-01T00:50:00.000000Z",
    },
  ] as unknown as readonly Event[];
  writeEvents(w, events, now);
  assert.equal(
    w.finish(),
    `Events:
  Type    Reason     Age                From       Message
  ----    ------     ----               ----       -------
  Normal  Scheduled  10m                scheduler  here
  Normal  Pulled     60s (x3 over 60m)  kubelet    spec.containers{a}: done
`,
  );
});
