// Jobs of all kinds in worlds where anything happens to them: whatever it is, the server accepts what the controller writes, every
// pod is counted at most once, and every job comes to an end.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Job, type JobSpec } from "#api/batch/v1/job.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { isConflict, isNotFound } from "#base/errors.ts";
import { type Random, seededRandom } from "#base/random.ts";
import { hasEnded } from "#rules/pods.ts";
import { jobController } from "../../src/controllers/job/job.ts";
import { jobOrphanController } from "../../src/controllers/job/orphans.ts";
import { type TestCluster, testCluster } from "./cluster.ts";
import { endPods } from "./pods.ts";

const place = { namespace: "default", name: "any" };
const finalizer = "batch.kubernetes.io/job-tracking";
const template = { spec: { restartPolicy: "Never" as const, containers: [{ name: "c", image: "i" }] } };

type Draft = { -readonly [K in keyof JobSpec]?: JobSpec[K] | undefined };

function randomSpec(random: Random): Draft {
  const upTo = (most: number) => Math.floor(random.next() * (most + 1));
  const sometimes = <T>(share: number, make: () => T): T | undefined => (random.next() < share ? make() : undefined);
  const isIndexed = random.next() < 0.6;
  const completions = isIndexed ? 1 + upTo(6) : sometimes(0.8, () => upTo(8));
  const backoffLimitPerIndex = isIndexed ? sometimes(0.5, () => upTo(2)) : undefined;
  const actions = ["Ignore", "Count", "FailJob", "FailIndex"] as const;
  const podFailurePolicy = sometimes(0.4, () => ({
    rules: actions
      .filter((action) => random.next() < 0.5 && (action !== "FailIndex" || backoffLimitPerIndex !== undefined))
      .map((action, i) => ({ action, onExitCodes: { operator: "In" as const, values: [i + 2] } })),
  }));
  return {
    completionMode: isIndexed ? "Indexed" : "NonIndexed",
    completions,
    parallelism: upTo(5),
    suspend: random.next() < 0.2,
    backoffLimit: sometimes(0.6, () => upTo(6)),
    backoffLimitPerIndex,
    maxFailedIndexes: backoffLimitPerIndex === undefined ? undefined : sometimes(0.5, () => upTo(completions ?? 0)),
    podFailurePolicy,
    podReplacementPolicy: podFailurePolicy
      ? "Failed"
      : sometimes(0.5, () => (random.next() < 0.5 ? "Failed" : "TerminatingOrFailed")),
    successPolicy: isIndexed
      ? sometimes(0.3, () => ({ rules: [{ succeededCount: 1 + upTo((completions ?? 1) - 1) }] }))
      : undefined,
    activeDeadlineSeconds: sometimes(0.2, () => 20 + upTo(200)),
  };
}

/** Something that people and clusters do to jobs and their pods. */
async function happen({ client, server }: TestCluster, random: Random, deleted: Set<string>): Promise<void> {
  const roll = random.next();
  const pods = (await client.list(Pod)).items.filter((pod) => !hasEnded(pod));
  const pod = pods[Math.floor(random.next() * pods.length)];
  const job = await client.get(Job, place);
  const { completionMode, completions, parallelism = 0, suspend } = job.spec;
  const change = (spec: Draft) => client.patch(Job, place, "merge", { spec });
  if (roll < 0.2 && pod) {
    deleted.add(pod.metadata.uid ?? "");
    await client.delete(Pod, pod.metadata, random.next() < 0.5 ? { graceSeconds: 0 } : {});
  } else if (roll < 0.3) await change({ suspend: !suspend });
  else if (roll < 0.4) await change({ parallelism: Math.floor(random.next() * 6) });
  else if (roll < 0.45 && completionMode === "Indexed" && completions === parallelism && !job.spec.successPolicy)
    await change({ completions: parallelism + 1, parallelism: parallelism + 1 });
  else if (roll < 0.5) server.clock.jumpTo(server.clock.now() + (random.next() - 0.5) * 120_000);
  else await server.clock.advance(random.next() * 20_000);
}

const tolerating = (work: Promise<unknown>): Promise<unknown> =>
  work.catch((error: unknown) => {
    if (!isConflict(error) && !isNotFound(error)) throw error;
  });

async function live(seed: number): Promise<void> {
  const random = seededRandom(seed);
  const refused: unknown[] = [];
  let created = 0;
  await using cluster = await testCluster({
    controllers: [jobController(), jobOrphanController],
    transport:
      ({ server }) =>
      async (request) => {
        try {
          const response = await server.request(request);
          if (request.verb === "create" && request.resource === "pods") created++;
          return response;
        } catch (error) {
          if (!isConflict(error) && !isNotFound(error)) refused.push(error);
          throw error;
        }
      },
  });
  const { client, until } = cluster;
  const spec = randomSpec(random);
  await client.create(Job, { metadata: place, spec: { template, ...spec } });
  const codes = new Map<string, number>();
  const deleted = new Set<string>();
  const indexes = new Map<string, Set<string>>();
  const end = (share: number, codeOf: () => number) =>
    endPods(cluster, ({ metadata: { uid = "", labels } }) => {
      if (random.next() > share) return undefined;
      const code = codeOf();
      codes.set(uid, code);
      const index = labels?.["batch.kubernetes.io/job-completion-index"] ?? "";
      if (code === 0) indexes.set(index, (indexes.get(index) ?? new Set()).add(uid));
      return code;
    });
  for (let step = 0; step < 25; step++) {
    await tolerating(happen(cluster, random, deleted));
    await end(0.5, () => (random.next() < 0.6 ? 0 : 1 + Math.floor(random.next() * 5)));
  }
  const isOver = async () =>
    (await client.get(Job, place)).status.conditions?.some(({ type }) => type === "Complete" || type === "Failed") ===
    true;
  if (!(await isOver()))
    await tolerating(client.patch(Job, place, "merge", { spec: { suspend: false, parallelism: 5 } }));
  await until(async () => {
    await end(1, () => 0);
    return isOver();
  }, 20_000);
  await until(async () =>
    (await client.list(Pod)).items.every(({ metadata }) => !metadata.finalizers?.includes(finalizer)),
  );

  const { status } = await client.get(Job, place);
  const { succeeded = 0, failed = 0, active = 0, ready, terminating, uncountedTerminatedPods } = status;
  assert.deepEqual(refused, []);
  assert.deepEqual(
    { active, ready, terminating, uncountedTerminatedPods },
    { active: 0, ready: 0, terminating: 0, uncountedTerminatedPods: {} },
  );
  const all = [...codes];
  const good = spec.completionMode === "Indexed" ? indexes.size : all.filter(([, code]) => code === 0).length;
  assert.ok(succeeded <= good, `${succeeded} succeeded of ${good}`);
  assert.ok(succeeded + failed <= created, `${succeeded} succeeded and ${failed} failed of ${created}`);
  const isComplete = status.conditions?.some(({ type }) => type === "Complete");
  if (isComplete && !spec.successPolicy) assert.ok(succeeded >= (spec.completions ?? 1));
}

test("whatever happens to a job, the server accepts what is written, pods are counted once, and it ends", async () => {
  for (let seed = 1; seed <= 60; seed++) {
    try {
      await live(seed);
    } catch (cause) {
      throw new Error(`seed ${seed}`, { cause });
    }
  }
});
