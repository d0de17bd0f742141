// What `knarr why` says of pods and workloads that are scripted to fail, in a whole cluster on a clock that the test moves.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Deployment } from "#api/apps/v1/deployment.ts";
import { Namespace } from "#api/core/v1/namespace.ts";
import { Node } from "#api/core/v1/node.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { ResourceQuota } from "#api/core/v1/resource-quota.ts";
import { Service } from "#api/core/v1/service.ts";
import { PriorityClass } from "#api/scheduling/v1/priority-class.ts";
import type { Sources } from "#observe/facts.ts";
import { explain } from "#observe/why.ts";
import type { Draft, Infer } from "#schema/infer.ts";
import type { AnyKind } from "#schema/kind.ts";
import { startCluster, type TestCluster } from "#testing/cluster.ts";

const namespace = "default";
const sourcesOf = ({ client, clock }: TestCluster): Sources => ({
  client,
  writesOf: async () => [],
  verdictsOn: async () => [],
  lastLines: async (_, container) => [`last line of ${container}`],
  now: () => clock.now(),
});

const scripted = (script: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(script).map(([name, value]) => [`simulated.knarr.dev/${name}`, value]));

type Container = Draft<Pod["spec"]["containers"][number]>;
const podThat = (
  name: string,
  script: Readonly<Record<string, string>>,
  container: Partial<Container> = {},
  spec: Partial<Draft<Pod["spec"]>> = {},
): Draft<Pod> => ({
  metadata: { name, namespace, annotations: scripted(script) },
  spec: { containers: [{ name: "main", image: "nginx:1", ...container }], ...spec },
});
const probe = { tcpSocket: { port: 80 } };

/** By the code of the reason that each of them must come to. */
const pods: readonly (readonly [string, Draft<Pod>])[] = [
  ["ImagePull", podThat("pull", { "pull-error": "manifest unknown" }, { imagePullPolicy: "Always" })],
  ["ErrImageNeverPull", podThat("never", {}, { image: "nginx:never", imagePullPolicy: "Never" })],
  ["CreateContainerConfigError", podThat("config", { "config-error": 'secret "key" not found' })],
  ["CreateContainerError", podThat("create", { "create-error": "no space left on device" })],
  ["RunContainerError", podThat("start", { "start-error": 'exec: "nope": executable file not found in $PATH' })],
  ["CrashLoop", podThat("crash", { "run-for": "0s", "exit-code": "3" })],
  ["OutOfMemory", podThat("oom", { "run-for": "0s", "exit-code": "137", "exit-reason": "OOMKilled" })],
  ["ReadinessProbe", podThat("slow", { "ready-after": "1h" }, { readinessProbe: probe })],
  ["ReadinessProbe", podThat("tired", { "ready-for": "5s" }, { readinessProbe: probe })],
  ["StartupProbe", podThat("sleepy", { "ready-after": "1h" }, { startupProbe: probe })],
  ["ProbeKills", podThat("dying", { "live-for": "3s" }, { livenessProbe: probe })],
  [
    "WaitsForClaim",
    podThat("claim", {}, {}, { volumes: [{ name: "d", persistentVolumeClaim: { claimName: "data" } }] }),
  ],
  ["Unschedulable", podThat("big", {}, { resources: { requests: { cpu: "1k" } } })],
  ["SchedulingGated", podThat("gated", {}, {}, { schedulingGates: [{ name: "example.com/gate" }] })],
  [
    "InitContainer",
    podThat("init", { "run-for": "1h" }, {}, { initContainers: [{ name: "setup", image: "nginx:1" }] }),
  ],
  ["Failed", podThat("failed", { "exit-code": "1" }, {}, { restartPolicy: "Never" })],
  ["Succeeded", podThat("done", {}, {}, { restartPolicy: "Never" })],
  ["Running", podThat("well", {})],
  [
    "FinalizersRemain",
    { ...podThat("held", {}), metadata: { name: "held", namespace, finalizers: ["example.com/hold"] } },
  ],
];

async function codeOf<K extends AnyKind>(cluster: TestCluster, kind: K, name: string): Promise<string> {
  const place = kind.scope === "Namespaced" ? { namespace, name } : { name };
  return (await explain(kind, place, sourcesOf(cluster))).reason.code;
}

test("why comes to the right reason for each way in which a pod is scripted to fail", async () => {
  await using cluster = await startCluster();
  const { client } = cluster;
  for (const [, pod] of pods) await client.create(Pod, pod);
  await cluster.until(async () => (await client.get(Pod, { namespace, name: "held" })).status.phase === "Running");
  await client.delete(Pod, { namespace, name: "held" });
  await cluster.advance(12_000);
  await cluster
    .until(async () => {
      const { items } = await client.list(Pod, { namespace });
      const found = await Promise.all(items.map(({ metadata }) => codeOf(cluster, Pod, metadata.name)));
      return pods.every(
        ([code, { metadata }]) => found[items.findIndex((one) => one.metadata.name === metadata?.name)] === code,
      );
    }, 60_000)
    .catch(async () => {
      const found = pods.map(
        async ([, { metadata }]) => `${await codeOf(cluster, Pod, metadata?.name ?? "")} ${metadata?.name}`,
      );
      assert.deepEqual(
        await Promise.all(found),
        pods.map(([code, { metadata }]) => `${code} ${metadata?.name}`),
      );
    });
});

test("why of a deployment comes down to its pods, to a quota, and to a node that is switched off", async () => {
  await using cluster = await startCluster({ nodes: 1 });
  const { client, nodes } = cluster;
  const labels = { app: "web" };
  const deployment = (name: string, script: Readonly<Record<string, string>>): Draft<Infer<typeof Deployment>> => ({
    metadata: { name, namespace },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels, annotations: scripted(script) },
        spec: { containers: [{ name: "main", image: "nginx:1", imagePullPolicy: "Always" }] },
      },
    },
  });
  const comesTo = (kind: AnyKind, name: string, code: string, withinMs?: number) =>
    cluster.until(async () => (await codeOf(cluster, kind, name)) === code, withinMs);
  await client.create(Service, {
    metadata: { name: "web", namespace },
    spec: { selector: labels, ports: [{ port: 80 }] },
  });
  await comesTo(Service, "web", "NoPods");
  await client.create(Deployment, deployment("web", { "pull-error": "denied" }));
  await comesTo(Deployment, "web", "ImagePull");
  await comesTo(Service, "web", "NoReadyEndpoints");
  const { reason } = await explain(Deployment, { namespace, name: "web" }, sourcesOf(cluster));
  assert.deepEqual(
    reason.parts?.map(({ names, of }) => `${names.length} of ${of}`),
    ["2 of 2"],
  );

  await client.delete(Deployment, { namespace, name: "web" });
  await cluster.until(async () => (await client.list(Pod, { namespace })).items.length === 0);
  await client.create(ResourceQuota, { metadata: { name: "small", namespace }, spec: { hard: { pods: "1" } } });
  await cluster.advance(1000);
  await client.create(Deployment, deployment("web", {}));
  await comesTo(Deployment, "web", "FailedCreate");
  await client.delete(ResourceQuota, { namespace, name: "small" });
  await comesTo(Deployment, "web", "Complete", 600_000);
  await comesTo(Service, "web", "Endpoints");

  nodes.stop("sim-0");
  await comesTo(Node, "sim-0", "NodeSilent", 120_000);
  await comesTo(Deployment, "web", "NodeLost");
});

test("why of a preempted pod says who took its place, and of a namespace what is left in it", async () => {
  await using cluster = await startCluster({ nodes: 1 });
  const { client } = cluster;
  await client.create(PriorityClass, { metadata: { name: "high" }, value: 1000 });
  const cpu = { resources: { requests: { cpu: "20" } } };
  await client.create(Pod, podThat("victim", { "stop-delay": "20s" }, cpu));
  await cluster.until(async () => (await codeOf(cluster, Pod, "victim")) === "Running");
  await client.create(Pod, podThat("first", {}, cpu, { priorityClassName: "high" }));
  await cluster.until(async () => (await codeOf(cluster, Pod, "victim")) === "Terminating");
  const { reason } = await explain(Pod, { namespace, name: "victim" }, sourcesOf(cluster));
  assert.match(reason.says, /is being deleted by the scheduler, to make room for a pod of higher priority/);

  await client.create(Namespace, { metadata: { name: "shop" } });
  const held = podThat("held", {});
  await cluster.until(async () => {
    const made = client.create(Pod, {
      ...held,
      metadata: { name: "held", namespace: "shop", finalizers: ["example.com/hold"] },
    });
    return made.then(
      () => true,
      () => false, // until the namespace has its service account
    );
  });
  await client.delete(Namespace, { name: "shop" });
  await cluster.until(async () => {
    const { reason: kept } = await explain(Namespace, { name: "shop" }, sourcesOf(cluster));
    return kept.state === "wrong" && kept.evidence?.some(({ says }) => says.includes("example.com/hold")) === true;
  }, 300_000);
});

test("why of what does not exist names what may be meant, and what became of it", async () => {
  await using cluster = await startCluster();
  const { client } = cluster;
  await client.create(Pod, podThat("web-1", {}));
  await cluster.until(async () => (await codeOf(cluster, Pod, "web-1")) === "Running");
  const wrong = (name: string, of = namespace) => explain(Pod, { namespace: of, name }, sourcesOf(cluster));
  await assert.rejects(wrong("wbe-1"), {
    message: 'pods "wbe-1" not found in namespace default; did you mean web-1?',
  });
  await assert.rejects(wrong("web-1", "kube-system"), {
    message: 'pods "web-1" not found in namespace kube-system; there is one in namespace default: add -n',
  });
  await client.delete(Pod, { namespace, name: "web-1" }, { graceSeconds: 0 });
  await cluster.until(async () => (await client.find(Pod, { namespace, name: "web-1" })) === undefined);
  await assert.rejects(
    wrong("web-1"),
    /"web-1" not found in namespace default; the last that was reported about it: \w+: /,
  );
});
