import assert from "node:assert/strict";
import { test } from "node:test";
import type { AdmissionCall } from "../registry/admission.ts";
import { type TestServer, testServer } from "../testing.ts";

const pods = "/api/v1/namespaces/a/pods";
const budgets = "/apis/policy/v1/namespaces/a/poddisruptionbudgets";
const ready = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
const unready = { phase: "Running", conditions: [{ type: "Ready", status: "False" }] };

async function addPod(server: TestServer, name: string, status: object = ready): Promise<void> {
  const metadata = { name, labels: { app: "web" } };
  const spec = { nodeName: "n", containers: [{ name: "c", image: "i" }] };
  const made = await server.call("POST", pods, { metadata, spec });
  assert.equal(made.code, 201, made.text);
  const set = await server.call("PATCH", `${pods}/${name}/status`, { status }, merge);
  assert.equal(set.code, 200, set.text);
}

const merge = { "content-type": "application/merge-patch+json" };

async function addBudget(server: TestServer, name: string, status: object, spec: object = {}): Promise<void> {
  const selector = { matchLabels: { app: "web" } };
  await server.call("POST", budgets, { metadata: { name }, spec: { minAvailable: 1, selector, ...spec } });
  const set = await server.call(
    "PATCH",
    `${budgets}/${name}/status`,
    { status: { observedGeneration: 1, ...status } },
    merge,
  );
  assert.equal(set.code, 200, set.text);
}

const evict = (server: TestServer, name: string, deleteOptions?: object, query = "") =>
  server.call("POST", `${pods}/${name}/eviction${query}`, {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { name },
    deleteOptions,
  });

const isEnding = async (server: TestServer, name: string): Promise<boolean> =>
  (await server.call("GET", `${pods}/${name}`)).json.metadata.deletionTimestamp !== undefined;

test("a pod without a budget is evicted, and its status says why", async () => {
  await using server = await testServer();
  await addPod(server, "p");
  const { code, json } = await evict(server, "p");
  assert.deepEqual([code, json.kind, json.status], [201, "Status", "Success"]);
  const pod = (await server.call("GET", `${pods}/p`)).json;
  assert.notEqual(pod.metadata.deletionTimestamp, undefined);
  assert.deepEqual(pod.status.conditions.at(-1), {
    type: "DisruptionTarget",
    status: "True",
    reason: "EvictionByEvictionAPI",
    message: "Eviction API: evicting",
    lastProbeTime: null,
    lastTransitionTime: "2026-01-01T00:00:00Z",
  });
});

test("an eviction of the old version is one as well", async () => {
  await using server = await testServer();
  await addPod(server, "p");
  const old = { apiVersion: "policy/v1beta1", kind: "Eviction", metadata: { name: "p" } };
  assert.equal((await server.call("POST", `${pods}/p/eviction`, old)).code, 201);
});

test("a budget is charged for each eviction, and refuses when it is used up", async () => {
  await using server = await testServer();
  for (const name of ["a", "b", "c"]) await addPod(server, name);
  await addBudget(server, "web", { disruptionsAllowed: 2, currentHealthy: 3, desiredHealthy: 1, expectedPods: 3 });
  const answers = await Promise.all(["a", "b", "c"].map((name) => evict(server, name)));
  assert.deepEqual(answers.map(({ code }) => code).toSorted(), [201, 201, 429]);
  const { status } = (await server.call("GET", `${budgets}/web`)).json;
  assert.equal(status.disruptionsAllowed, 0);
  assert.equal(Object.keys(status.disruptedPods).length, 2);
  assert.deepEqual(
    status.conditions.map(({ type, status: is, reason }: Record<string, string>) => [type, is, reason]),
    [["DisruptionAllowed", "False", "InsufficientPods"]],
  );
});

test("refusals have upstream's texts and causes", async () => {
  const condition = (reason: string, message: string) => ({
    conditions: [
      { type: "DisruptionAllowed", status: "False", reason, message, lastTransitionTime: "2026-01-01T00:00:00Z" },
    ],
  });
  const cases: readonly [object, string, number | undefined][] = [
    [
      { observedGeneration: 0, disruptionsAllowed: 1 },
      "The disruption budget web is still being processed by the server.",
      10,
    ],
    [
      { currentHealthy: 2, desiredHealthy: 3 },
      "The disruption budget web needs 3 healthy pods and has 2 currently",
      undefined,
    ],
    [
      { currentHealthy: 3, desiredHealthy: 2 },
      "The disruption budget web does not allow evicting pods currently",
      undefined,
    ],
    [
      { currentHealthy: 3, desiredHealthy: 2, ...condition("Busy", "wait") },
      "The disruption budget web does not allow evicting pods currently (Busy): wait",
      undefined,
    ],
    [
      { currentHealthy: 2, desiredHealthy: 3, ...condition("SyncFailed", "no scale") },
      "The disruption budget web does not allow evicting pods currently because it failed sync: no scale",
      undefined,
    ],
  ];
  for (const [status, message, retryAfterSeconds] of cases) {
    await using server = await testServer();
    await addPod(server, "p");
    await addBudget(server, "web", status);
    const { code, json } = await evict(server, "p");
    assert.equal(code, 429);
    assert.equal(json.reason, "TooManyRequests");
    assert.equal(json.message, "Cannot evict pod as it would violate the pod's disruption budget.");
    assert.deepEqual(json.details.causes, [{ reason: "DisruptionBudget", message }]);
    assert.equal(json.details.retryAfterSeconds, retryAfterSeconds);
    assert.equal(await isEnding(server, "p"), false);
  }
});

test("more than one budget is more than can be kept", async () => {
  await using server = await testServer();
  await addPod(server, "p");
  await addBudget(server, "one", { disruptionsAllowed: 1 });
  await addBudget(server, "two", { disruptionsAllowed: 1 });
  const { code, json } = await evict(server, "p");
  assert.deepEqual(
    [code, json.message],
    [500, "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."],
  );
});

test("pods that have ended, or never began, need no budget", async () => {
  for (const phase of ["Pending", "Succeeded", "Failed"]) {
    await using server = await testServer();
    await addPod(server, "p", { phase });
    await addBudget(server, "web", { disruptionsAllowed: 0 });
    assert.equal((await evict(server, "p")).code, 201, phase);
  }
});

test("a pod that is not ready goes free if the policy or the budget lets it", async () => {
  const cases: readonly [string | undefined, object, number][] = [
    ["AlwaysAllow", { currentHealthy: 0, desiredHealthy: 2 }, 201],
    ["IfHealthyBudget", { currentHealthy: 2, desiredHealthy: 2 }, 201],
    [undefined, { currentHealthy: 2, desiredHealthy: 2 }, 201],
    [undefined, { currentHealthy: 1, desiredHealthy: 2 }, 429],
    ["IfHealthyBudget", { currentHealthy: 0, desiredHealthy: 0 }, 429],
  ];
  for (const [unhealthyPodEvictionPolicy, status, code] of cases) {
    await using server = await testServer();
    await addPod(server, "p", unready);
    await addBudget(server, "web", { disruptionsAllowed: 0, ...status }, { unhealthyPodEvictionPolicy });
    assert.equal((await evict(server, "p")).code, code, `${unhealthyPodEvictionPolicy} ${JSON.stringify(status)}`);
    assert.equal((await server.call("GET", `${budgets}/web`)).json.status.disruptionsAllowed, 0);
  }
});

test("a dry run charges nothing and deletes nothing", async () => {
  await using server = await testServer();
  await addPod(server, "p");
  await addBudget(server, "web", { disruptionsAllowed: 1 });
  assert.equal((await evict(server, "p", undefined, "?dryRun=All")).code, 201);
  assert.equal((await evict(server, "p", { dryRun: ["All"] })).code, 201);
  assert.equal(await isEnding(server, "p"), false);
  assert.equal((await server.call("GET", `${budgets}/web`)).json.status.disruptionsAllowed, 1);
});

test("an eviction is admitted as what it is, and the deletion that follows not again", async () => {
  const calls: string[] = [];
  const note =
    (when: string) =>
    async ({ operation, request, kind }: AdmissionCall, object: object | undefined) => {
      const asked = `${kind.plural}${request.subresource ? `/${request.subresource}` : ""}`;
      if (asked === "pods/eviction") calls.push(`${when} ${operation} ${(object as { kind?: string })?.kind}`);
    };
  await using server = await testServer({ admission: { mutate: note("mutate"), validate: note("validate") } });
  await addPod(server, "p");
  assert.equal((await evict(server, "p")).code, 201);
  assert.deepEqual(calls, ["mutate create Eviction", "validate create Eviction"]);
});

test("evictions that make no sense are refused", async () => {
  await using server = await testServer();
  await addPod(server, "p");
  const missing = await evict(server, "q");
  assert.deepEqual([missing.code, missing.json.message], [404, 'pods "q" not found']);
  const other = await server.call("POST", `${pods}/p/eviction`, { metadata: { name: "q" } });
  assert.deepEqual([other.code, other.json.message], [400, "name in URL does not match name in Eviction object"]);
  const odd = await server.call("POST", `${pods}/p/eviction`, { kind: "Pod", metadata: { name: "p" } });
  assert.equal(odd.code, 400);
  const risky = await evict(server, "p", { ignoreStoreReadErrorWithClusterBreakingPotential: true });
  assert.equal(risky.code, 422);
  const stale = await evict(server, "p", { preconditions: { resourceVersion: "1" } });
  assert.equal(stale.json.reason, "Conflict");
  const another = await evict(server, "p", { preconditions: { uid: "x" } });
  assert.match(String(another.json.message), /^Operation cannot be fulfilled on Pod "p": the UID in the precondition/);
  assert.equal(await isEnding(server, "p"), false);
  assert.equal((await server.call("GET", `${pods}/p/eviction`)).code, 405);
});
