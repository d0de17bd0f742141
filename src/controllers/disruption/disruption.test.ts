import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/v1/deployment.ts";
import { ReplicaSet } from "#api/apps/v1/replica-set.ts";
import { StatefulSet } from "#api/apps/v1/stateful-set.ts";
import { Job } from "#api/batch/v1/job.ts";
import { catalog } from "#api/catalog.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { ReplicationController } from "#api/core/v1/replication-controller.ts";
import { PodDisruptionBudget } from "#api/policy/v1/pod-disruption-budget.ts";
import { fixedDiscovery } from "#client/discovery.ts";
import { type ClientWorld, world } from "#client/testing.ts";
import { disruptionController } from "./disruption.ts";
import { staleDisruptionController } from "./stale-targets.ts";

const now = "2026-01-01T00:10:00Z";
const ago = (seconds: number) => new Date(Date.parse(now) - seconds * 1000).toISOString().replace(".000", "");
const one = disruptionController(fixedDiscovery(catalog));
const labels = { app: "web" };
const template = { metadata: { labels }, spec: { containers: [{ name: "c", image: "i" }] } };

const haveBudget = (w: ClientWorld, spec: object, status: object = {}) =>
  w.have(PodDisruptionBudget, {
    metadata: { name: "pdb" },
    spec: { selector: { matchLabels: labels }, ...spec },
    status,
  });

/** `count` pods, of which the first `ready` are ready. */
function havePods(w: ClientWorld, count: number, ready = count, ownedBy?: object) {
  for (let i = 0; i < count; i++)
    w.have(
      Pod,
      {
        metadata: { generateName: "p-", labels },
        status: { conditions: [{ type: "Ready", status: i < ready ? "True" : "False" }] },
      },
      ownedBy ? { ownedBy } : {},
    );
}
const replicaSet = (w: ClientWorld, replicas: number, ownedBy?: object) =>
  w.have(
    ReplicaSet,
    { metadata: { name: "rs" }, spec: { replicas, selector: { matchLabels: labels }, template } },
    ownedBy ? { ownedBy } : {},
  );

const status = (w: ClientWorld) => {
  const { currentHealthy, desiredHealthy, expectedPods, disruptionsAllowed, conditions } =
    w.get(PodDisruptionBudget, { name: "pdb" })?.status ?? {};
  const condition = conditions?.find(({ type }) => type === "DisruptionAllowed");
  return [disruptionsAllowed, currentHealthy, desiredHealthy, expectedPods, condition?.reason];
};

interface Case {
  readonly spec: object;
  readonly pods: (w: ClientWorld) => void;
  /** Disruptions allowed, healthy now, healthy desired, expected, and why. */
  readonly expect: unknown[];
}
const cases: Record<string, Case> = {
  "no pods": { spec: { minAvailable: 0 }, pods: (w) => havePods(w, 0), expect: [0, 0, 0, 0, "InsufficientPods"] },
  "a number, met": { spec: { minAvailable: 2 }, pods: (w) => havePods(w, 3), expect: [1, 3, 2, 3, "SufficientPods"] },
  "a number, just met": {
    spec: { minAvailable: 3 },
    pods: (w) => havePods(w, 3),
    expect: [0, 3, 3, 3, "InsufficientPods"],
  },
  "a number, missed": {
    spec: { minAvailable: 3 },
    pods: (w) => havePods(w, 4, 1),
    expect: [0, 1, 3, 4, "InsufficientPods"],
  },
  "a percentage of a ReplicaSet": {
    spec: { minAvailable: "50%" },
    pods: (w) => havePods(w, 3, 3, replicaSet(w, 3)),
    expect: [1, 3, 2, 3, "SufficientPods"],
  },
  "a percentage of what is wanted, not of what is there": {
    spec: { minAvailable: "30%" },
    pods: (w) => havePods(w, 2, 2, replicaSet(w, 10)),
    expect: [0, 2, 3, 10, "InsufficientPods"],
  },
  "a number that may be missing": {
    spec: { maxUnavailable: 1 },
    pods: (w) => havePods(w, 3, 3, replicaSet(w, 3)),
    expect: [1, 3, 2, 3, "SufficientPods"],
  },
  "more may be missing than there are": {
    spec: { maxUnavailable: 10 },
    pods: (w) => havePods(w, 3, 3, replicaSet(w, 3)),
    expect: [3, 3, 0, 3, "SufficientPods"],
  },
  "a percentage that may be missing is rounded up": {
    spec: { maxUnavailable: "30%" },
    pods: (w) => havePods(w, 5, 5, replicaSet(w, 5)),
    expect: [2, 5, 3, 5, "SufficientPods"],
  },
  "the Deployment behind a ReplicaSet counts": {
    spec: { maxUnavailable: "50%" },
    pods: (w) => {
      const spec = { replicas: 8, selector: { matchLabels: labels }, template };
      const deployment = w.have(Deployment, { metadata: { name: "d" }, spec });
      havePods(w, 4, 4, replicaSet(w, 4, deployment));
    },
    expect: [0, 4, 4, 8, "InsufficientPods"],
  },
  "a StatefulSet": {
    spec: { maxUnavailable: 1 },
    pods: (w) => {
      const spec = { replicas: 2, selector: { matchLabels: labels }, serviceName: "s", template };
      havePods(w, 2, 2, w.have(StatefulSet, { metadata: { name: "s" }, spec }));
    },
    expect: [1, 2, 1, 2, "SufficientPods"],
  },
  "a ReplicationController, and pods of a ReplicaSet besides": {
    spec: { maxUnavailable: 1 },
    pods: (w) => {
      const spec = { replicas: 2, selector: labels, template };
      havePods(w, 2, 2, w.have(ReplicationController, { metadata: { name: "rc" }, spec }));
      havePods(w, 1, 1, replicaSet(w, 1));
    },
    expect: [1, 3, 2, 3, "SufficientPods"],
  },
  "pods of nobody with a number": {
    spec: { minAvailable: 1 },
    pods: (w) => havePods(w, 2),
    expect: [1, 2, 1, 2, "SufficientPods"],
  },
  "pods of nobody with a percentage": {
    spec: { minAvailable: "50%" },
    pods: (w) => havePods(w, 2),
    expect: [0, 2, 0, 0, "InsufficientPods"],
  },
  "no selector": {
    spec: { minAvailable: 1, selector: undefined },
    pods: (w) => havePods(w, 2),
    expect: [0, 0, 1, 0, "InsufficientPods"],
  },
  "an empty selector": {
    spec: { minAvailable: 1, selector: {} },
    pods: (w) => havePods(w, 2),
    expect: [1, 2, 1, 2, "SufficientPods"],
  },
  "neither number": { spec: {}, pods: (w) => havePods(w, 2), expect: [0, 2, 0, 0, "InsufficientPods"] },
};
for (const [name, { spec, pods, expect }] of Object.entries(cases))
  test(`what a budget allows: ${name}`, async () => {
    const w = world({ now });
    const budget = haveBudget(w, spec);
    pods(w);
    await w.reconcile(one, budget);
    assert.deepEqual(status(w), expect);
    assert.equal(w.get(PodDisruptionBudget, { name: "pdb" })?.status.observedGeneration, 1);
    w.writes();
    await w.reconcile(one, budget);
    assert.deepEqual(w.writes(), []);
  });

test("pods of nobody are reported where a percentage is of no use", async () => {
  const w = world({ now });
  havePods(w, 1);
  await w.reconcile(one, haveBudget(w, { maxUnavailable: "50%" }));
  assert.match(
    w.events()[0] ?? "",
    /^Warning UnmanagedPods Pods selected by this PodDisruptionBudget \(selector: app=web\)/,
  );
});

test("pods of what cannot be scaled allow nothing, and it is said why", async () => {
  const w = world({ now });
  havePods(w, 2, 2, w.have(Job, { metadata: { name: "j" }, spec: { template } }));
  const budget = haveBudget(w, { maxUnavailable: 1 });
  await w.reconcile(one, budget);
  assert.deepEqual(status(w).at(-1), "SyncFailed");
  const [condition] = w.get(PodDisruptionBudget, { name: "pdb" })?.status.conditions ?? [];
  assert.equal(condition?.message, "jobs.batch does not implement the scale subresource");
  assert.deepEqual(w.events(), [
    "Warning CalculateExpectedPodCountFailed Failed to calculate the number of expected pods: jobs.batch does not implement the scale subresource",
  ]);
  w.writes();
  await w.reconcile(one, budget);
  assert.deepEqual(w.writes(), []);
});

test("a controller that is gone allows nothing", async () => {
  const w = world({ now });
  const set = replicaSet(w, 2);
  havePods(w, 2, 2, set);
  w.lose(ReplicaSet, set.metadata);
  await w.reconcile(one, haveBudget(w, { maxUnavailable: 1 }));
  assert.match(w.events()[0] ?? "", /found no controllers for pod "p-/);
  assert.deepEqual(status(w)[0], 0);
});

test("pods that are being deleted or evicted are not healthy; evictions are forgotten after two minutes", async () => {
  const w = world({ now });
  havePods(w, 5);
  const [a, b, c, d] = w.list(Pod);
  w.have(Pod, { ...d!, metadata: { ...d!.metadata, deletionTimestamp: now, finalizers: ["x/y"] } });
  const names = [a, b, c, d].map((pod) => pod?.metadata.name ?? "");
  const disruptedPods = {
    [names[0] ?? ""]: ago(30),
    [names[1] ?? ""]: ago(119),
    [names[2] ?? ""]: ago(121),
    [names[3] ?? ""]: ago(10),
    gone: ago(10),
  };
  const budget = haveBudget(w, { minAvailable: 1 }, { disruptedPods });
  assert.deepEqual(await w.reconcile(one, budget), { afterMs: 1000 });
  const now2 = w.get(PodDisruptionBudget, { name: "pdb" });
  assert.deepEqual(Object.keys(now2?.status.disruptedPods ?? {}).toSorted(), names.slice(0, 2).toSorted());
  assert.deepEqual(status(w), [1, 2, 1, 5, "SufficientPods"]);
  assert.deepEqual(w.events(), ["Warning NotDeleted Pod was expected by PDB default/pdb to be deleted but it wasn't"]);
});

test("the condition keeps its time as long as its status", async () => {
  const w = world({ now });
  havePods(w, 2);
  const budget = haveBudget(w, { minAvailable: 1 });
  const condition = () => w.get(PodDisruptionBudget, { name: "pdb" })?.status.conditions?.[0];
  await w.reconcile(one, budget);
  await w.clock.advance(60_000);
  havePods(w, 1);
  await w.reconcile(one, budget);
  assert.deepEqual([condition()?.status, condition()?.lastTransitionTime], ["True", now]);
  for (const { metadata } of w.list(Pod)) w.lose(Pod, metadata);
  await w.reconcile(one, budget);
  assert.deepEqual([condition()?.status, condition()?.lastTransitionTime], ["False", "2026-01-01T00:11:00Z"]);
});

const target = {
  type: "DisruptionTarget",
  status: "True",
  reason: "EvictionByEvictionAPI",
  lastTransitionTime: ago(60),
};
const going = { deletionTimestamp: now, finalizers: ["x/y"] };
interface Announced {
  readonly lastTransitionTime?: string;
  readonly reason?: string;
  readonly status?: string;
  readonly metadata?: object;
  readonly phase?: "Failed";
}
const stale: Record<string, [pod: Announced, expect: number | "cleared" | undefined]> = {
  "announced a minute ago": [{}, 60_000],
  "announced two minutes ago": [{ lastTransitionTime: ago(120) }, "cleared"],
  "being deleted": [{ lastTransitionTime: ago(300), metadata: going }, undefined],
  "ended by its kubelet": [{ lastTransitionTime: ago(300), reason: "TerminationByKubelet" }, undefined],
  "over already": [{ lastTransitionTime: ago(300), phase: "Failed" }, undefined],
  "taken back": [{ lastTransitionTime: ago(300), status: "False" }, undefined],
};
for (const [name, [{ metadata, phase, ...condition }, expect]] of Object.entries(stale))
  test(`a pod whose disruption is ${name}: ${expect === undefined ? "nothing is done" : expect}`, async () => {
    const w = world({ now });
    const pod = w.have(Pod, {
      metadata: { name: "p", ...metadata },
      status: { ...(phase && { phase }), conditions: [{ ...target, ...condition }] },
    });
    const again = await w.reconcile(staleDisruptionController, pod);
    assert.equal(again?.afterMs, typeof expect === "number" ? expect : undefined);
    assert.deepEqual(w.writes(), expect === "cleared" ? ["update Pod p/status"] : []);
    if (expect === "cleared")
      assert.deepEqual(w.get(Pod, { name: "p" })?.status.conditions, [
        { type: "DisruptionTarget", status: "False", lastTransitionTime: now, observedGeneration: 1 },
      ]);
  });

test("a pod with two budgets is reported", async () => {
  const w = world({ now });
  haveBudget(w, { minAvailable: 1 });
  w.have(PodDisruptionBudget, { metadata: { name: "other" }, spec: { minAvailable: 1, selector: {} } });
  havePods(w, 1);
  await w.reconcile(staleDisruptionController, w.list(Pod)[0]!);
  assert.match(
    w.events()[0] ?? "",
    /^Warning MultiplePodDisruptionBudgets Pod "default"\/"p-\w+" matches multiple PodDisruptionBudgets. {2}Chose "pdb" arbitrarily\.$/,
  );
});
