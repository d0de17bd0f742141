// Priority and fairness on a whole server: who waits for whom, and what the objects about it do.
import assert from "node:assert/strict";
import { test } from "node:test";
import { turn } from "#base/breathe.ts";
import { MetricRegistry } from "#base/metrics.ts";
import type { User } from "#wire/api-request.ts";
import { type Admission, admitAll } from "../registry/admission.ts";
import { type TestServer, testServer } from "../testing.ts";

const { signal } = new AbortController();
const known = "system:authenticated";
const users: Readonly<Record<string, User>> = {
  ann: { name: "ann", groups: [known] },
  bob: { name: "bob", groups: [known] },
  node: { name: "system:node:n1", groups: ["system:nodes", known] },
  admin: { name: "admin", groups: ["system:masters", known] },
};
const as = (name: string) => ({ authorization: `Bearer ${name}` });
const maps = "/api/v1/namespaces/default/configmaps";
const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
const flowControl = "/apis/flowcontrol.apiserver.k8s.io/v1";

/** A server with few seats whose requests of ann wait at the authorizer until they are let go. */
async function floodedServer(requests: number) {
  const gate = Promise.withResolvers<void>();
  const metrics = new MetricRegistry();
  const server = await testServer({
    users,
    metrics,
    inFlight: { reads: 20, writes: 10, lasting: 100 },
    authorizers: () => [
      async ({ user }) => {
        if (user.name === "ann") await gate.promise;
        return { decision: "allow" };
      },
    ],
  });
  await server.server.system({ address: undefined, port: 6443 }).reconcile(signal);
  const flood = Array.from({ length: requests }, () => server.call("GET", maps, undefined, as("ann")));
  for (let i = 0; i < 20; i++) await turn();
  return { server, metrics, flood, open: gate.resolve };
}

const conditionOf = async (server: TestServer, name: string) =>
  (await server.call("GET", `${flowControl}/flowschemas/${name}`)).json?.status?.conditions?.[0];

/** Waits until a condition has come about; the test's own time bounds it. */
async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await turn();
}

test("one user who floods does not keep others, nodes or the exempt from being served", async () => {
  const { server, flood, open } = await floodedServer(500);
  await using _ = server;
  for (const name of ["bob", "node", "admin"])
    assert.equal((await server.call("GET", maps, undefined, as(name))).code, 200, name);
  const lease = { metadata: { name: "n1" }, spec: { holderIdentity: "n1" } };
  assert.equal((await server.call("POST", leases, lease, as("node"))).code, 201);
  const rejected: number[] = [];
  for (const answer of flood) void answer.then(({ code }) => code === 429 && rejected.push(code));
  for (let i = 0; i < 20; i++) await turn();
  assert.equal(rejected.length, 100, "more are told later, when they should come back");
  await server.clock.advance(3000);
  open();
  const codes = (await Promise.all(flood)).map(({ code }) => code);
  assert.equal(codes.filter((code) => code === 200).length + codes.filter((code) => code === 429).length, 500);
  assert.ok(codes.filter((code) => code === 200).length >= 300, "those in six queues of fifty are served");
});

test("an answer tells by which schema and level it was served, and a rejection when to come back", async () => {
  const { server, flood, open } = await floodedServer(400);
  await using _ = server;
  const uidOf = async (path: string) => (await server.call("GET", `${flowControl}/${path}`)).json.metadata.uid;
  const { headers } = await server.call("GET", maps, undefined, as("bob"));
  assert.equal(headers?.["x-kubernetes-pf-flowschema-uid"], await uidOf("flowschemas/global-default"));
  assert.equal(
    headers?.["x-kubernetes-pf-prioritylevel-uid"],
    await uidOf("prioritylevelconfigurations/global-default"),
  );
  const rejection = await Promise.race(flood);
  assert.deepEqual([rejection.code, rejection.text], [429, "Too many requests, please try again later.\n"]);
  assert.equal(rejection.headers?.["retry-after"], "1");
  assert.ok(rejection.headers?.["x-kubernetes-pf-flowschema-uid"]);
  open();
  await server.clock.advance(3000);
  await Promise.all(flood);
});

test("who has waited a quarter of the time that requests have is told to come back", async () => {
  const { server, flood, open } = await floodedServer(60);
  await using _ = server;
  const settled: number[] = [];
  for (const answer of flood) void answer.then(({ code }) => settled.push(code));
  await server.clock.advance(14_000);
  assert.deepEqual(settled, []);
  await server.clock.advance(1500);
  assert.ok(settled.length > 30 && settled.every((code) => code === 429), String(settled));
  open();
  await Promise.all(flood);
});

test("a request that takes too long is answered that it did", async () => {
  const { server, flood, open } = await floodedServer(1);
  await using _ = server;
  const short = server.call("GET", `${maps}?timeout=5s`, undefined, as("ann"));
  await server.clock.advance(5000);
  assert.deepEqual([(await short).code, (await short).json.reason], [504, "Timeout"]);
  await server.clock.advance(55_000);
  assert.equal((await Promise.all(flood))[0]?.code, 504);
  open();
});

test("once a request has taken too long, nobody works for it, and nothing is written", async () => {
  const gate = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<AbortSignal>();
  const admission: Admission = {
    ...admitAll,
    mutate: (call) => {
      if (call.operation !== "create" || call.request.resource !== "configmaps") return undefined;
      asked.resolve(call.request.signal);
      return gate.promise;
    },
  };
  await using server = await testServer({ admission });
  const created = server.call("POST", maps, { metadata: { name: "slow" } });
  const signal = await asked.promise;
  await server.clock.advance(59_000);
  assert.equal(signal.aborted, false);
  await server.clock.advance(1000);
  assert.deepEqual([(await created).code, (await created).json.reason], [504, "Timeout"]);
  assert.equal(signal.aborted, true);
  gate.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal((await server.call("GET", `${maps}/slow`)).code, 404);
});

test("the tables show levels, queues and requests", async () => {
  const { server, flood, open } = await floodedServer(60);
  await using _ = server;
  const table = async (name: string) =>
    (await server.call("GET", `/debug/api_priority_and_fairness/${name}`)).text
      .trimEnd()
      .split("\n")
      .map((line) => line.split(/, */));
  const levels = await table("dump_priority_levels");
  assert.deepEqual(levels[0]?.slice(0, 6), [
    ..."PriorityLevelName ActiveQueues IsIdle IsQuiescing WaitingRequests ExecutingRequests".split(" "),
  ]);
  const row = levels.find(([name]) => name === "global-default");
  assert.equal(row?.[2], "false");
  assert.equal(Number(row?.[4]) + Number(row?.[5]), 60);
  const queues = (await table("dump_queues")).filter(([name]) => name === "global-default");
  assert.equal(queues.length, 128);
  assert.equal(
    queues.reduce((sum, one) => sum + Number(one[2]), 0),
    Number(row?.[4]),
  );
  const requests = (await table("dump_requests?includeRequestDetails=1")).filter(
    ([, schema]) => schema === "global-default",
  );
  assert.equal(requests.length, 60);
  assert.deepEqual(requests[0]?.slice(10), ["ann", "list", maps, "default", "", "v1", "configmaps", ""]);
  open();
  await Promise.all(flood);
});

test("a watch holds seats only until it has begun", async () => {
  const { server, metrics, open } = await floodedServer(0);
  await using _ = server;
  const stop = new AbortController();
  const events = await server.watch(`${maps}?watch=1`, stop.signal);
  const first = events.next();
  for (let i = 0; i < 5; i++) await turn();
  const executing = (await metrics.text())
    .split("\n")
    .filter((line) => /current_executing_requests\{.*\} [1-9]/.test(line));
  assert.deepEqual(executing, []);
  stop.abort(new Error("enough"));
  await first;
  open();
});

test("a schema whose level is missing says so, leads nowhere, and does once the level is there", async () => {
  const { server, open } = await floodedServer(0);
  await using _ = server;
  const schema = {
    metadata: { name: "mine" },
    spec: {
      matchingPrecedence: 10,
      priorityLevelConfiguration: { name: "my-level" },
      rules: [
        {
          subjects: [{ kind: "User", user: { name: "bob" } }],
          resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true }],
        },
      ],
    },
  };
  const { json } = await server.call("POST", `${flowControl}/flowschemas`, schema);
  await until(async () => (await conditionOf(server, "mine"))?.status === "True");
  assert.equal((await conditionOf(server, "mine")).reason, "NotFound");
  const schemaOf = async () =>
    (await server.call("GET", maps, undefined, as("bob"))).headers?.["x-kubernetes-pf-flowschema-uid"];
  assert.notEqual(await schemaOf(), json.metadata.uid);
  const level = {
    metadata: { name: "my-level" },
    spec: { type: "Limited", limited: { limitResponse: { type: "Reject" } } },
  };
  assert.equal((await server.call("POST", `${flowControl}/prioritylevelconfigurations`, level)).code, 201);
  await until(async () => (await conditionOf(server, "mine"))?.status === "False");
  assert.equal(await schemaOf(), json.metadata.uid);
  await server.call("DELETE", `${flowControl}/prioritylevelconfigurations/my-level`);
  await until(async () => (await conditionOf(server, "mine"))?.status === "True");
  assert.notEqual(await schemaOf(), json.metadata.uid);
  open();
});

test("what every server has is put right, what people made their own stays, and what is deleted comes back", async () => {
  const { server, open } = await floodedServer(0);
  await using _ = server;
  const system = server.server.system({ address: undefined, port: 6443 });
  const levels = `${flowControl}/prioritylevelconfigurations`;
  const patch = { "content-type": "application/merge-patch+json" };
  const shares = (value: number) => ({ spec: { limited: { nominalConcurrencyShares: value } } });
  const sharesOf = async (name: string) =>
    (await server.call("GET", `${levels}/${name}`)).json.spec.limited.nominalConcurrencyShares;
  await server.call("PATCH", `${levels}/system`, shares(77), patch);
  const own = { metadata: { annotations: { "apf.kubernetes.io/autoupdate-spec": "false" } }, ...shares(78) };
  await server.call("PATCH", `${levels}/workload-low`, own, patch);
  await server.call("PATCH", `${levels}/exempt`, { spec: { exempt: { lendablePercent: 50 } } }, patch);
  await server.call("DELETE", `${flowControl}/flowschemas/probes`);
  const old = { metadata: { name: "old", annotations: { "apf.kubernetes.io/autoupdate-spec": "true" } } };
  await server.call("POST", levels, {
    ...old,
    spec: { type: "Limited", limited: { limitResponse: { type: "Reject" } } },
  });
  await system.reconcile(signal);
  assert.deepEqual([await sharesOf("system"), await sharesOf("workload-low")], [30, 78]);
  assert.equal((await server.call("GET", `${levels}/exempt`)).json.spec.exempt.lendablePercent, 50);
  assert.equal((await server.call("GET", `${flowControl}/flowschemas/probes`)).code, 200);
  assert.equal((await server.call("GET", `${levels}/old`)).code, 404);
  const { managedFields } = (await server.call("GET", `${flowControl}/flowschemas/probes`)).json.metadata;
  const managers = managedFields?.map(({ manager }) => manager);
  assert.ok(managers?.includes("api-priority-and-fairness-config-producer-v1"), String(managers));
  open();
});

test("a level that others do not use lends them its seats, and gets them back", async () => {
  const { server, metrics, flood, open } = await floodedServer(60);
  await using _ = server;
  const limitOf = async (level: string) => {
    const line = (await metrics.text())
      .split("\n")
      .find((one) => one.includes("current_limit_seats{") && one.includes(`"${level}"`));
    return Number(line?.split(" ")[1]);
  };
  const before = await limitOf("global-default");
  await server.clock.advance(10_000);
  const during = await limitOf("global-default");
  assert.ok(during > before, `${during} seats, ${before} before`);
  assert.ok((await limitOf("leader-election")) >= 2, "a level that lends nothing keeps what it has");
  open();
  await Promise.all(flood);
  for (let minutes = 0; minutes < 30; minutes++) await server.clock.advance(60_000);
  assert.ok((await limitOf("global-default")) < during);
});
