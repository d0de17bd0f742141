import assert from "node:assert/strict";
import { test } from "node:test";
import { Causality, parseCauses, RequestTrace, traceIdOf } from "./causality.ts";

const write = (
  causality: Causality,
  revision: number,
  resource: string,
  name: string,
  because?: string,
  traceId = "t",
) =>
  causality.record({
    revision,
    at: revision * 1000,
    address: { group: resource === "pods" ? "" : "apps", version: "v1", resource, namespace: "default" },
    name,
    verb: "update",
    user: { name: "someone", groups: [] },
    userAgent: "test",
    because,
    trace: new RequestTrace(traceId, { elapsed: () => 0 }),
  });

test("an object's trace holds what caused its writes and what they caused, and nothing else", () => {
  const causality = new Causality();
  write(causality, 1, "deployments", "web");
  write(causality, 2, "replicasets", "web-1", "deployments.apps/default/web@1");
  write(causality, 3, "pods", "web-1-a", "replicasets.apps/default/web-1@2");
  write(causality, 4, "pods", "web-1-b", "replicasets.apps/default/web-1@2");
  write(causality, 5, "pods", "other");
  write(causality, 6, "pods", "web-1-a", "pods/default/web-1-a@3");
  const revisions = (resource: string, name: string) =>
    causality.ofObject(resource, "default", name).map(({ revision }) => revision);
  assert.deepEqual(revisions("deployments.apps", "web"), [1, 2, 3, 4, 6]);
  assert.deepEqual(revisions("pods", "web-1-a"), [1, 2, 3, 6]);
  assert.deepEqual(revisions("pods", "other"), [5]);
  assert.deepEqual(revisions("pods", "nobody"), []);
});

test("what followed from an object is told though it led back to the object", () => {
  const causality = new Causality();
  write(causality, 1, "deployments", "web");
  write(causality, 2, "pods", "web-1", "deployments.apps/default/web@1");
  write(causality, 3, "deployments", "web", "deployments.apps/default/web@1,pods/default/web-1@2");
  write(causality, 4, "endpoints", "web", "services/default/web@9,pods/default/web-1@2");
  assert.deepEqual(
    causality.ofObject("deployments.apps", "default", "web").map(({ revision }) => revision),
    [1, 2, 3, 4],
  );
});

test("what a client did before it wrote is remembered with the write", () => {
  const causality = new Causality();
  causality.record({
    revision: 1,
    at: 1000,
    address: { group: "", version: "v1", resource: "pods", namespace: "default" },
    name: "web",
    verb: "update",
    user: { name: "system:node:n1", groups: [] },
    userAgent: "kubelet",
    because: undefined,
    steps: "sandbox@900+5,nonsense",
    trace: undefined,
  });
  const [record] = causality.ofObject("pods", "default", "web");
  assert.deepEqual(record?.steps, [{ step: "sandbox", at: 900, ms: 5 }]);
});

test("records that name each other in a circle end", () => {
  const causality = new Causality();
  write(causality, 1, "pods", "a", "pods/default/b@2");
  write(causality, 2, "pods", "b", "pods/default/a@1");
  assert.equal(causality.ofObject("pods", "default", "a").length, 2);
});

test("memory is bounded: the oldest records go", () => {
  const causality = new Causality(3);
  for (let revision = 1; revision <= 5; revision++) write(causality, revision, "pods", "a", undefined, `t${revision}`);
  assert.deepEqual(
    causality.ofObject("pods", "default", "a").map(({ revision }) => revision),
    [3, 4, 5],
  );
  assert.equal(causality.ofRequest("t1").length, 0);
  assert.equal(causality.ofRequest("t5").length, 1);
});

test("causes are read as far as they can be", () => {
  assert.deepEqual(parseCauses("pods/default/web@17, nodes/n1@3"), [
    { resource: "pods", namespace: "default", name: "web", revision: 17 },
    { resource: "nodes", namespace: "", name: "n1", revision: 3 },
  ]);
  for (const header of [
    undefined,
    "",
    "nonsense",
    "pods/default/web",
    "pods/default/web@x",
    "@1",
    ",".repeat(10_000),
    `${"a".repeat(10_000)}@1`,
  ])
    assert.deepEqual(parseCauses(header), []);
});

test("a W3C trace is taken up only if it is valid", () => {
  assert.equal(
    traceIdOf("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
    "4bf92f3577b34da6a3ce929d0e0e4736",
  );
  for (const header of [undefined, "", "00-00000000000000000000000000000000-00f067aa0ba902b7-01", "00-4BF9-1-1"])
    assert.equal(traceIdOf(header), undefined);
});

test("stages add up", () => {
  let now = 0;
  const trace = new RequestTrace("t", { elapsed: () => now });
  now = 2;
  trace.mark("identify");
  now = 5;
  trace.mark("store");
  now = 6;
  trace.mark("identify");
  assert.deepEqual([trace.spent("identify"), trace.spent("store"), trace.spent("admit")], [3, 3, undefined]);
});
