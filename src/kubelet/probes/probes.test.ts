import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodSpec } from "#api/core/v1/pod-spec.ts";
import type { Probe } from "#api/core/v1/probe.ts";
import { turn } from "#base/breathe.ts";
import { ManualClock } from "#base/clock.ts";
import type { Draft } from "#schema/infer.ts";
import { now, podOf, stateOf } from "../testing.ts";
import { Prober } from "./prober.ts";
import { expand, httpProbeOf, type ProbeHandlers, type ProbeOutcome, portOf } from "./run-probe.ts";
import { countResult, freshTally } from "./tally.ts";

test("a probe is believed when it has said the same often enough", () => {
  const probe = { failureThreshold: 3, successThreshold: 2 };
  const say = (text: string) =>
    [...text].reduce((tally, letter) => countResult(tally, letter === "s" ? "success" : "failure", probe), freshTally)
      .result;
  const table: readonly [string, string | undefined][] = [
    ["", undefined],
    ["s", undefined],
    ["ss", "success"],
    ["ssf", "success"],
    ["ssff", "success"],
    ["ssfff", "failure"],
    ["ssfffs", "failure"],
    ["ssfffss", "success"],
    ["ffsff", undefined],
    ["sffsf", undefined],
  ];
  for (const [text, result] of table) assert.equal(say(text), result, text);
});

test("ports are numbers, or names the container gives them", () => {
  const [container] = podOf({
    containers: [{ name: "web", image: "nginx", ports: [{ name: "http", containerPort: 8080 }] }],
  }).spec.containers;
  assert.equal(portOf(80, container!), 80);
  assert.equal(portOf("http", container!), 8080);
  assert.equal(portOf("81", container!), 81);
  for (const wrong of ["other", "", 0, 70_000, -1])
    assert.throws(() => portOf(wrong, container!), {
      message: `invalid port ${JSON.stringify(wrong)} of container web`,
    });
});

test("an HTTP probe asks what it is told to", () => {
  const [container] = podOf().spec.containers;
  const action = { path: "healthz", port: 80, scheme: "HTTPS", host: undefined, httpHeaders: undefined } as const;
  assert.deepEqual(httpProbeOf(action, container!, "10.0.0.1", "kube-probe/1.36"), {
    url: "https://10.0.0.1:80/healthz",
    headers: { "user-agent": "kube-probe/1.36", accept: "*/*" },
  });
  const headers = [
    { name: "Accept", value: "" },
    { name: "X-A", value: "1" },
    { name: "Host", value: "example" },
  ];
  const asked = httpProbeOf({ ...action, path: "/", host: "fd00::1", httpHeaders: headers }, container!, "", "x");
  assert.deepEqual(asked, {
    url: "https://[fd00::1]:80/",
    headers: { "user-agent": "x", "x-a": "1", host: "example" },
  });
});

test("variables in a command are replaced where the spec tells their value", () => {
  const env = [
    { name: "A", value: "1" },
    { name: "S", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
  ];
  const [container] = podOf({ containers: [{ name: "web", image: "nginx", env }] }).spec.containers;
  assert.deepEqual(expand(["$(A)x$(A)", "$$(A)", "$(S)", "$(B)", "$A", "$("], container!), [
    "1x1",
    "$(A)",
    "$(S)",
    "$(B)",
    "$A",
    "$(",
  ]);
});

interface ProberWorld {
  readonly clock: ManualClock;
  readonly events: string[];
  readonly asked: string[];
  readonly changed: string[];
  answer: ProbeOutcome["result"] | "error" | "silence";
  look(containers?: readonly string[]): readonly unknown[];
  advance(ms: number): Promise<void>;
  readonly stop: AbortController;
}

function world(container: Draft<PodSpec["containers"][number]>): ProberWorld {
  const clock = new ManualClock(now);
  const pod = podOf({ containers: [{ name: "web", image: "nginx", ...container }] });
  const w: ProberWorld = {
    clock,
    events: [],
    asked: [],
    changed: [],
    answer: "success",
    stop: new AbortController(),
    look(containers = ["web running"]) {
      const { results } = prober.results(pod, stateOf(containers));
      return [...results.values()].map(({ startup, liveness, readiness }) => [startup, liveness, readiness]);
    },
    async advance(ms) {
      for (let left = ms; left > 0; left -= 500) {
        await clock.advance(Math.min(500, left));
        await turn();
      }
    },
  };
  const tell =
    (what: string) =>
    async (...args: unknown[]): Promise<ProbeOutcome> => {
      const signal = args.at(-1) as AbortSignal;
      w.asked.push(what);
      if (w.answer === "error") throw new Error("no route");
      if (w.answer === "silence")
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      return { result: w.answer, output: "because" };
    };
  const handlers: ProbeHandlers = { http: tell("http"), tcp: tell("tcp"), grpc: tell("grpc") };
  const prober = new Prober({
    handlers,
    runtime: {
      async exec(_id, _command, signal) {
        const { result, output } = await tell("exec")(signal);
        return { exitCode: result === "failure" ? 1 : 0, output: new TextEncoder().encode(output) };
      },
    },
    clock,
    version: "1.36",
    event: (_, type, reason, message) => void w.events.push(`${type} ${reason} ${message}`),
    changed: (uid) => void w.changed.push(uid),
  });
  prober.run(w.stop.signal).catch(() => undefined);
  return w;
}

test("a readiness probe is asked at once, and then as often as it says", async () => {
  const w = world({ readinessProbe: { tcpSocket: { port: 80 }, periodSeconds: 5 } });
  assert.deepEqual(w.look(), [[undefined, undefined, undefined]]);
  await w.advance(500);
  assert.deepEqual(w.look(), [[undefined, undefined, "success"]]);
  assert.deepEqual(w.changed, ["u1"]);
  await w.advance(10_000);
  assert.equal(w.asked.length, 3);
  assert.deepEqual(w.changed, ["u1"], "only what is news is told");
  w.answer = "failure";
  await w.advance(15_000);
  assert.deepEqual(w.look(), [[undefined, undefined, "failure"]]);
  assert.deepEqual(w.events, Array(3).fill("Warning Unhealthy Readiness probe failed: because"));
  w.look(["web exited"]);
  await w.advance(20_000);
  assert.equal(w.asked.length, 6, "what has ended is not asked");
  w.stop.abort();
});

test("a probe waits for its initial delay", async () => {
  const w = world({ livenessProbe: { httpGet: { port: 80 }, initialDelaySeconds: 7 } });
  w.look();
  await w.advance(6500);
  assert.deepEqual(w.asked, []);
  await w.advance(1000);
  assert.deepEqual(w.asked, ["http"]);
  w.stop.abort();
});

test("a container that failed its liveness probe is left alone", async () => {
  const w = world({ livenessProbe: { exec: { command: ["x"] }, periodSeconds: 1, failureThreshold: 2 } });
  w.answer = "failure";
  w.look();
  await w.advance(5000);
  assert.deepEqual(w.look(), [[undefined, "failure", undefined]]);
  assert.equal(w.asked.length, 2);
  w.stop.abort();
});

test("other probes wait until a container has started up", async () => {
  const w = world({
    startupProbe: { grpc: { port: 1 }, periodSeconds: 2, failureThreshold: 10 },
    readinessProbe: { tcpSocket: { port: 80 } },
  });
  w.answer = "failure";
  w.look();
  await w.advance(5000);
  assert.deepEqual(w.asked, ["grpc", "grpc", "grpc"]);
  w.answer = "success";
  await w.advance(2000);
  assert.deepEqual(w.look(), [["success", undefined, "success"]]);
  await w.advance(10_000);
  assert.equal(w.asked.filter((what) => what === "grpc").length, 4);
  w.stop.abort();
});

test("what took too long is said as upstream says it", async () => {
  const table: readonly (readonly [Draft<Probe>, string])[] = [
    [{ tcpSocket: { port: 80 } }, "dial tcp 10.0.0.2:80: i/o timeout"],
    [
      { httpGet: { port: 80, path: "/ok" } },
      'Get "http://10.0.0.2:80/ok": context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
    ],
    [{ exec: { command: ["cat", "/ok"] } }, 'command timed out: "cat /ok" timed out after 2s'],
    [{ grpc: { port: 80 } }, 'timeout: failed to connect service "10.0.0.2:80" within 2s: context deadline exceeded'],
  ];
  for (const [probe, expected] of table) {
    const w = world({ readinessProbe: { ...probe, timeoutSeconds: 2, failureThreshold: 1 } });
    w.answer = "silence";
    w.look();
    await w.advance(2500);
    assert.deepEqual(w.events, [`Warning Unhealthy Readiness probe failed: ${expected}`]);
    w.stop.abort();
  }
});

test("no answer in time is a failure; what cannot be asked is none", async () => {
  const w = world({ readinessProbe: { tcpSocket: { port: 80 }, timeoutSeconds: 2, failureThreshold: 1 } });
  w.answer = "silence";
  w.look();
  await w.advance(2500);
  assert.deepEqual(w.look(), [[undefined, undefined, "failure"]]);
  assert.equal(w.events.length, 1);
  w.answer = "error";
  await w.advance(10_000);
  assert.deepEqual(w.look(), [[undefined, undefined, "failure"]]);
  assert.equal(w.events.at(-1), "Warning Unhealthy Readiness probe errored and resulted in unknown state: no route");
  w.answer = "warning";
  await w.advance(10_000);
  assert.deepEqual(w.look(), [[undefined, undefined, "success"]]);
  assert.equal(w.events.at(-1), "Warning ProbeWarning Readiness probe warning: because");
  w.stop.abort();
});
