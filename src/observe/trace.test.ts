import assert from "node:assert/strict";
import { test } from "node:test";
import type { WriteRecord } from "#wire/write-record.ts";
import { milestones, traceTree, withoutEvents } from "./trace.ts";
import { milestonesText, stagesText, traceText } from "./trace-text.ts";

const write = (revision: number, rest: Partial<WriteRecord>, causes: readonly number[] = []): WriteRecord => ({
  revision,
  at: 1_000_000 + revision * 10,
  resource: "pods",
  namespace: "default",
  name: `pod-${revision}`,
  verb: "create",
  user: "system:serviceaccount:kube-system:replicaset-controller",
  userAgent: "replicaset-controller/1",
  traceId: "",
  because: causes.map((one) => ({ resource: "x", namespace: "", name: "x", revision: one })),
  stages: {},
  ...rest,
});

const deployment = write(1, {
  resource: "deployments.apps",
  name: "web",
  user: "kubernetes-admin",
  userAgent: "kubectl-create/v1.32 (linux/amd64)",
  stages: { authorize: 0.1, admit: 0.4, store: 2.5 },
});
const set = write(
  2,
  {
    resource: "replicasets.apps",
    name: "web-5d",
    user: "system:serviceaccount:kube-system:deployment-controller",
    userAgent: "deployment-controller/1",
  },
  [1],
);

test("a trace tells each write under the one that caused it", () => {
  const bind = write(
    4,
    { verb: "create", subresource: "binding", name: "pod-3", user: "system:kube-scheduler", userAgent: "" },
    [3],
  );
  assert.deepEqual(traceText(traceTree([bind, write(3, {}, [2]), set, deployment]), { alike: 3 }), [
    " +0 ms  create deployments.apps/web           kubernetes-admin (kubectl-create), 3.0 ms",
    "+10 ms  └─ create replicasets.apps/web-5d     deployment-controller",
    "+20 ms     └─ create pods/pod-3               replicaset-controller",
    "+30 ms        └─ create pods/pod-3 (binding)  kube-scheduler",
  ]);
});

test("a trace counts what is alike instead of showing all of it", () => {
  const pods = [3, 4, 5, 6, 7].map((revision) => write(revision, {}, [2]));
  const lines = traceText(traceTree([deployment, set, ...pods]), { alike: 2 });
  assert.deepEqual(lines.slice(2), [
    "+20 ms     ├─ create pods/pod-3                    replicaset-controller",
    "+30 ms     ├─ create pods/pod-4                    replicaset-controller",
    "+60 ms     └─ … 3 more like it, the last one then",
  ]);
  assert.equal(traceText(traceTree([deployment, set, ...pods]), { alike: 4 }).length, 7, "no line to hide one line");
});

test("a trace puts a write under the newest of its causes, and one of unknown cause at the top", () => {
  const both = write(5, {}, [1, 2]);
  const stray = write(6, {}, [99]);
  const [first, second] = traceTree([deployment, set, both, stray]);
  assert.equal(first?.effects[0]?.effects[0]?.write, both);
  assert.equal(second?.write, stray);
});

test("a trace says which stages took the time of a request, longest first", () => {
  assert.equal(stagesText(deployment), "store 2.5 ms, admit 0.4 ms");
});

const kubelet = { user: "system:node:n1", userAgent: "kubelet/v1", verb: "update", subresource: "status" } as const;
const pod = write(3, { name: "web-1" }, [2]);
const bound = write(4, { name: "web-1", subresource: "binding", user: "system:kube-scheduler" }, [3]);
const running = write(
  6,
  {
    name: "web-1",
    ...kubelet,
    steps: [
      { step: "sandbox", at: 1_000_045, ms: 4.2 },
      { step: "image-present", container: "main", at: 1_000_046, ms: 0 },
      { step: "create", container: "main", at: 1_000_050, ms: 3 },
      { step: "start", container: "main", at: 1_000_052, ms: 12 },
      { step: "ready", at: 1_000_055, ms: 0 },
    ],
  },
  [4],
);
const slice = write(
  7,
  {
    resource: "endpointslices.discovery.k8s.io",
    name: "web-x",
    verb: "update",
    user: "system:serviceaccount:kube-system:e",
  },
  [99, 6],
);
const event = write(5, { resource: "events", name: "web-1.1" }, [4]);
const whole = [deployment, set, pod, bound, event, running, slice];

test("a trace tells what the node did before it wrote, and what the pod's readiness led to", () => {
  assert.deepEqual(traceText(traceTree(withoutEvents(whole)), { alike: 3 }).slice(3), [
    "+30 ms        └─ create pods/web-1 (binding)                         kube-scheduler",
    "+35 ms           ├─ sandbox made                                     system:node:n1, 4.2 ms",
    "+36 ms           ├─ image of main is there                           system:node:n1",
    "+40 ms           ├─ container main created                           system:node:n1, 3.0 ms",
    "+42 ms           ├─ container main started                           system:node:n1, 12 ms",
    "+45 ms           ├─ pod ready                                        system:node:n1",
    "+50 ms           └─ update pods/web-1 (status)                       system:node:n1",
    "+60 ms              └─ update endpointslices.discovery.k8s.io/web-x  e",
  ]);
});

test("a trace says how far pods got, and when the first and the last of them", () => {
  const other = write(8, { name: "web-2" }, [2]);
  assert.deepEqual(milestonesText(milestones([...whole, other]), deployment.at), [
    "  created       2 pods  +20 ms to +70 ms",
    "  bound          1 pod  +30 ms",
    "  started        1 pod  +42 ms",
    "  ready          1 pod  +45 ms",
    "  in endpoints   1 pod  +60 ms",
  ]);
  assert.deepEqual(milestones([]), []);
});
