import assert from "node:assert/strict";
import { test } from "node:test";
import { Event } from "#api/core/v1/event.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { ApiError } from "#base/errors.ts";
import { silentLog } from "#base/log.ts";
import { type AnyKind, resource } from "#schema/kind.ts";
import { ConnectionLost } from "./connection-lost.ts";
import { EventRecorder, type Report } from "./events.ts";
import { type ClientWorld, world } from "./testing.ts";

async function recording(
  w: ClientWorld,
  work: (recorder: EventRecorder) => Promise<void>,
  kinds: readonly AnyKind[] = [],
): Promise<readonly Event[]> {
  const recorder = new EventRecorder({ client: w.client, clock: w.clock, random: w.random, log: silentLog, kinds });
  const stop = new AbortController();
  const running = recorder.run(stop.signal);
  await work(recorder);
  for (let i = 0; i < 100; i++) await w.clock.advance(0);
  stop.abort(new Error("over"));
  await assert.rejects(running, /over/);
  return w.list(Event);
}
const report = (message: string, more: Partial<Report> = {}): Report => ({
  type: "Normal",
  reason: "Started",
  message,
  component: "kubelet",
  host: "n1",
  ...more,
});

test("an event says what happened to what, when, and who saw it", async () => {
  const w = world({ now: "2026-01-01T00:00:00Z" });
  const pod = w.have(Pod, { metadata: { name: "web", namespace: "shop" } });
  const [event] = await recording(w, async (recorder) =>
    recorder.record(pod, report("Started container c", { fieldPath: "spec.containers{c}" })),
  );
  assert.match(event?.metadata.name ?? "", /^web\.[0-9a-f]{16}$/);
  assert.deepEqual(
    { ...event, metadata: event?.metadata.namespace },
    {
      apiVersion: "v1",
      kind: "Event",
      metadata: "shop",
      involvedObject: {
        apiVersion: "v1",
        kind: "Pod",
        namespace: "shop",
        name: "web",
        uid: pod.metadata.uid,
        resourceVersion: pod.metadata.resourceVersion,
        fieldPath: "spec.containers{c}",
      },
      type: "Normal",
      reason: "Started",
      message: "Started container c",
      source: { component: "kubelet", host: "n1" },
      reportingComponent: "kubelet",
      reportingInstance: "n1",
      firstTimestamp: "2026-01-01T00:00:00Z",
      lastTimestamp: "2026-01-01T00:00:00Z",
      count: 1,
    },
  );
});

test("what lives in no namespace is reported in the default one", async () => {
  const w = world();
  const node = w.have(Node, { metadata: { name: "n1" } });
  const [event] = await recording(w, async (recorder) => recorder.record(node, report("x")));
  assert.equal(event?.metadata.namespace, "default");
});

test("the same event again raises the count of the first", async () => {
  const w = world();
  const pod = w.have(Pod, { metadata: { name: "web" } });
  const events = await recording(w, async (recorder) => {
    for (let i = 0; i < 3; i++) {
      recorder.record(pod, report("again"));
      await w.clock.advance(10_000);
    }
  });
  assert.deepEqual(
    events.map(({ count, firstTimestamp, lastTimestamp }) => [count, firstTimestamp, lastTimestamp]),
    [[3, "2026-01-01T00:00:00Z", "2026-01-01T00:00:20Z"]],
  );
  assert.deepEqual(
    w.writes().map((line) => line.split(" ")[0]),
    ["create", "patch", "patch"],
  );
});

test("ten that differ only in their words become one that says so", async () => {
  const w = world();
  const pod = w.have(Pod, { metadata: { name: "web" } });
  const events = await recording(w, async (recorder) => {
    for (let i = 0; i < 12; i++) recorder.record(pod, report(`failure ${i}`));
  });
  assert.deepEqual(
    events.map(({ message, count }) => [message, count]),
    [...Array.from({ length: 9 }, (_, i) => [`failure ${i}`, 1]), ["(combined from similar events): failure 11", 3]],
  );
  const later = world();
  const other = later.have(Pod, { metadata: { name: "web" } });
  const apart = await recording(later, async (recorder) => {
    for (let i = 0; i < 12; i++) {
      recorder.record(other, report(`failure ${i}`));
      await later.clock.advance(601_000);
    }
  });
  assert.equal(apart.length, 12);
});

test("about one object a component may report 25, and one more every five minutes", async () => {
  const w = world();
  const pod = w.have(Pod, { metadata: { name: "web" } });
  const count = (events: readonly Event[]) => events.reduce((sum, event) => sum + (event.count ?? 0), 0);
  const events = await recording(w, async (recorder) => {
    for (let i = 0; i < 60; i++) recorder.record(pod, report("flood", { reason: `R${i}` }));
    await w.clock.advance(300_000);
    for (let i = 0; i < 60; i++) recorder.record(pod, report("flood", { reason: `S${i}` }));
  });
  assert.equal(count(events), 26);
});

test("a lost connection is waited out, a refusal is not, and an expired event begins again", async () => {
  const w = world();
  const pod = w.have(Pod, { metadata: { name: "web" } });
  const failures: (Error | undefined)[] = [new ConnectionLost("x"), new ConnectionLost("x")];
  w.fail(() => failures.shift());
  const events = await recording(w, async (recorder) => {
    recorder.record(pod, report("kept"));
    for (let i = 0; i < 5; i++) await w.clock.advance(5000);
    failures.push(new ApiError({ code: 403, reason: "Forbidden", message: "no" }));
    recorder.record(pod, report("dropped"));
    await w.clock.advance(60_000);
    for (const { metadata } of w.list(Event)) w.lose(Event, metadata);
    recorder.record(pod, report("kept"));
  });
  assert.deepEqual(
    events.map(({ message, count }) => [message, count]),
    [["kept", 2]],
  );
});

test("an event is caused by what it is about, also if that is of a kind that is not built in", async () => {
  const Widget = resource({
    group: "example.com",
    version: "v1",
    kind: "Widget",
    plural: "widgets",
    scope: "Namespaced",
    doc: "A thing.",
    fields: {},
  });
  const about = { apiVersion: "example.com/v1", kind: "Widget", namespace: "shop", name: "w", resourceVersion: "7" };
  const causes: (string | undefined)[] = [];
  for (const kinds of [[Widget], []]) {
    const w = world();
    w.fail(({ because }) => {
      causes.push(because);
      return undefined;
    });
    await recording(w, async (recorder) => recorder.record(about, report("Turned")), kinds);
  }
  assert.deepEqual(causes, ["widgets.example.com/shop/w@7", undefined]);
});
