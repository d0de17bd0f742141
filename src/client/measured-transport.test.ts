import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { ManualClock } from "#base/clock.ts";
import { ApiError } from "#base/errors.ts";
import { MetricRegistry } from "#base/metrics.ts";
import type { ApiResponse } from "#wire/api-request.ts";
import { Client } from "./client.ts";
import { measuredTransport } from "./measured-transport.ts";
import { declareClientMetrics } from "./metrics.ts";

const place = { namespace: "default", name: "a" };
const object = { apiVersion: "v1", kind: "ConfigMap", metadata: place };
const silent: ApiResponse = {
  type: "watch",
  kind: ConfigMap,
  events: (async function* () {
    yield [];
  })(),
};

test("requests are counted by how they were answered, and timed unless they are watches", async () => {
  const [clock, metrics] = [new ManualClock(), new MetricRegistry()];
  declareClientMetrics(metrics);
  const answers: (() => ApiResponse)[] = [
    () => ({ type: "plain", code: 201, object }),
    () => {
      throw new ApiError({ code: 409, reason: "Conflict", message: "no" });
    },
    () => {
      throw new Error("the line is dead");
    },
    () => silent,
  ];
  const transport = measuredTransport(
    async () => {
      await clock.advance(3_000);
      return (answers.shift() as () => ApiResponse)();
    },
    { host: "there:6443", clock, metrics },
  );
  const { signal } = new AbortController();
  const client = new Client({ transport, user: { name: "u", groups: [] }, userAgent: "test/1", signal });
  await client.create(ConfigMap, { metadata: place });
  await assert.rejects(client.create(ConfigMap, { metadata: place }), { code: 409 });
  await assert.rejects(client.delete(ConfigMap, place), /dead/);
  await client.watch(ConfigMap);
  const lines = (await metrics.text()).split("\n").filter((line) => /^rest_client.*(_total|_sum)\{/.test(line));
  assert.deepEqual(lines, [
    'rest_client_request_duration_seconds_sum{host="there:6443",verb="DELETE"} 3',
    'rest_client_request_duration_seconds_sum{host="there:6443",verb="POST"} 6',
    'rest_client_requests_total{code="200",host="there:6443",method="GET"} 1',
    'rest_client_requests_total{code="201",host="there:6443",method="POST"} 1',
    'rest_client_requests_total{code="409",host="there:6443",method="POST"} 1',
    'rest_client_requests_total{code="<error>",host="there:6443",method="DELETE"} 1',
  ]);
});
