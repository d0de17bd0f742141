import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import { MetricRegistry } from "#base/metrics.ts";
import { declareClientMetrics } from "./metrics.ts";
import { measuredQueue } from "./queue-metrics.ts";

const { signal } = new AbortController();

test("a queue's metrics say what waits, how long it waited, and how long it is being worked on", async () => {
  const [clock, metrics] = [new ManualClock(), new MetricRegistry()];
  declareClientMetrics(metrics);
  const queue = measuredQueue({ name: "job", clock, metrics });
  const shown = async () => {
    const lines = (await metrics.text()).split("\n").filter((line) => /^workqueue_\w+(?<!_bucket)\{/.test(line));
    return Object.fromEntries(lines.map((line) => line.split('{name="job"} ')));
  };
  for (const key of ["a", "b", "a"]) queue.add(key);
  await clock.advance(2_000);
  await queue.next(signal);
  await clock.advance(3_000);
  queue.add("a");
  await queue.next(signal);
  await clock.advance(500);
  assert.deepEqual(await shown(), {
    workqueue_adds_total: "3",
    workqueue_depth: "1",
    workqueue_longest_running_processor_seconds: "3.5",
    workqueue_queue_duration_seconds_count: "2",
    workqueue_queue_duration_seconds_sum: "7",
    workqueue_unfinished_work_seconds: "4",
  });
  queue.done("a");
  queue.retry("b");
  queue.done("b");
  await queue.next(signal);
  queue.done("a");
  assert.deepEqual(await shown(), {
    workqueue_adds_total: "3",
    workqueue_depth: "0",
    workqueue_longest_running_processor_seconds: "0",
    workqueue_queue_duration_seconds_count: "3",
    workqueue_queue_duration_seconds_sum: "7.5",
    workqueue_retries_total: "1",
    workqueue_unfinished_work_seconds: "0",
    workqueue_work_duration_seconds_count: "3",
    workqueue_work_duration_seconds_sum: "4",
  });
});
