import assert from "node:assert/strict";
import { test } from "node:test";
import { ManualClock } from "#base/clock.ts";
import { MetricRegistry } from "#base/metrics.ts";
import { isStream } from "#wire/http.ts";
import { containerOf, podOf, stateOf } from "../testing.ts";
import { countPods } from "./kubelet-metrics.ts";
import { type KubeletServerOptions, kubeletServer } from "./server.ts";

const { signal } = new AbortController();
const place = (name: string) => ({ metadata: { name, uid: `uid-${name}` } });
const served = [
  { pod: podOf({}, place("web")), state: stateOf([containerOf("web running", { id: "c1" })]) },
  { pod: podOf({}, place("over")), state: stateOf(["web exited"], []) },
];

function server(more: Partial<KubeletServerOptions> = {}) {
  const metrics = new MetricRegistry();
  countPods(metrics, "n1", () => served);
  const unused = async () => assert.fail("nobody asked for it");
  const answer = kubeletServer({
    clock: new ManualClock("2026-01-01T00:01:00Z"),
    streams: { log: unused, exec: unused, attach: unused, portForward: unused },
    compression: () => assert.fail("nobody asked for it"),
    runtime: {
      name: "containerd",
      usage: async () => new Map([["c1", { cpuSeconds: 1.5, memoryBytes: 1024 }]]),
      exec: async (_, command) => ({
        exitCode: command[0] === "false" ? 1 : 0,
        output: Buffer.from(command.join("+")),
      }),
    },
    find: (_, name) => served.find(({ pod }) => pod.metadata.name === name),
    list: () => served,
    metrics,
    ...more,
  });
  return async (url: string, method = "GET") => {
    const { code, body } = await answer({ method, url, headers: {}, signal });
    assert.ok(!isStream(body));
    return { code, text: typeof body === "string" ? body : Buffer.from(body as Uint8Array).toString() };
  };
}

test("health is told as a whole, in parts, and at length", async () => {
  const ask = server();
  assert.deepEqual(await ask("/healthz"), { code: 200, text: "ok" });
  assert.deepEqual(await ask("/healthz/syncloop", "HEAD"), { code: 200, text: "ok" });
  assert.equal((await ask("/healthz/none")).code, 404);
  assert.equal((await ask("/healthz?verbose")).text, "[+]ping ok\n[+]log ok\n[+]syncloop ok\nhealthz check passed\n");
});

test("all pods are told as they are, and those that run as the runtime knows them", async () => {
  const ask = server();
  const names = async (url: string) =>
    JSON.parse((await ask(url)).text).items.map((pod: (typeof served)[0]["pod"]) => pod.metadata.name);
  assert.deepEqual(await names("/pods"), ["web", "over"]);
  assert.deepEqual(await names("/runningpods/"), ["web"]);
  const [item] = JSON.parse((await ask("/runningpods/")).text).items;
  assert.deepEqual(item.spec, { containers: [{ name: "web", image: "nginx", resources: {} }] });
});

test("what runs, what is used and what is asked is counted", async () => {
  const ask = server();
  await ask("/exec/default/none/web?output=1", "POST");
  await ask("/secret/path");
  const { text } = await ask("/metrics");
  for (const line of [
    'kubelet_node_name{node="n1"} 1',
    "kubelet_running_pods 1",
    'kubelet_running_containers{container_state="exited"} 1',
    'kubelet_http_requests_total{long_running="true",method="POST",path="exec",server_type="readwrite"} 1',
    'kubelet_http_requests_total{long_running="false",method="GET",path="other",server_type="readwrite"} 1',
    'kubelet_http_inflight_requests{long_running="true",method="POST",path="exec",server_type="readwrite"} 0',
    'kubelet_http_inflight_requests{long_running="false",method="GET",path="metrics",server_type="readwrite"} 1',
  ])
    assert.ok(text.includes(`${line}\n`), `${line} is not in\n${text}`);
  const labels =
    'container="web",cpu="total",id="/kubepods/poduid-web/c1",image="nginx",name="c1",namespace="default",pod="web"';
  const cadvisor = (await ask("/metrics/cadvisor")).text;
  assert.ok(cadvisor.includes(`container_cpu_usage_seconds_total{${labels}} 1.5\n`), cadvisor);
  assert.match((await ask("/metrics/resource")).text, /^container_memory_working_set_bytes\{.*\} 1024 \d+$/m);
  assert.equal((await ask("/metrics/none")).code, 404);
});

test("stats and configuration come from those who know them", async () => {
  const ask = server({
    stats: async (only) => ({ node: { nodeName: only, startTime: "" }, pods: [] }),
    configuration: () => ({ kind: "KubeletConfiguration" }),
  });
  assert.equal((await ask("/stats/summary")).text, '{"node":{"nodeName":"all","startTime":""},"pods":[]}');
  assert.equal(
    (await ask("/stats/summary?only_cpu_and_memory=true", "POST")).text,
    '{"node":{"nodeName":"cpu and memory","startTime":""},"pods":[]}',
  );
  assert.equal((await ask("/configz")).text, '{"kubeletconfig":{"kind":"KubeletConfiguration"}}');
  assert.equal((await server()("/stats/summary")).code, 404);
});

test("a command is run to its end, and its failure told", async () => {
  const ask = server();
  assert.deepEqual(await ask("/run/default/web/web?cmd=echo+a", "POST"), { code: 200, text: "echo+a" });
  assert.deepEqual(await ask("/run/default/web/uid-web/web?cmd=false", "POST"), {
    code: 500,
    text: "command 'false' exited with 1: false",
  });
  assert.equal((await ask("/run/default/over/web?cmd=x", "POST")).text, 'container not found ("web")');
  assert.equal((await ask("/run/default/web/web?cmd=x")).code, 405);
});

test("what the summary tells of a pod is told under cAdvisor's names, too", async () => {
  const time = "2026-01-01T00:00:00Z";
  const cpu = { time, usageCoreNanoSeconds: 2_500_000_000 };
  const memory = { time, workingSetBytes: 100, usageBytes: 150, rssBytes: 80, pageFaults: 7, majorPageFaults: 1 };
  const disk = { time, availableBytes: 1, capacityBytes: 1000, usedBytes: 30, inodesFree: 1, inodes: 1 };
  const traffic = { name: "eth0", rxBytes: 11, rxErrors: 0, txBytes: 22, txErrors: 1 };
  const ask = server({
    stats: async () => ({
      node: { nodeName: "n", startTime: time, cpu, memory },
      pods: [
        {
          podRef: { name: "web", namespace: "default", uid: "uid-web" },
          startTime: time,
          cpu,
          memory,
          network: { time, ...traffic, interfaces: [traffic] },
          containers: [{ name: "web", startTime: time, cpu, memory, rootfs: disk, logs: disk }],
        },
      ],
    }),
  });
  const { text } = await ask("/metrics/cadvisor");
  const place = 'namespace="default",pod="web"';
  const container = `container="web",id="/kubepods/poduid-web/c1",image="nginx",name="c1",${place}`;
  const pod = 'container="",id="/kubepods/poduid-web",image="",';
  for (const line of [
    'container_cpu_usage_seconds_total{container="",cpu="total",id="/",image="",name="",namespace="",pod=""} 2.5',
    `container_memory_rss{${container}} 80`,
    `container_memory_working_set_bytes{${pod}name="",${place}} 100`,
    `container_network_transmit_bytes_total{${pod}interface="eth0",name="",${place}} 22`,
    `container_spec_memory_limit_bytes{${container}} 0`,
  ])
    assert.ok(text.includes(`${line}\n`), `${line} is not in\n${text}`);
  assert.match(text, /^container_fs_usage_bytes\{.*device="".*\} 60$/m);
  assert.match(text, /^container_memory_failures_total\{.*failure_type="pgmajfault".*\} 1$/m);
});
