import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Deployment } from "#api/apps/v1/deployment.ts";
import { ReplicaSet } from "#api/apps/v1/replica-set.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { ApiError } from "#base/errors.ts";
import { type ClientWorld, world } from "#client/testing.ts";
import { isReady } from "#rules/conditions.ts";
import { isActive } from "#rules/pods.ts";
import { timeOf } from "#schema/time.ts";
import { replicaSetController } from "../replicaset.ts";
import { templateHash } from "../template-hash.ts";
import { deploymentController } from "./deployment.ts";
import { boundsOf, newSize, oldSizes, proportionalSizes } from "./sizes.ts";

const labels = { app: "web" };
const template = (image: string) => ({ metadata: { labels }, spec: { containers: [{ name: "c", image }] } });
const deploy = (w: ClientWorld, replicas: number, spec: object = {}, metadata: object = {}) =>
  w.have(Deployment, {
    metadata: { name: "web", ...metadata },
    spec: { replicas, selector: { matchLabels: labels }, template: template("v1"), ...spec },
  });
const now = (w: ClientWorld) => w.get(Deployment, { name: "web" })!;
const change = (w: ClientWorld, spec: object) =>
  w.client.update(Deployment, { ...now(w), spec: { ...now(w).spec, ...spec } });
const sets = (w: ClientWorld) =>
  w
    .list(ReplicaSet)
    .toSorted((a, b) => Number(a.metadata.annotations?.[revision]) - Number(b.metadata.annotations?.[revision]));
const revision = "deployment.kubernetes.io/revision";
const images = (w: ClientWorld): Record<string, number> =>
  Object.fromEntries(sets(w).map(({ spec }) => [spec.template.spec.containers[0]?.image ?? "", spec.replicas]));
const condition = (w: ClientWorld, type: string) => {
  const found = now(w).status.conditions?.find((one) => one.type === type);
  return found && `${found.status} ${found.reason} ${found.message}`;
};

const makeReady = (w: ClientWorld, pods = w.list(Pod).filter(isActive)) => {
  for (const pod of pods.filter((one) => !isReady(one))) setReady(w, pod, "True");
};
function setReady(w: ClientWorld, { status: _status, ...pod }: Pod, status: "True" | "False") {
  const conditions = [{ type: "Ready", status, lastTransitionTime: timeOf(w.clock.now()) }];
  w.have(Pod, { ...pod, status: { phase: "Running", conditions } });
}

/** One look of each controller at everything there is. */
async function round(w: ClientWorld, ready = true) {
  if (ready) makeReady(w);
  if (w.get(Deployment, { name: "web" })) await w.reconcile(deploymentController, now(w));
  for (const rs of w.list(ReplicaSet)) await w.reconcile(replicaSetController, rs);
}
async function settle(w: ClientWorld, ready = true) {
  w.writes();
  for (let i = 0; i < 60; i++) {
    await round(w, ready);
    if (w.writes().length === 0) return;
  }
  assert.fail("it goes on writing");
}

test("a deployment makes a replica set of its template, and says so", async () => {
  const w = world();
  deploy(w, 3, {}, { annotations: { cause: "first" } });
  await w.reconcile(deploymentController, now(w));
  const [rs] = sets(w);
  const hash = templateHash(now(w).spec.template);
  assert.match(hash, /^[bcdfghjklmnpqrstvwxz2456789]{1,10}$/);
  assert.equal(rs?.metadata.name, `web-${hash}`);
  assert.deepEqual(rs?.metadata.labels, { ...labels, "pod-template-hash": hash });
  assert.deepEqual(rs?.spec.selector, { matchLabels: { ...labels, "pod-template-hash": hash } });
  assert.deepEqual(rs?.metadata.annotations, {
    cause: "first",
    [revision]: "1",
    "deployment.kubernetes.io/desired-replicas": "3",
    "deployment.kubernetes.io/max-replicas": "4",
  });
  assert.deepEqual(w.events(), [`Normal ScalingReplicaSet Scaled up replica set web-${hash} from 0 to 3`]);
  assert.deepEqual(w.writes(), [`create ReplicaSet web-${hash}`, "update Deployment web/status"]);
  assert.equal(now(w).metadata.annotations?.[revision], "1");
  assert.equal(condition(w, "Progressing"), `True NewReplicaSetCreated Created new replica set "web-${hash}"`);
  assert.equal(
    condition(w, "Available"),
    "False MinimumReplicasUnavailable Deployment does not have minimum availability.",
  );
  await settle(w);
  assert.equal(condition(w, "Available"), "True MinimumReplicasAvailable Deployment has minimum availability.");
  assert.equal(
    condition(w, "Progressing"),
    `True NewReplicaSetAvailable ReplicaSet "web-${hash}" has successfully progressed.`,
  );
  const { conditions: _conditions, ...counts } = now(w).status;
  assert.deepEqual(counts, {
    observedGeneration: 1,
    replicas: 3,
    updatedReplicas: 3,
    readyReplicas: 3,
    availableReplicas: 3,
    terminatingReplicas: 0,
  });
});

test("revisions are counted exactly up to the last number of 64 bits", async () => {
  const w = world();
  deploy(w, 1);
  await settle(w);
  const [first] = sets(w);
  assert.ok(first);
  for (const [i, [before, after]] of [
    ["3546343826724305832", "3546343826724305833"],
    ["9007199254740993", "9007199254740994"],
  ].entries()) {
    const rs = w.get(ReplicaSet, first.metadata)!;
    await w.client.update(ReplicaSet, {
      ...rs,
      metadata: { ...rs.metadata, annotations: { ...rs.metadata.annotations, [revision]: before ?? "" } },
    });
    await change(w, { template: template(`huge-${i}`) });
    await settle(w);
    assert.equal(now(w).metadata.annotations?.[revision], after);
    for (const one of w.list(ReplicaSet))
      if (one.metadata.name !== first.metadata.name) await w.client.delete(ReplicaSet, one.metadata);
  }
});

test("a rollout ends with the new template, and rolling back reuses the old set", async () => {
  const w = world();
  deploy(w, 10);
  await settle(w);
  await change(w, { template: template("v2") });
  await settle(w);
  assert.deepEqual(images(w), { v1: 0, v2: 10 });
  await change(w, { template: template("v1") });
  await settle(w);
  assert.deepEqual(images(w), { v2: 0, v1: 10 });
  assert.deepEqual(
    sets(w).map(({ metadata }) => [metadata.annotations?.[revision], metadata.annotations?.[`${revision}-history`]]),
    [
      ["2", undefined],
      ["3", "1"],
    ],
  );
  assert.equal(now(w).metadata.annotations?.[revision], "3");
});

test("a rollout that gets stuck is reported after its deadline, and recovers", async () => {
  const w = world();
  deploy(w, 4, { progressDeadlineSeconds: 60 });
  await settle(w);
  await change(w, { template: template("bad") });
  await settle(w, false);
  assert.deepEqual(images(w), { v1: 3, bad: 2 });
  const again = await w.reconcile(deploymentController, now(w));
  assert.deepEqual(again, { afterMs: 61_000 });
  await w.clock.advance(61_000);
  await settle(w, false);
  const [, bad] = sets(w);
  assert.equal(
    condition(w, "Progressing"),
    `False ProgressDeadlineExceeded ReplicaSet "${bad?.metadata.name}" has timed out progressing.`,
  );
  assert.equal(await w.reconcile(deploymentController, now(w)), undefined);
  await change(w, { template: template("good") });
  await settle(w);
  assert.deepEqual(images(w), { v1: 0, bad: 0, good: 4 });
  assert.match(condition(w, "Progressing") ?? "", /^True NewReplicaSetAvailable/);
});

test("a paused deployment is scaled in proportion, but not rolled out", async () => {
  const w = world();
  deploy(w, 10, { strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 3, maxUnavailable: 2 } } });
  await settle(w);
  await change(w, { template: template("v2") });
  await round(w, false);
  await round(w, false);
  await settle(w, false);
  assert.deepEqual(images(w), { v1: 8, v2: 5 });
  await change(w, { paused: true, template: template("v3") });
  await settle(w, false);
  assert.equal(condition(w, "Progressing"), "Unknown DeploymentPaused Deployment is paused");
  assert.deepEqual(images(w), { v1: 8, v2: 5 });
  await change(w, { replicas: 20 });
  await settle(w, false);
  assert.deepEqual(images(w), { v1: 14, v2: 9 });
  await change(w, { paused: false });
  await w.reconcile(deploymentController, now(w));
  assert.equal(condition(w, "Progressing")?.split(" ")[1], "NewReplicaSetCreated");
  await settle(w);
  assert.deepEqual(images(w), { v1: 0, v2: 0, v3: 20 });
});

test("Recreate ends all old pods before the first new one", async () => {
  const w = world();
  deploy(w, 3, { strategy: { type: "Recreate" } });
  await settle(w);
  await change(w, { template: template("v2") });
  const seen = new Set<string>();
  for (let i = 0; i < 10; i++) {
    await round(w);
    seen.add(
      [
        ...new Set(
          w
            .list(Pod)
            .filter(isActive)
            .map(({ spec }) => spec.containers[0]?.image),
        ),
      ].join(),
    );
  }
  assert.deepEqual([...seen], ["", "v2"]);
  assert.deepEqual(images(w), { v1: 0, v2: 3 });
});

test("only as many old sets are kept as the history is long", async () => {
  const w = world();
  deploy(w, 1, { revisionHistoryLimit: 2 });
  for (const image of ["v1", "v2", "v3", "v4", "v5"]) {
    await change(w, { template: template(image) });
    await settle(w);
  }
  assert.deepEqual(images(w), { v3: 0, v4: 0, v5: 1 });
});

test("a set of that name with another template is a collision, counted and avoided", async () => {
  const w = world();
  const d = deploy(w, 1);
  w.have(ReplicaSet, {
    metadata: { name: `web-${templateHash(d.spec.template)}` },
    spec: { replicas: 0, selector: { matchLabels: { app: "x" } }, template: { metadata: { labels: { app: "x" } } } },
  });
  await assert.rejects(w.reconcile(deploymentController, d), /already exists/);
  assert.equal(now(w).status.collisionCount, 1);
  await w.reconcile(deploymentController, d);
  assert.ok(w.get(ReplicaSet, { name: `web-${templateHash(d.spec.template, 1)}` }));
});

test("a set that cannot be created is reported", async () => {
  const w = world();
  const d = deploy(w, 1);
  const error = new ApiError({ code: 403, reason: "Forbidden", message: "no" });
  w.fail(({ verb }) => (verb === "create" ? error : undefined));
  await assert.rejects(w.reconcile(deploymentController, d), error);
  const message = `Failed to create new replica set "web-${templateHash(d.spec.template)}": no`;
  assert.deepEqual(w.events(), [`Warning ReplicaSetCreateError ${message}`]);
  assert.equal(condition(w, "Progressing"), `False ReplicaSetCreateError ${message}`);
});

test("what keeps a set from making pods is shown on the deployment", async () => {
  const w = world();
  deploy(w, 1);
  await w.reconcile(deploymentController, now(w));
  const error = new ApiError({ code: 403, reason: "Forbidden", message: "exceeded quota" });
  w.fail(({ verb, resource }) => (verb === "create" && resource === "pods" ? error : undefined));
  await assert.rejects(w.reconcile(replicaSetController, w.list(ReplicaSet)[0]!), error);
  await w.reconcile(deploymentController, now(w));
  assert.equal(condition(w, "ReplicaFailure"), "True FailedCreate exceeded quota");
  w.fail(() => undefined);
  await settle(w);
  assert.equal(condition(w, "ReplicaFailure"), undefined);
});

test("the old annotation for rolling back is obeyed once", async () => {
  const w = world();
  deploy(w, 1);
  await settle(w);
  await change(w, { template: template("v2") });
  await settle(w);
  const ask = (value: string) => {
    const { metadata } = now(w);
    const annotations = { ...metadata.annotations, "deprecated.deployment.rollback.to": value };
    return w.client.update(Deployment, { ...now(w), metadata: { ...metadata, annotations } });
  };
  w.events();
  await ask("0");
  await settle(w);
  assert.deepEqual(images(w), { v2: 0, v1: 1 });
  assert.equal(w.events()[0], 'Normal DeploymentRollback Rolled back deployment "web" to revision 1');
  await ask("7");
  await settle(w);
  assert.deepEqual(w.events(), [
    "Warning DeploymentRollbackRevisionNotFound Unable to find the revision to rollback to.",
  ]);
  await ask("3");
  await settle(w);
  assert.match(w.events()[0] ?? "", /^Warning DeploymentRollbackTemplateUnchanged/);
});

test("a deployment adopts sets that it selects", async () => {
  const w = world();
  const d = deploy(w, 2);
  const spec = { replicas: 2, selector: { matchLabels: labels }, template: d.spec.template };
  w.have(ReplicaSet, { metadata: { name: "mine", labels }, spec });
  await settle(w);
  assert.deepEqual(
    w.list(ReplicaSet).map(({ metadata }) => [metadata.name, metadata.ownerReferences?.[0]?.uid]),
    [["mine", d.metadata.uid]],
  );
  assert.equal(now(w).metadata.annotations?.[revision], "1");
});

test("percentages never round both limits to zero", () => {
  const bounds = (replicas: number, maxSurge: number | string, maxUnavailable: number | string) => {
    const strategy = { type: "RollingUpdate" as const, rollingUpdate: { maxSurge, maxUnavailable } };
    const { surge, unavailable } = boundsOf(deploy(world(), replicas, { strategy }));
    return [surge, unavailable];
  };
  assert.deepEqual(bounds(10, "25%", "25%"), [3, 2]);
  assert.deepEqual(bounds(1, "25%", "25%"), [1, 0]);
  assert.deepEqual(bounds(3, 0, "10%"), [0, 1]);
  assert.deepEqual(bounds(2, 0, 5), [0, 2]);
  assert.deepEqual(bounds(0, "50%", "50%"), [0, 0]);
});

test("sizes of a step, by example", () => {
  const bounds = { replicas: 10, surge: 3, unavailable: 2 };
  const none = { replicas: 0, pods: 0, available: 0 };
  const full = { replicas: 10, pods: 10, available: 10 };
  assert.equal(newSize(bounds, none, [full]), 3);
  assert.deepEqual(oldSizes(bounds, { replicas: 3, pods: 3, available: 0 }, [full]), [8]);
  assert.equal(newSize(bounds, { replicas: 3, pods: 3, available: 0 }, [{ ...full, replicas: 8 }]), 3);
  assert.equal(newSize(bounds, { replicas: 3, pods: 3, available: 0 }, [{ replicas: 8, pods: 8, available: 8 }]), 5);
  const sick = { replicas: 4, pods: 4, available: 0 };
  assert.deepEqual(oldSizes(bounds, { ...none, replicas: 3 }, [sick, { replicas: 6, pods: 6, available: 6 }]), [2, 6]);
});

test("proportional sizes add up to what is allowed", () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(20), { minLength: 2, maxLength: 5 }),
      fc.nat(60),
      fc.nat(5),
      (sizes, replicas, surge) => {
        const w = world();
        const strategy = { type: "RollingUpdate", rollingUpdate: { maxSurge: surge, maxUnavailable: 1 } };
        const d = deploy(w, replicas, { strategy });
        const before = sizes.reduce((a, b) => a + b, 0);
        const all = sizes.map((size, i) => {
          const annotations = { "deployment.kubernetes.io/max-replicas": String(before) };
          return w.have(ReplicaSet, { metadata: { name: `rs-${i}`, annotations }, spec: { replicas: size } });
        });
        const result = [
          ...proportionalSizes(
            d,
            all.filter(({ spec }) => spec.replicas > 0),
          ).values(),
        ];
        if (result.length === 0) return;
        assert.ok(result.every((size) => size >= 0));
        assert.equal(
          result.reduce((a, b) => a + b, 0),
          replicas > 0 ? replicas + surge : 0,
        );
      },
    ),
  );
});

test("a rolling update stays within its bounds at every single write, whatever fails meanwhile, and arrives", async () => {
  const limit = fc.oneof(
    fc.nat(4),
    fc.nat(100).map((percent) => `${percent}%`),
  );
  const steps = fc.array(fc.tuple(fc.constantFrom("deployment", "set", "ready", "fail", "template"), fc.nat(1000)), {
    maxLength: 120,
  });
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 12 }),
      limit,
      limit,
      steps,
      async (replicas, maxSurge, maxUnavailable, script) => {
        const w = world();
        deploy(w, replicas, { strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge, maxUnavailable } } });
        await settle(w);
        const { surge, unavailable } = boundsOf(now(w));
        let failures = 0;
        w.fail(() => {
          const active = w.list(Pod).filter(isActive);
          assert.ok(active.length <= replicas + surge, `${active.length} pods`);
          const available = active.filter(isReady).length;
          assert.ok(available >= replicas - unavailable - failures, `${available} available, ${failures} failed`);
          return undefined;
        });
        await change(w, { template: template("v2") });
        let version = 2;
        for (const [step, choice] of script) {
          const pick = <T>(all: readonly T[]): T | undefined => all[choice % all.length];
          const active = w.list(Pod).filter(isActive);
          if (step === "deployment") await w.reconcile(deploymentController, now(w));
          else if (step === "set") await w.reconcile(replicaSetController, pick(w.list(ReplicaSet))!);
          else if (step === "template" && choice < 200) await change(w, { template: template(`v${++version}`) });
          else if (step === "ready") makeReady(w, [pick(active.filter((pod) => !isReady(pod))) ?? []].flat());
          else if (step === "fail" && choice < 300) {
            const pod = pick(active.filter(isReady));
            if (!pod) continue;
            failures++;
            setReady(w, pod, "False");
          }
          await w.client.list(Pod);
        }
        await settle(w);
        assert.deepEqual(
          Object.entries(images(w)).filter(([, size]) => size > 0),
          [[`v${version}`, replicas]],
        );
        assert.equal(now(w).status.availableReplicas, replicas);
      },
    ),
    { numRuns: 150 },
  );
});
