import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { turn } from "#base/breathe.ts";
import { ManualClock, systemClock } from "#base/clock.ts";
import { silentLog } from "#base/log.ts";
import { MetricRegistry } from "#base/metrics.ts";
import { Client } from "#client/client.ts";
import type { User } from "#wire/api-request.ts";
import { admissionOf } from "../admission/configuration.ts";
import { auditLogFile } from "../host/audit-log-file.ts";
import { type TestOptions, testServer, testUser } from "../testing.ts";
import type { AuditEvent } from "./event.ts";
import { eventJson, eventLine } from "./event.ts";
import { parseAuditPolicy } from "./policy.ts";
import {
  type AuditBackend,
  AuditMetrics,
  AuditRecord,
  type AuditSink,
  BatchingSink,
  BlockingSink,
  truncating,
} from "./sink.ts";
import { auditWebhook } from "./webhook.ts";

const { signal } = new AbortController();

interface LoggedEvent {
  readonly stage: string;
  readonly level: string;
  readonly verb: string;
  readonly auditID: string;
  readonly requestURI: string;
  readonly user: { readonly username?: string };
  readonly impersonatedUser?: { readonly username: string };
  readonly sourceIPs: readonly string[];
  readonly objectRef?: Readonly<Record<string, string>>;
  readonly responseStatus?: { readonly code: number; readonly message?: string; readonly reason?: string };
  readonly requestObject?: Readonly<Record<string, unknown>>;
  readonly responseObject?: Readonly<Record<string, unknown>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

const policyHead = "apiVersion: audit.k8s.io/v1\nkind: Policy\n";
const failOnWarning = (text: string) => assert.fail(text);

function recorder(): { readonly sink: AuditSink; readonly events: LoggedEvent[] } {
  const events: LoggedEvent[] = [];
  const sink: AuditSink = {
    take: (record) => events.push(JSON.parse(record.json)) > 0,
    close: async () => undefined,
  };
  return { sink, events };
}

async function auditedServer(policy: string, options: TestOptions = {}, sink?: AuditSink) {
  const { events, sink: recording } = recorder();
  const server = await testServer({
    ...options,
    audit: {
      policy: parseAuditPolicy(policyHead + policy, failOnWarning),
      sink: sink ?? recording,
      metrics: new AuditMetrics(new MetricRegistry(), silentLog),
    },
  });
  return { server, events };
}

const jane: User = { name: "jane", groups: ["people", "system:authenticated"] };
/** Refuses nodes, and fails where services are asked for. */
const forbidding: TestOptions["authorizers"] = () => [
  (question) => {
    const resource = question.type === "resource" ? question.resource : "";
    if (resource === "services") throw new Error("a bug");
    return resource === "nodes"
      ? { decision: "none", reason: "no nodes here" }
      : { decision: "allow", reason: "all is well" };
  },
];

test("of 200 requests the log has exactly the events that the policy asks for, in order", async () => {
  const { server, events } = await auditedServer(
    `
omitManagedFields: true
rules:
- {level: None, resources: [{resources: [configmaps], resourceNames: [quiet]}]}
- {level: RequestResponse, verbs: [create, patch], resources: [{resources: [configmaps]}], omitStages: [RequestReceived]}
- {level: Request, verbs: [update], resources: [{resources: ["configmaps"]}]}
- {level: None, nonResourceURLs: ["/healthz*", "/livez"]}
- {level: Metadata, omitStages: []}
`,
    { users: { jane, broken: { ...jane, name: "broken" } }, authorizers: forbidding },
  );
  await using _ = server;
  events.length = 0;
  const expected: string[] = [];
  const say = (...lines: readonly string[]) => expected.push(...lines);
  const asJane = { authorization: "Bearer jane" };
  const base = "/api/v1/namespaces/x/configmaps";
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "x" } });
  say(
    "RequestReceived Metadata create namespaces/ tester -",
    "ResponseComplete Metadata create namespaces/x tester 201",
  );
  await server.call("POST", base, { metadata: { name: "quiet" } });
  say("ResponseComplete RequestResponse create configmaps/quiet tester 201");
  const client = new Client({ transport: server.server.request, user: jane, userAgent: "part/1", signal });
  for (let i = 0; i < 20; i++) {
    await server.call("POST", base, { metadata: { name: `a${i}` }, data: { k: "v" } }, asJane);
    say(`ResponseComplete RequestResponse create configmaps/a${i} jane 201`);
    await server.call("GET", `${base}/a${i}`, undefined, asJane);
    say(
      `RequestReceived Metadata get configmaps/a${i} jane -`,
      `ResponseComplete Metadata get configmaps/a${i} jane 200`,
    );
    await server.call("PUT", `${base}/a${i}`, { metadata: { name: `a${i}` }, data: { k: "w" } }, asJane);
    say(
      `RequestReceived Request update configmaps/a${i} jane -`,
      `ResponseComplete Request update configmaps/a${i} jane 200`,
    );
    await server.call("GET", `${base}/quiet`);
    await server.call("GET", "/healthz");
    await server.call("GET", "/api/v1/nodes", undefined, asJane);
    say("RequestReceived Metadata list nodes/ jane -", "ResponseComplete Metadata list nodes/ jane 403");
    await server.call("GET", `${base}/none${i}`, undefined, { "impersonate-user": "paul" });
    say(
      `RequestReceived Metadata get configmaps/none${i} tester -`,
      `ResponseComplete Metadata get configmaps/none${i} tester as paul 404`,
    );
    await server.call("GET", base, undefined, { authorization: "Bearer wrong" });
    say("ResponseStarted Metadata list configmaps/ ? 401");
    await server.call("GET", "/api/v1/services", undefined, asJane);
    say("RequestReceived Metadata list services/ jane -", "Panic Metadata list services/ jane 500");
    await client.delete(ConfigMap, { name: `a${i}`, namespace: "x" });
    say(
      `RequestReceived Metadata delete configmaps/a${i} jane -`,
      `ResponseComplete Metadata delete configmaps/a${i} jane 200`,
    );
    await server.call("POST", `/api/v1/namespaces/x/pods/p${i}/exec?command=ls`, undefined, asJane);
    say(`RequestReceived Metadata create pods/p${i} jane -`, `ResponseComplete Metadata create pods/p${i} jane 404`);
    const leaving = new AbortController();
    const watch = await server.watch(`${base}?watch=true&resourceVersion=0`, leaving.signal);
    leaving.abort();
    await watch.return?.();
    say(
      "RequestReceived Metadata watch configmaps/ tester -",
      "ResponseStarted Metadata watch configmaps/ tester 200",
      "ResponseComplete Metadata watch configmaps/ tester 200",
    );
  }
  assert.deepEqual(events.map(shown), expected);
  const created = events.find(({ level }) => level === "RequestResponse");
  assert.deepEqual([created?.requestObject?.kind, created?.responseObject?.kind], ["ConfigMap", "ConfigMap"]);
  const { metadata } = (created?.responseObject ?? {}) as { readonly metadata: object };
  assert.ok("uid" in metadata && !("managedFields" in metadata));
  const updated = events.find(({ level, stage }) => level === "Request" && stage === "ResponseComplete");
  assert.ok(updated?.requestObject && !updated.responseObject);
});

const shown = ({ stage, level, verb, objectRef, user, impersonatedUser, responseStatus }: LoggedEvent): string =>
  `${stage} ${level} ${verb} ${objectRef?.resource}/${objectRef?.name ?? ""} ${user.username ?? "?"}${
    impersonatedUser ? ` as ${impersonatedUser.username}` : ""
  } ${responseStatus?.code ?? "-"}`;

test("a refusal says why, who was let in is told with the reason, and a stranger with what was shown", async () => {
  const { server, events } = await auditedServer("rules: [{level: Metadata}]", {
    users: { jane },
    authorizers: forbidding,
  });
  await using _ = server;
  await server.call("GET", "/api/v1/nodes", undefined, { authorization: "Bearer jane", "audit-id": "mine" });
  await server.call("GET", "/api/v1/pods", undefined, {
    "x-forwarded-for": "10.1.2.3, nobody",
    "x-real-ip": "10.9.9.9",
  });
  await server.call("GET", "/api/v1/pods", undefined, { authorization: "Basic eDp5" });
  const [, refused, , allowed, stranger] = events;
  assert.equal(refused?.auditID, "mine");
  assert.equal(refused?.responseStatus?.reason, "Forbidden");
  assert.deepEqual(refused?.annotations, {
    "authorization.k8s.io/decision": "forbid",
    "authorization.k8s.io/reason": "no nodes here",
  });
  assert.deepEqual(allowed?.annotations, {
    "authorization.k8s.io/decision": "allow",
    "authorization.k8s.io/reason": "",
  });
  assert.deepEqual(allowed?.sourceIPs, ["10.1.2.3", "10.9.9.9", "127.0.0.1"]);
  assert.equal(stranger?.responseStatus?.message, "Authentication failed, attempted: basic");
});

test("a fault of the server is told as a panic", async () => {
  const { server, events } = await auditedServer("rules: [{level: Metadata}]", {
    authorizers: () => [
      (question) => {
        if (question.type === "resource" && question.resource === "pods") throw new Error("a bug");
        return { decision: "allow" };
      },
    ],
    authenticators: [() => jane],
  });
  await using _ = server;
  assert.equal((await server.call("GET", "/api/v1/pods")).code, 500);
  assert.deepEqual(
    events.map(({ stage, responseStatus }) => [stage, responseStatus?.message]),
    [
      ["RequestReceived", undefined],
      ["Panic", "APIServer panic'd: a bug"],
    ],
  );
});

test("PodSecurity tells which policy it enforced, and what it would have refused", async () => {
  const { server, events } = await auditedServer("rules: [{level: Metadata, omitStages: [RequestReceived]}]", {
    admission: admissionOf({ disable: ["ServiceAccount"] }),
  });
  await using _ = server;
  const labels = { "pod-security.kubernetes.io/audit": "baseline" };
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "x", labels } });
  const container = { name: "a", image: "b", securityContext: { privileged: true } };
  const { code } = await server.call("POST", "/api/v1/namespaces/x/pods", {
    metadata: { name: "p" },
    spec: { containers: [container] },
  });
  assert.equal(code, 201);
  const annotations = events.at(-1)?.annotations ?? {};
  assert.equal(annotations["pod-security.kubernetes.io/enforce-policy"], "privileged:latest");
  assert.equal(
    annotations["pod-security.kubernetes.io/audit-violations"],
    'would violate PodSecurity "baseline:latest": privileged (container "a" must not set securityContext.privileged=true)',
  );
});

test("at level Metadata nothing is told of what is in secrets, tokens and headers", async () => {
  const { server, events } = await auditedServer("rules: [{level: Metadata}]", { users: { jane } });
  await using _ = server;
  const secret = "c2VjcmV0LW1hcms=";
  await server.call("POST", "/api/v1/namespaces", { metadata: { name: "x" } });
  await server.call("POST", "/api/v1/namespaces/x/secrets", { metadata: { name: "s" }, data: { k: secret } });
  await server.call(
    "PATCH",
    "/api/v1/namespaces/x/secrets/s",
    { data: { l: secret } },
    {
      "content-type": "application/merge-patch+json",
    },
  );
  await server.call("GET", "/api/v1/namespaces/x/secrets", undefined, { authorization: `Bearer ${secret}` });
  await server.call("POST", "/apis/authentication.k8s.io/v1/tokenreviews", { spec: { token: secret } });
  assert.equal(events.length, 9);
  assert.ok(!JSON.stringify(events).includes(secret));
});

const brokenBackend = (failing: () => boolean): AuditBackend & { readonly written: AuditRecord[] } => {
  const written: AuditRecord[] = [];
  return {
    name: "broken",
    isOrdered: true,
    written,
    async write(records) {
      if (failing()) throw new Error("no space left on device");
      written.push(...records);
    },
    close: async () => undefined,
  };
};

for (const [mode, isStrict, code] of [
  ["blocking", false, 200],
  ["blocking-strict", true, 500],
] as const)
  test(`on a full disk, mode ${mode} answers ${code}`, async () => {
    const registry = new MetricRegistry();
    const metrics = new AuditMetrics(registry, silentLog);
    let isFull = false;
    const backend = brokenBackend(() => isFull);
    const sink = new BlockingSink(backend, metrics, { isStrict, clock: systemClock });
    const { server } = await auditedServer("rules: [{level: Metadata}]", {}, sink);
    await using _ = server;
    assert.equal((await server.call("GET", "/api/v1/pods")).code, 200);
    assert.equal(backend.written.length, 2);
    isFull = true;
    const answer = await server.call("GET", "/api/v1/pods");
    assert.equal(answer.code, code);
    if (isStrict) assert.match(answer.text, /failed to store audit event/);
    assert.match(await registry.text(), /apiserver_audit_error_total\{plugin="broken"\} [12]/);
  });

for (const [mode, isStrict, code] of [
  ["blocking", false, 200],
  ["blocking-strict", true, 500],
] as const)
  test(`while the webhook is down, mode ${mode} answers ${code} after its tries`, async () => {
    const clock = new ManualClock();
    const metrics = new AuditMetrics(new MetricRegistry(), silentLog);
    let posts = 0;
    let isDown = false;
    const post = async () => {
      posts++;
      if (isDown) throw new Error("connection refused");
      return { code: 200 };
    };
    const backend = auditWebhook({ post, close: () => undefined, initialBackoffMs: 1000, clock });
    const sink = new BlockingSink(backend, metrics, { isStrict, clock });
    const { server } = await auditedServer("rules: [{level: Metadata}]", {}, sink);
    await using _ = server;
    isDown = true;
    posts = 0;
    const answer = server.call("GET", "/api/v1/pods");
    let isAnswered = false;
    void answer.finally(() => {
      isAnswered = true;
    });
    await turn();
    assert.equal(isAnswered, false, "it waits for the webhook");
    while (!isAnswered) await clock.advance(1000);
    assert.equal((await answer).code, code);
    assert.ok(posts >= 5, `${posts} tries`);
  });

test("a real full disk is noticed, and half a line is not left", async () => {
  const clock = new ManualClock();
  const options = { format: "json", maxBytes: 0, maxBackups: 0, maxAgeMs: 0, compress: false, clock } as const;
  const full = await auditLogFile({ ...options, path: "/dev/full", log: silentLog });
  await assert.rejects(full.write([new AuditRecord(sample)]), { code: "ENOSPC" });
  await full.close();
});

const sample: AuditEvent = {
  level: "Metadata",
  auditId: "i",
  stage: "ResponseComplete",
  requestUri: "/api/v1/pods",
  verb: "list",
  user: jane,
  impersonatedUser: undefined,
  impersonationConstraint: undefined,
  sourceIps: ["::1"],
  userAgent: "test/1",
  objectRef: { resource: "pods", apiVersion: "v1" },
  responseStatus: { code: 200 },
  requestObject: undefined,
  responseObject: undefined,
  receivedAt: Date.parse("2026-01-01T00:00:00.500Z"),
  stageAt: Date.parse("2026-01-01T00:00:01Z"),
  annotations: new Map([
    ["b", "2"],
    ["a", "1"],
  ]),
};

test("an event reads as upstream writes it, in both formats", () => {
  assert.equal(
    eventJson(sample),
    '{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"i","stage":"ResponseComplete","requestURI":"/api/v1/pods","verb":"list","user":{"username":"jane","groups":["people","system:authenticated"]},"sourceIPs":["::1"],"userAgent":"test/1","objectRef":{"resource":"pods","apiVersion":"v1"},"responseStatus":{"metadata":{},"code":200},"requestReceivedTimestamp":"2026-01-01T00:00:00.500000Z","stageTimestamp":"2026-01-01T00:00:01.000000Z","annotations":{"a":"1","b":"2"}}',
  );
  assert.equal(
    eventLine(sample),
    '2026-01-01T00:00:00.5Z AUDIT: id="i" stage="ResponseComplete" ip="::1" method="list" user="jane" groups="\\"people\\",\\"system:authenticated\\"" as="<self>" asgroups="<lookup>" user-agent="test/1" namespace="<none>" uri="/api/v1/pods" response="200"',
  );
});

test("a long log is put aside under its time, and old ones go", async () => {
  const folder = mkdtempSync(join(tmpdir(), "knarr-audit-"));
  try {
    const clock = new ManualClock("2026-01-01T00:00:00Z");
    const path = join(folder, "audit.log");
    const bytes = Buffer.byteLength(eventJson(sample)) + 1;
    const options = { path, format: "json", maxBytes: bytes * 2, maxBackups: 2, maxAgeMs: 0, compress: true } as const;
    const log = await auditLogFile({ ...options, clock, log: silentLog });
    for (let i = 0; i < 9; i++) {
      await log.write([new AuditRecord(sample)]);
      await clock.advance(1000);
    }
    await log.close();
    assert.deepEqual(readdirSync(folder).sort(), [
      "audit-2026-01-01T00-00-06.000.log.gz",
      "audit-2026-01-01T00-00-08.000.log.gz",
      "audit.log",
    ]);
    assert.equal(readFileSync(path, "utf8").split("\n").length, 2);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("events are sent in batches, again where the webhook is down, and lost ones are counted", async () => {
  const clock = new ManualClock();
  const registry = new MetricRegistry();
  const metrics = new AuditMetrics(registry, silentLog);
  const posted: string[] = [];
  let isDown = false;
  const backend = auditWebhook({
    async post(body) {
      posted.push(body);
      if (isDown) throw new Error("connection refused");
      return { code: 200 };
    },
    close: () => undefined,
    initialBackoffMs: 1000,
    clock,
  });
  const sink = new BatchingSink(backend, metrics, { bufferSize: 3, maxSize: 2, maxWaitMs: 30_000, clock });
  const take = (auditId: string) => sink.take(new AuditRecord({ ...sample, auditId }));
  take("a");
  await clock.advance(29_999);
  assert.equal(posted.length, 0);
  await clock.advance(1);
  assert.equal(posted.length, 1);
  isDown = true;
  take("b");
  take("c");
  await clock.advance(500);
  assert.equal(posted.length, 2);
  for (const id of "defg") take(id); // three wait, the fourth is lost
  isDown = false;
  await clock.advance(500);
  assert.equal(posted.length, 4);
  const idsOf = (body = "") => (JSON.parse(body).items as LoggedEvent[]).map(({ auditID }) => auditID).join("");
  assert.deepEqual(posted.map(idsOf), ["a", "bc", "bc", "de"]);
  assert.match(await registry.text(), /apiserver_audit_error_total\{plugin="buffered"\} 1/);
  await sink.close();
});

test("an event that is too large loses its bodies", async () => {
  const metrics = new AuditMetrics(new MetricRegistry(), silentLog);
  const plain = brokenBackend(() => false);
  const backend = truncating(plain, { maxEventBytes: 800, maxBatchBytes: 8000 }, metrics);
  const large: AuditEvent = { ...sample, level: "Request", requestObject: JSON.stringify("x".repeat(900)) };
  await backend.write([new AuditRecord(large), new AuditRecord({ ...sample, userAgent: "x".repeat(900) })]);
  assert.equal(plain.written.length, 1);
  assert.equal(plain.written[0]?.event.annotations?.get("audit.k8s.io/truncated"), "true");
  assert.equal(plain.written[0]?.event.requestObject, undefined);
});

for (const [why, policy, message] of [
  ["another kind", "apiVersion: v1\nkind: Policy", /unknown group version/],
  ["no rules", policyHead, /0 rules/],
  ["a level that is none", `${policyHead}rules: [{level: All}]`, /rules\[0\].level: Unsupported value: "All"/],
  ["no level", `${policyHead}rules: [{users: [a]}]`, /rules\[0\].level: Required value/],
  [
    "both paths and resources",
    `${policyHead}rules: [{level: None, nonResourceURLs: ["/a"], namespaces: [b]}]`,
    /cannot apply to both/,
  ],
  ["a stage that is none", `${policyHead}rules: [{level: None, omitStages: [Begin]}]`, /allowed stages are/],
  ["no YAML", "{", /failed decoding/],
] as const)
  test(`a policy with ${why} is refused`, () =>
    assert.throws(() => parseAuditPolicy(policy, () => undefined), message));

test("the user of the first request of all is the server itself", async () => {
  const { server, events } = await auditedServer("rules: [{level: Metadata}]", { bootstrapPolicy: true });
  await using _ = server;
  assert.ok(events.length > 100);
  assert.ok(events.every(({ user }) => user.username !== undefined && user.username !== testUser.name));
});

for (const isStrict of [false, true])
  test(`while the first event is being written, a request ${isStrict ? "waits" : "goes on"} in mode ${isStrict ? "blocking-strict" : "blocking"}, and is not answered`, async () => {
    const writes: { readonly stage: string; readonly done: PromiseWithResolvers<boolean> }[] = [];
    let isSlow = false;
    const sink: AuditSink = {
      isStrict,
      take({ event }) {
        if (!isSlow || event.user?.name !== jane.name) return true;
        const done = Promise.withResolvers<boolean>();
        writes.push({ stage: event.stage, done });
        return done.promise;
      },
      close: async () => undefined,
    };
    const { server } = await auditedServer("rules: [{level: Metadata}]", { users: { jane } }, sink);
    await using _ = server;
    await server.call("POST", "/api/v1/namespaces", { metadata: { name: "x" } });
    isSlow = true;
    let isAnswered = false;
    const object = { metadata: { name: "a" } };
    const asJane = { authorization: "Bearer jane" };
    const answer = server.call("POST", "/api/v1/namespaces/x/configmaps", object, asJane).then((got) => {
      isAnswered = true;
      return got;
    });
    const isThere = async () => (await server.call("GET", "/api/v1/namespaces/x/configmaps/a")).code === 200;
    for (let turns = 0; turns < 200 && !(await isThere()); turns++) await turn();
    assert.equal(await isThere(), !isStrict);
    assert.equal(isAnswered, false);
    for (let next = 0; !isAnswered; await turn()) if (writes[next]) writes[next++]?.done.resolve(true);
    assert.equal((await answer).code, 201);
    assert.deepEqual(
      writes.map(({ stage }) => stage),
      ["RequestReceived", "ResponseComplete"],
    );
  });

test("events that an answer waits for are one write, and those that nobody waits for are written soon", async () => {
  const clock = new ManualClock();
  const writes: number[] = [];
  const backend: AuditBackend = {
    name: "counted",
    isOrdered: true,
    async write(records) {
      writes.push(records.length);
    },
    close: async () => undefined,
  };
  const metrics = new AuditMetrics(new MetricRegistry(), silentLog);
  const sink = new BlockingSink(backend, metrics, { isStrict: false, clock });
  const kept = [sink.take(new AuditRecord(sample)), sink.take(new AuditRecord(sample))];
  await turn();
  assert.deepEqual(writes, [], "nobody waits yet");
  sink.hurry();
  assert.deepEqual(await Promise.all(kept), [true, true]);
  assert.deepEqual(writes, [2]);
  const lonely = sink.take(new AuditRecord(sample));
  await clock.advance(10);
  assert.equal(await lonely, true);
  assert.deepEqual(writes, [2, 1]);
  await sink.close();
});

test("after a slow write the log goes on, off the event loop, and in order", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "knarr-audit-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "audit.log");
  let elapsed = 0;
  const slow = Object.assign(Object.create(systemClock), { elapsed: () => (elapsed += 10) });
  const options = { format: "json", maxBytes: 0, maxBackups: 0, maxAgeMs: 0, compress: false } as const;
  const log = await auditLogFile({ ...options, path, clock: slow, log: silentLog });
  for (const auditId of ["1", "2", "3"]) await log.write([new AuditRecord({ ...sample, auditId })]);
  await log.close();
  const ids = readFileSync(path, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line).auditID);
  assert.deepEqual(ids, ["1", "2", "3"]);
});
