import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Job } from "#api/batch/v1/job.ts";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { ResourceQuota } from "#api/core/v1/resource-quota.ts";
import { Service } from "#api/core/v1/service.ts";
import type { AnyKind } from "#schema/kind.ts";
import { testServer } from "../../testing.ts";
import { admissionOf } from "../configuration.ts";
import { AdmissionWorld, podWith, type TestRequest } from "../testing.ts";
import { resourceQuota } from "./resource-quota.ts";

const plugin = resourceQuota({ limitedResources: [] });

/** A world with a quota whose usage is known to be `used`, zero by default. */
const limitedTo = (
  hard: Readonly<Record<string, string>>,
  used: Readonly<Record<string, string>> = {},
  spec: object = {},
) => {
  const world = new AdmissionWorld();
  const zero = Object.fromEntries(Object.keys(hard).map((name) => [name, "0"]));
  world.have(ResourceQuota, {
    metadata: { name: "q" },
    spec: { hard, ...spec },
    status: { hard, used: { ...zero, ...used } },
  } as never);
  return world;
};
const usedIn = (world: AdmissionWorld) => world.server.get(ResourceQuota, "q", "default")?.status.used;
const asking = (requests: object, limits: object = {}) =>
  podWith({ containers: [{ name: "c", image: "i", resources: { requests, limits } }] });

interface Case {
  readonly what: string;
  readonly hard: Readonly<Record<string, string>>;
  readonly used?: Readonly<Record<string, string>>;
  readonly spec?: object;
  readonly kind?: AnyKind;
  readonly object: unknown;
  readonly request?: TestRequest;
  /** What is refused, or what is used afterwards. */
  readonly refusal?: string;
  readonly after?: Readonly<Record<string, string>>;
}

const balanced = {
  metadata: { name: "s" },
  spec: { type: "LoadBalancer", ports: [{ port: 1 }, { port: 2, nodePort: 30000 }] },
};
const claim = (storage: string, storageClassName?: string) => ({
  metadata: { name: "c" },
  spec: { resources: { requests: { storage } }, ...(storageClassName && { storageClassName }) },
});
const classScope = (operator: string, values?: readonly string[]) => ({
  scopeSelector: { matchExpressions: [{ scopeName: "PriorityClass", operator, ...(values && { values }) }] },
});

const cases: readonly Case[] = [
  { what: "charges a pod", hard: { pods: "2" }, object: podWith(), after: { pods: "1" } },
  {
    what: "refuses a pod too many",
    hard: { pods: "2" },
    used: { pods: "2" },
    object: podWith(),
    refusal: 'pods "p" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2',
  },
  {
    what: "charges requests and limits by all their names",
    hard: { cpu: "1", "requests.cpu": "1", "limits.cpu": "2", "requests.memory": "1Gi" },
    object: asking({ cpu: "100m", memory: "10Mi" }, { cpu: "200m" }),
    after: { cpu: "100m", "requests.cpu": "100m", "limits.cpu": "200m", "requests.memory": "10Mi" },
  },
  {
    what: "names all that is exceeded, in order",
    hard: { "requests.memory": "1Gi", "requests.cpu": "1" },
    used: { "requests.cpu": "900m" },
    object: asking({ cpu: "200m", memory: "2Gi" }),
    refusal:
      'pods "p" is forbidden: exceeded quota: q, requested: requests.cpu=200m,requests.memory=2Gi, used: requests.cpu=900m,requests.memory=0, limited: requests.cpu=1,requests.memory=1Gi',
  },
  {
    what: "makes containers say what they need",
    hard: { "limits.cpu": "1", "requests.memory": "1Gi" },
    object: asking({ cpu: "1" }),
    refusal: 'pods "p" is forbidden: failed quota: q: must specify limits.cpu for: c; requests.memory for: c',
  },
  {
    what: "charges extended resources",
    hard: { "requests.example.com/gpu": "1" },
    object: asking({ "example.com/gpu": "2" }, { "example.com/gpu": "2" }),
    refusal:
      'pods "p" is forbidden: exceeded quota: q, requested: requests.example.com/gpu=2, used: requests.example.com/gpu=0, limited: requests.example.com/gpu=1',
  },
  {
    what: "charges overhead",
    hard: { "requests.cpu": "1" },
    object: { ...asking({ cpu: "100m" }), spec: { ...asking({ cpu: "100m" }).spec, overhead: { cpu: "50m" } } },
    after: { "requests.cpu": "150m" },
  },
  {
    what: "counts objects of any kind",
    hard: { "count/jobs.batch": "1" },
    kind: Job,
    object: { metadata: { name: "j" }, spec: { template: podWith() } },
    after: { "count/jobs.batch": "1" },
  },
  {
    what: "counts config maps by both names",
    hard: { configmaps: "1", "count/configmaps": "5" },
    kind: ConfigMap,
    object: { metadata: { name: "m" } },
    after: { configmaps: "1", "count/configmaps": "1" },
  },
  {
    what: "counts node ports and load balancers",
    hard: { services: "5", "services.nodeports": "5", "services.loadbalancers": "1" },
    kind: Service,
    object: balanced,
    after: { services: "1", "services.nodeports": "2", "services.loadbalancers": "1" },
  },
  {
    what: "counts the node ports that a load balancer names itself",
    hard: { "services.nodeports": "5" },
    kind: Service,
    object: { ...balanced, spec: { ...balanced.spec, allocateLoadBalancerNodePorts: false } },
    after: { "services.nodeports": "1" },
  },
  {
    what: "charges an update by what it adds",
    hard: { "services.nodeports": "2" },
    used: { "services.nodeports": "1" },
    kind: Service,
    object: { metadata: { name: "s" }, spec: { type: "NodePort", ports: [{ port: 1 }, { port: 2 }] } },
    request: {
      old: { metadata: { name: "s", resourceVersion: "1" }, spec: { type: "NodePort", ports: [{ port: 1 }] } },
    },
    after: { "services.nodeports": "2" },
  },
  {
    what: "charges storage in all and by class",
    hard: {
      persistentvolumeclaims: "1",
      "requests.storage": "10Gi",
      "fast.storageclass.storage.k8s.io/requests.storage": "1Gi",
    },
    kind: PersistentVolumeClaim,
    object: claim("2Gi", "fast"),
    refusal:
      'persistentvolumeclaims "c" is forbidden: exceeded quota: q, requested: fast.storageclass.storage.k8s.io/requests.storage=2Gi, used: fast.storageclass.storage.k8s.io/requests.storage=0, limited: fast.storageclass.storage.k8s.io/requests.storage=1Gi',
  },
  {
    what: "charges a claim that grows by what it grows",
    hard: { "requests.storage": "10Gi" },
    used: { "requests.storage": "2Gi" },
    kind: PersistentVolumeClaim,
    object: claim("5Gi"),
    request: { old: claim("2Gi") },
    after: { "requests.storage": "5Gi" },
  },
  {
    what: "leaves out what other scopes are for",
    hard: { pods: "0" },
    spec: { scopes: ["BestEffort"] },
    object: asking({ cpu: "1" }),
    after: { pods: "0" },
  },
  {
    what: "charges what is in its scope",
    hard: { pods: "0" },
    spec: { scopes: ["BestEffort", "NotTerminating"] },
    object: podWith(),
    refusal: 'pods "p" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0',
  },
  {
    what: "charges terminating pods",
    hard: { pods: "1" },
    spec: { scopes: ["Terminating"] },
    object: podWith({ activeDeadlineSeconds: 5 }),
    after: { pods: "1" },
  },
  {
    what: "charges pods of a priority class",
    hard: { pods: "1" },
    spec: classScope("In", ["high"]),
    object: podWith({ priorityClassName: "high" }),
    after: { pods: "1" },
  },
  {
    what: "leaves out pods of another class",
    hard: { pods: "1" },
    spec: classScope("In", ["high"]),
    object: podWith({ priorityClassName: "low" }),
    after: { pods: "0" },
  },
  {
    what: "charges pods without a class",
    hard: { pods: "1" },
    spec: classScope("DoesNotExist"),
    object: podWith(),
    after: { pods: "1" },
  },
  {
    what: "charges pods that look into other namespaces",
    hard: { pods: "0" },
    spec: { scopes: ["CrossNamespacePodAffinity"] },
    object: podWith({
      affinity: {
        podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "k", namespaces: ["x"] }] },
      },
    }),
    refusal: 'pods "p" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0',
  },
  {
    what: "charges a pod that becomes terminating in full",
    hard: { pods: "5" },
    spec: { scopes: ["Terminating"] },
    object: podWith({ activeDeadlineSeconds: 5 }),
    request: { old: podWith() },
    after: { pods: "1" },
  },
  {
    what: "does not charge for other updates of pods",
    hard: { pods: "1" },
    used: { pods: "1" },
    object: podWith(),
    request: { old: podWith() },
    after: { pods: "1" },
  },
  {
    what: "does not charge a dry run",
    hard: { pods: "1" },
    object: podWith(),
    request: { dryRun: true },
    after: { pods: "0" },
  },
  {
    what: "refuses in a dry run, too",
    hard: { pods: "0" },
    object: podWith(),
    request: { dryRun: true },
    refusal: 'pods "p" is forbidden: exceeded quota: q, requested: pods=1, used: pods=0, limited: pods=0',
  },
];

describe("ResourceQuota", () => {
  for (const { what, hard, used, spec, kind = Pod, object, request, refusal = "", after } of cases)
    test(what, async () => {
      const world = limitedTo(hard, used, spec);
      const result = await world.admit(plugin, kind, object, request);
      assert.equal(result.refusal, refusal);
      if (after) assert.deepEqual(usedIn(world), { ...usedIn(world), ...after });
    });

  test("refuses while the usage is unknown", async () => {
    const world = new AdmissionWorld();
    world.have(ResourceQuota, { metadata: { name: "q" }, status: { hard: { pods: "2", cpu: "1" } } });
    const { refusal } = await world.admit(plugin, Pod, asking({ cpu: "1" }));
    assert.equal(refusal, 'pods "p" is forbidden: status unknown for quota: q, resources: cpu,pods');
  });

  test("wants a quota for what is limited by default", async () => {
    const strict = resourceQuota({
      limitedResources: [
        { apiGroup: "", resource: "persistentvolumeclaims", matchContains: ["gold.storageclass"], matchScopes: [] },
      ],
    });
    const { refusal } = await new AdmissionWorld().admit(strict, PersistentVolumeClaim, claim("1Gi", "gold"));
    assert.equal(
      refusal,
      'persistentvolumeclaims "c" is forbidden: insufficient quota to consume: gold.storageclass.storage.k8s.io/persistentvolumeclaims,gold.storageclass.storage.k8s.io/requests.storage',
    );
    assert.equal((await new AdmissionWorld().admit(strict, PersistentVolumeClaim, claim("1Gi", "lead"))).refusal, "");
  });

  test("wants a quota for scopes that are limited by default", async () => {
    const scope = { scopeName: "PriorityClass", operator: "In", values: ["high", "higher"] } as const;
    const strict = resourceQuota({
      limitedResources: [{ apiGroup: "", resource: "pods", matchContains: [], matchScopes: [scope] }],
    });
    const pod = podWith({ priorityClassName: "high" });
    const { refusal, error } = await new AdmissionWorld().admit(strict, Pod, pod);
    assert.equal(refusal, "insufficient quota to match these scopes: [{PriorityClass In [high higher]}]");
    assert.equal(error?.code, 500);
    assert.equal((await limitedTo({ pods: "1" }, {}, classScope("In", ["high"])).admit(strict, Pod, pod)).refusal, "");
  });

  test("tries again when someone else has written the quota", async () => {
    const world = limitedTo({ pods: "5" });
    const { replace } = world.server;
    let rivals = 2;
    const server = world.server as { replace: typeof replace };
    server.replace = async (kind, based, object, signal) => {
      if (rivals-- > 0) {
        const stored = world.server.get(ResourceQuota, "q", "default");
        const used = { pods: String(Number(stored?.status.used?.pods) + 1) };
        world.have(ResourceQuota, { ...stored, status: { ...stored?.status, used } } as never);
      }
      return replace(kind, based, object, signal);
    };
    assert.equal((await world.admit(plugin, Pod, podWith())).refusal, "");
    assert.deepEqual(usedIn(world), { pods: "3" });
  });
});

describe("quota under concurrency", () => {
  const admission = admissionOf({ disable: ["ServiceAccount"] });
  const setUp = async (server: Awaited<ReturnType<typeof testServer>>, name: string, hard: object) => {
    const made = await server.call("POST", "/api/v1/namespaces/default/resourcequotas", {
      metadata: { name },
      spec: { hard },
    });
    assert.equal(made.code, 201);
    const used = Object.fromEntries(Object.keys(hard).map((key) => [key, "0"]));
    const path = `/api/v1/namespaces/default/resourcequotas/${name}/status`;
    const set = await server.call("PUT", path, { ...made.json, status: { hard, used } });
    assert.equal(set.code, 200, set.text);
  };

  test("200 creators get exactly the places there are", async () => {
    await using server = await testServer({ admission });
    await server.call("POST", "/api/v1/namespaces", { metadata: { name: "default" } });
    await setUp(server, "pods", { pods: "50" });
    await setUp(server, "cpu", { "requests.cpu": "4" });
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        server.call("POST", "/api/v1/namespaces/default/pods", {
          metadata: { name: `p-${i}` },
          spec: { containers: [{ name: "c", image: "i", resources: { requests: { cpu: "100m" } } }] },
        }),
      ),
    );
    const made = answers.filter(({ code }) => code === 201);
    assert.equal(made.length, 40);
    const refusals = answers.filter(({ code }) => code === 403);
    assert.equal(refusals.length, 160);
    for (const { text } of refusals) assert.match(text, /exceeded quota: (cpu|pods), requested/);
    const list = await server.call("GET", "/api/v1/namespaces/default/pods");
    assert.equal((list.json as unknown as { items: unknown[] }).items.length, 40);
    const cpu = await server.call("GET", "/api/v1/namespaces/default/resourcequotas/cpu");
    assert.deepEqual(cpu.json.status.used, { "requests.cpu": "4" });
    const pods = await server.call("GET", "/api/v1/namespaces/default/resourcequotas/pods");
    assert.deepEqual(pods.json.status.used, { pods: "40" });
  });

  test("two servers over one store do not both give away the last place", async () => {
    await using first = await testServer({ admission });
    await using second = await testServer({ admission, store: first.store });
    await first.call("POST", "/api/v1/namespaces", { metadata: { name: "default" } });
    await setUp(first, "q", { "count/configmaps": "10" });
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, i) =>
        (i % 2 ? first : second).call("POST", "/api/v1/namespaces/default/configmaps", {
          metadata: { name: `m-${i}` },
        }),
      ),
    );
    const list = await first.call("GET", "/api/v1/namespaces/default/configmaps");
    const count = (list.json as unknown as { items: unknown[] }).items.length;
    assert.equal(count, answers.filter(({ code }) => code === 201).length);
    assert.ok(count <= 10, `${count} config maps`);
    const quota = await first.call("GET", "/api/v1/namespaces/default/resourcequotas/q");
    assert.ok(Number(quota.json.status.used["count/configmaps"]) <= 10);
  });
});
