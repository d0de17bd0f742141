// What the API server counts: readable by the strictest of scrapers, and under upstream's names with upstream's types, labels and buckets.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { admissionOf } from "#apiserver/admission/configuration.ts";
import { type TestServer, testServer, testUser } from "#apiserver/testing.ts";
import { ManualClock } from "#base/clock.ts";
import { declareProcessMetrics } from "#base/host/process-metrics.ts";
import { MetricRegistry } from "#base/metrics.ts";
import { Client } from "#client/client.ts";
import { measuredTransport } from "#client/measured-transport.ts";
import { declareClientMetrics } from "#client/metrics.ts";
import { measuredQueue } from "#client/queue-metrics.ts";
import { facts, missing } from "./facts.ts";
import { type ParsedFamily, parsePrometheus } from "./prometheus.ts";

interface MetricFacts {
  readonly name: string;
  readonly type: string;
  readonly stability: string;
  readonly labels: readonly string[];
  readonly buckets?: readonly (number | string)[];
  readonly constLabels?: Readonly<Record<string, string>>;
}

/** Upstream has two sorts of histograms, which look the same to who reads them. */
const typeOf = ({ type }: MetricFacts): string => (type === "TimingRatioHistogram" ? "histogram" : type.toLowerCase());

/** A server that has done a little of everything. */
async function busyServer(): Promise<TestServer> {
  const metrics = new MetricRegistry();
  declareProcessMetrics(metrics);
  declareClientMetrics(metrics);
  metrics.set("leader_election_master_status", { name: "kube-controller-manager" }, 1);
  const { signal } = new AbortController();
  const queue = measuredQueue({ name: "replicaset", clock: new ManualClock(), metrics });
  for (const key of ["a/b", "a/c", "a/d"]) queue.add(key);
  queue.done(await queue.next(signal));
  queue.retry("a/b");
  const server = await testServer({
    metrics,
    admission: admissionOf({}),
  });
  const call = (method: string, path: string, body?: unknown) => server.call(method, path, body);
  await call("POST", "/api/v1/namespaces", { metadata: { name: "a" } });
  await call("POST", "/api/v1/namespaces/a/configmaps", { metadata: { name: 'odd"name' } });
  await call("POST", "/api/v1/namespaces/a/configmaps", { metadata: { name: "c" } });
  await call("POST", "/api/v1/namespaces/a/configmaps?dryRun=All", { metadata: { name: "d" } });
  await call("GET", "/api/v1/namespaces/a/configmaps/c");
  await call("GET", "/api/v1/configmaps");
  await call("GET", "/api/v1/namespaces/a/nothings/x");
  await call("GET", "/api/v1/nodes/none/proxy/");
  await call("DELETE", "/api/v1/namespaces/a/configmaps/c");
  await call("GET", "/readyz");
  await call("GET", "/api/v1/componentstatuses");
  const measure = { host: "in-process", clock: server.clock, metrics };
  const transport = measuredTransport(server.server.request, measure);
  await new Client({ transport, user: testUser, userAgent: "test/1", signal }).list(ConfigMap);
  metrics.observe("etcd_lease_object_counts", {}, 3);
  metrics.observe("rest_client_request_size_bytes", { verb: "GET", host: "there" }, 100);
  metrics.observe("rest_client_response_size_bytes", { verb: "GET", host: "there" }, 100);
  return server;
}

const scrape = async (server: TestServer, path: string): Promise<readonly ParsedFamily[]> => {
  const { code, text, headers } = await server.call("GET", path);
  assert.equal(code, 200);
  assert.equal(headers?.["content-type"], "text/plain; version=0.0.4; charset=utf-8");
  return parsePrometheus(text);
};

test("metrics can be read strictly, and say what happened", async () => {
  await using server = await busyServer();
  const families = await scrape(server, "/metrics");
  const value = (name: string, labels: Readonly<Record<string, string>>): number | undefined =>
    families
      .flatMap(({ samples }) => samples)
      .find((one) => one.name === name && Object.entries(labels).every(([key, text]) => one.labels[key] === text))
      ?.value;
  const ofConfigMaps = { resource: "configmaps", version: "v1", group: "", component: "apiserver" };
  assert.equal(value("apiserver_request_total", { ...ofConfigMaps, verb: "POST", code: "201", dry_run: "" }), 1);
  assert.equal(value("apiserver_request_total", { ...ofConfigMaps, verb: "POST", code: "201", dry_run: "All" }), 1);
  assert.equal(value("apiserver_request_total", { ...ofConfigMaps, verb: "POST", code: "422", scope: "resource" }), 1);
  assert.equal(
    value("apiserver_request_total", { ...ofConfigMaps, verb: "LIST", code: "200", scope: "cluster" }),
    2,
    "one over HTTP, one of a part of the process",
  );
  assert.equal(value("apiserver_request_total", { ...ofConfigMaps, verb: "GET", code: "200", scope: "resource" }), 1);
  assert.equal(value("apiserver_request_total", { verb: "CONNECT", resource: "nodes", subresource: "proxy" }), 1);
  assert.equal(value("apiserver_request_total", { subresource: "/readyz" }), 1);
  assert.equal(value("apiserver_request_total", { resource: "nothings" }), undefined, "made-up names are not kept");
  assert.equal(value("apiserver_request_duration_seconds_count", { ...ofConfigMaps, verb: "LIST" }), 2);
  assert.equal(value("apiserver_response_sizes_count", { ...ofConfigMaps, verb: "LIST" }), 1);
  assert.equal(value("apiserver_current_inflight_requests", { request_kind: "mutating" }), 0);
  assert.equal(value("apiserver_current_inflight_requests", { request_kind: "readOnly" }), 1, "the scrape itself");
  assert.equal(value("apiserver_storage_objects", { resource: "namespaces" }), 1);
  assert.equal(value("apiserver_storage_objects", { resource: "deployments.apps" }), 0);
  const inStore = { resource: "configmaps", group: "" };
  assert.equal(value("etcd_requests_total", { ...inStore, operation: "create" }), 1);
  assert.equal(value("etcd_requests_total", { ...inStore, operation: "delete" }), 1);
  assert.equal(value("etcd_request_duration_seconds_count", { ...inStore, operation: "create" }), 1);
  assert.equal(value("apiserver_storage_events_received_total", inStore), 2);
  assert.equal(value("rest_client_requests_total", { code: "200", method: "GET", host: "in-process" }), 1);
  assert.ok((value("etcd_bookmark_total", inStore) ?? 0) > 0, "the store tells when there is nothing more to read");
  assert.equal(value("apiserver_requested_deprecated_apis", { resource: "componentstatuses" }), 1);
  assert.equal(value("apiserver_requested_deprecated_apis", { resource: "configmaps" }), undefined);
  const ofStep = { operation: "CREATE", type: "admit", rejected: "false" };
  assert.ok((value("apiserver_admission_step_admission_duration_seconds_count", ofStep) ?? 0) > 0);
  const ofPlugin = { ...ofStep, name: "NamespaceLifecycle" };
  assert.ok((value("apiserver_admission_controller_admission_duration_seconds_count", ofPlugin) ?? 0) > 0);
  assert.equal(value("kubernetes_build_info", { git_version: "v1.36.4" }), 1);
  assert.equal(value("workqueue_depth", { name: "replicaset" }), 2);
  assert.ok((value("process_resident_memory_bytes", {}) ?? 0) > 1e6);
});

test("a watch is counted while it lasts, and when it has ended", async () => {
  await using server = await testServer();
  const stop = new AbortController();
  const events = await server.watch("/api/v1/namespaces?watch=1", stop.signal);
  const ofWatch = async (name: string) =>
    (await scrape(server, "/metrics"))
      .find((one) => one.name === name)
      ?.samples.find(({ labels }) => labels.verb === "WATCH")?.value;
  assert.equal(await ofWatch("apiserver_longrunning_requests"), 1);
  assert.equal(await ofWatch("apiserver_request_total"), 0);
  stop.abort(new Error("enough"));
  await events.return?.();
  assert.equal(await ofWatch("apiserver_longrunning_requests"), 0);
  assert.equal(await ofWatch("apiserver_request_total"), 1);
});

test("health checks are counted apart", async () => {
  await using server = await busyServer();
  const families = await scrape(server, "/metrics/slis");
  const [last, total] = families;
  assert.deepEqual(
    families.map(({ name }) => name),
    ["kubernetes_healthcheck", "kubernetes_healthchecks_total"],
  );
  assert.equal(last?.samples.find(({ labels }) => labels.name === "etcd" && labels.type === "readyz")?.value, 1);
  assert.equal(total?.samples.find(({ labels }) => labels.name === "etcd" && labels.status === "success")?.value, 1);
});

test("metrics are as upstream has them", { skip: missing }, async () => {
  const { stableAndBeta, other } = facts<Record<"stableAndBeta" | "other", readonly MetricFacts[]>>("metrics");
  const known = new Map([...other, ...stableAndBeta].map((one) => [one.name, one]));
  await using server = await busyServer();
  const families = [...(await scrape(server, "/metrics")), ...(await scrape(server, "/metrics/slis"))];
  const wrong = families.flatMap(({ name, type, help, samples }) => {
    const fact = known.get(name);
    if (!fact) return help.startsWith("[") ? [`${name}: upstream has no such name`] : [];
    const labels = Object.keys(samples[0]?.labels ?? {}).filter((label) => label !== "le");
    const bounds = new Set(
      samples.flatMap(({ labels: { le } }) => (le === undefined || le === "+Inf" ? [] : [Number(le)])),
    );
    return [
      ...(fact.type !== "Custom" && typeOf(fact) !== type ? [`${name}: ${type}, upstream ${fact.type}`] : []),
      ...(labels.sort().join() === [...fact.labels, ...Object.keys(fact.constLabels ?? {})].sort().join()
        ? []
        : [`${name}: labels ${labels}, upstream ${fact.labels}`]),
      ...(help.startsWith(`[${fact.stability}] `) ? [] : [`${name}: ${help}, upstream ${fact.stability}`]),
      ...(fact.buckets && [...bounds].join() !== fact.buckets.map(Number).join()
        ? [`${name}: buckets ${[...bounds]}`]
        : []),
    ];
  });
  assert.deepEqual(wrong, []);
  assert.ok(families.filter(({ name }) => known.has(name)).length >= 15);
});
