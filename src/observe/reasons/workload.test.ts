import assert from "node:assert/strict";
import { test } from "node:test";
import { DaemonSet } from "#api/apps/v1/daemon-set.ts";
import { Deployment } from "#api/apps/v1/deployment.ts";
import { ReplicaSet } from "#api/apps/v1/replica-set.ts";
import { StatefulSet } from "#api/apps/v1/stateful-set.ts";
import { CronJob } from "#api/batch/v1/cron-job.ts";
import { Job } from "#api/batch/v1/job.ts";
import { began, eventThat, lately, made, now, podRunning, podWith, readyPod } from "../testing.ts";
import { cronJobReason, jobReason } from "./job.ts";
import type { PodFacts } from "./pod-facts.ts";
import {
  daemonSetReason,
  deploymentReason,
  replicaSetReason,
  statefulSetReason,
  type WorkloadFacts,
} from "./workload.ts";

const selector = { matchLabels: { app: "web" } };
const template = {
  metadata: { labels: selector.matchLabels },
  spec: { containers: [{ name: "main", image: "nginx" }] },
};
const metadata = { name: "web", namespace: "default", generation: 2 };
const facts = <O>(owner: O, rest: Partial<WorkloadFacts<O>> = {}): WorkloadFacts<O> => ({
  owner,
  pods: [],
  sets: [],
  events: [],
  now,
  ...rest,
});
const named = (name: string, one: PodFacts): PodFacts => ({
  ...one,
  pod: { ...one.pod, metadata: { ...one.pod.metadata, name } },
});
const unpulled = (name: string) =>
  named(name, podRunning({ state: { waiting: { reason: "ImagePullBackOff", message: "not found" } } }));
const refused = eventThat(
  "FailedCreate",
  'Error creating: pods "x" is forbidden: exceeded quota: small, requested: pods=1',
);

const deployment = (status: object, spec: object = {}) =>
  made(Deployment, {
    metadata,
    spec: { replicas: 3, selector, template, ...spec },
    status: { observedGeneration: 2, ...status },
  });
const allThere = { replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3 };

test("why groups the pods of a deployment by their trouble, the worst first", () => {
  const {
    says,
    state,
    code,
    parts = [],
    remedies,
  } = deploymentReason(
    facts(deployment({ replicas: 3, updatedReplicas: 3, readyReplicas: 1 }), {
      pods: [readyPod("web-a"), unpulled("web-b"), unpulled("web-c")],
    }),
  );
  assert.equal(says, "is not complete: 1 of 3 pods is ready");
  assert.deepEqual([state, code], ["wrong", "ImagePull"]);
  assert.deepEqual(
    parts.map(({ names, of, reason }) => [names.join(" "), of, reason.code]),
    [
      ["web-b web-c", 3, "ImagePull"],
      ["web-a", 3, "Running"],
    ],
  );
  assert.deepEqual(remedies, ["correct the image's name or tag"]);
});

const pods = [readyPod("web-a"), readyPod("web-b"), readyPod("web-c")];
const leaving = podWith({
  metadata: { name: "old", deletionTimestamp: "2026-01-01T00:10:20Z", deletionGracePeriodSeconds: 30 },
  spec: { nodeName: "n1" },
});

const deployments: Readonly<Record<string, readonly [WorkloadFacts<Deployment>, string, string, RegExp]>> = {
  complete: [
    facts(deployment(allThere), { pods }),
    "Complete",
    "fine",
    /is complete: all 3 pods are up to date and ready/,
  ],
  "an old pod that ends": [
    facts(deployment(allThere), { pods: [...pods, leaving] }),
    "Complete",
    "fine",
    /is complete: all 3/,
  ],
  "a rollout": [
    facts(deployment({ ...allThere, replicas: 4, updatedReplicas: 1 }), { pods }),
    "Progressing",
    "underway",
    /is rolling out: 1 of 3 pods are new, 3 available, 3 old ones left/,
  ],
  "no replicas": [facts(deployment({}, { replicas: 0 })), "Complete", "fine", /is scaled to 0/],
  "nobody looked": [
    facts(deployment({ observedGeneration: 1 })),
    "NotObserved",
    "underway",
    /controller has not looked at it/,
  ],
  "a pause": [
    facts(deployment({ ...allThere, updatedReplicas: 1 }, { paused: true }), { pods }),
    "Paused",
    "wrong",
    /is paused, and not complete: 1 of 3 pods are new/,
  ],
  "a refusal": [
    facts(deployment({ replicas: 1 }), { pods: [readyPod("web-a")], events: [refused] }),
    "FailedCreate",
    "wrong",
    /cannot make 2 of its 3 pods: the API server refuses them/,
  ],
  "a refusal that is over": [
    facts(deployment({ replicas: 2, updatedReplicas: 2 }), {
      pods: pods.slice(1),
      events: [refused, eventThat("SuccessfulCreate", "Created pod: web-a")],
    }),
    "Progressing",
    "underway",
    /is rolling out/,
  ],
};
for (const [name, [about, code, state, says]] of Object.entries(deployments))
  test(`why knows how a deployment is doing: ${name}`, () => {
    const reason = deploymentReason(about);
    assert.match(reason.says, says);
    assert.deepEqual([reason.code, reason.state], [code, state]);
  });

test("why says which quota refuses pods, as the set below reports it", () => {
  const set = made(ReplicaSet, {
    metadata: { name: "web-1", namespace: "default" },
    spec: { replicas: 3, selector, template },
    status: {
      replicas: 0,
      conditions: [
        {
          type: "ReplicaFailure",
          status: "True",
          reason: "FailedCreate",
          message: "exceeded quota: small, used: pods=4",
        },
      ],
    },
  });
  const reason = deploymentReason(facts(deployment({}), { sets: [set] }));
  assert.equal(reason.code, "FailedCreate");
  assert.deepEqual(reason.remedies, ["raise the quota, or free some of it: kubectl describe resourcequota small"]);
  assert.deepEqual(reason.evidence?.[0]?.from, "condition ReplicaFailure");
});

test("why knows how a replica set is doing", () => {
  const set = (replicas: number, readyReplicas: number) =>
    made(ReplicaSet, {
      metadata,
      spec: { replicas: 2, selector, template },
      status: { replicas, readyReplicas, observedGeneration: 2 },
    });
  assert.equal(replicaSetReason(facts(set(2, 2), { pods: pods.slice(1) })).says, "is complete: all 2 pods are ready");
  const { state, says } = replicaSetReason(facts(set(2, 1), { pods: pods.slice(1) }));
  assert.deepEqual([state, says], ["underway", "is on its way: 1 of 2 pods is ready, 2 there"]);
});

test("why says that a stateful set waits for its first pod, and how updates by hand go on", () => {
  const set = (spec: object, status: object) =>
    made(StatefulSet, {
      metadata,
      spec: { replicas: 3, selector, template, serviceName: "web", ...spec },
      status: { replicas: 1, observedGeneration: 2, availableReplicas: 0, ...status },
    });
  const waiting = statefulSetReason(facts(set({}, {}), { pods: [unpulled("web-0")] }));
  assert.equal(waiting.says, "is not complete: 0 of 3 pods are ready");
  assert.deepEqual(
    waiting.evidence?.map(({ says }) => says),
    ["OrderedReady: the next pod is only made when web-0 is ready"],
  );
  const byHand = statefulSetReason(
    facts(
      set(
        { updateStrategy: { type: "OnDelete" } },
        { replicas: 3, readyReplicas: 3, updatedReplicas: 1, currentRevision: "a", updateRevision: "b" },
      ),
      { pods },
    ),
  );
  assert.equal(byHand.code, "UpdateOnDelete");
});

test("why knows how a daemon set is doing", () => {
  const set = (desired: number, numberReady: number) =>
    made(DaemonSet, {
      metadata,
      spec: { selector, template },
      status: {
        desiredNumberScheduled: desired,
        currentNumberScheduled: desired,
        numberMisscheduled: 0,
        numberReady,
        updatedNumberScheduled: desired,
        observedGeneration: 2,
      },
    });
  const saysOf = (desired: number, ready: number) => daemonSetReason(facts(set(desired, ready))).says;
  assert.match(saysOf(0, 0), /is to run on no node at present/);
  assert.equal(saysOf(3, 3), "is complete: it runs on all 3 nodes it should");
  assert.equal(saysOf(3, 1), "is on its way: ready on 1 of 3 nodes");
});

const job = (status: object, spec: object = {}) =>
  made(Job, { metadata: { name: "work", namespace: "default" }, spec: { template, ...spec }, status });
const done = (type: string, reason = "", message = "") => ({
  conditions: [{ type, status: "True", reason, message, lastTransitionTime: lately }],
});
const failedPod = named(
  "work-1",
  podRunning({ state: { terminated: { exitCode: 4 } } }, {}, { restartPolicy: "Never" }, { phase: "Failed" }),
);
const jobs: Readonly<Record<string, readonly [WorkloadFacts<Job>, string, string, RegExp]>> = {
  complete: [facts(job({ ...done("Complete"), succeeded: 2 })), "Complete", "fine", /2 pods succeeded/],
  failed: [
    facts(job(done("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit")), {
      pods: [failedPod],
    }),
    "BackoffLimitExceeded",
    "wrong",
    /has failed: Job has reached/,
  ],
  suspended: [facts(job({}, { suspend: true })), "Suspended", "fine", /is suspended/],
  "at work": [
    facts(job({ active: 1, startTime: began }), { pods: [readyPod("work-2")] }),
    "Progressing",
    "underway",
    /0 of 1 done, 1 running$/,
  ],
  "at work after a failure": [
    facts(job({ active: 1, failed: 1 }), { pods: [failedPod, readyPod("work-2")] }),
    "Progressing",
    "underway",
    /1 running, 1 failure so far \(6 allowed\)/,
  ],
  "between two tries": [
    facts(job({ failed: 1 }), { pods: [failedPod] }),
    "Retrying",
    "wrong",
    /0 running, 1 failure so far/,
  ],
  "in trouble": [facts(job({ active: 1 }), { pods: [unpulled("work-1")] }), "ImagePull", "wrong", /is at work/],
  refused: [facts(job({}), { events: [refused] }), "FailedCreate", "wrong", /cannot make its pods/],
};
for (const [name, [about, code, state, says]] of Object.entries(jobs))
  test(`why knows how a job is doing: ${name}`, () => {
    const reason = jobReason(about);
    assert.match(reason.says, says);
    assert.deepEqual([reason.code, reason.state], [code, state]);
  });

test("why knows how a cron job is doing", () => {
  const cron = (suspend: boolean) =>
    made(CronJob, {
      metadata: { name: "nightly", namespace: "default" },
      spec: { schedule: "0 3 * * *", suspend, jobTemplate: { spec: { template } } },
    });
  assert.equal(cronJobReason({ owner: cron(false), events: [] }).state, "fine");
  assert.match(cronJobReason({ owner: cron(true), events: [] }).says, /is suspended; else it would start a Job at 0 3/);
  assert.equal(cronJobReason({ owner: cron(false), events: [refused] }).code, "FailedCreate");
});
