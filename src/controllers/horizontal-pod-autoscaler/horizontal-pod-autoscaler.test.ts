import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "#base/errors.ts";
import { AutoscalerWorld } from "./testing.ts";

const cpu = (averageUtilization: number) => ({
  type: "Resource",
  resource: { name: "cpu", target: { type: "Utilization", averageUtilization } },
});
const average = (averageValue: string) => ({ type: "AverageValue", averageValue });
const value = (amount: string) => ({ type: "Value", value: amount });
const custom = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/ns";
const external = "/apis/external.metrics.k8s.io/v1beta1/namespaces/ns";
const measured = (name: string, amount: string) => ({
  describedObject: { kind: "Pod", name },
  timestamp: "2026-01-01T00:00:00Z",
  value: amount,
});

test("an autoscaler acts when its interval is over, and says what it did", async () => {
  const world = new AutoscalerWorld({ metrics: [cpu(50)] });
  world.havePods(2);
  world.use("1", "1");
  await world.sync();
  assert.equal(world.scale.replicas, 4);
  assert.equal(
    world.condition("AbleToScale"),
    "True SucceededRescale: the HPA controller was able to update the target scale to 4",
  );
  assert.equal(
    world.condition("ScalingActive"),
    "True ValidMetricFound: the HPA was able to successfully calculate a replica count from cpu resource utilization (percentage of request)",
  );
  assert.equal(
    world.condition("ScalingLimited"),
    "False DesiredWithinRange: the desired count is within the acceptable range",
  );
  assert.deepEqual(world.events, [
    "Normal SuccessfulRescale New size: 4; reason: cpu resource utilization (percentage of request) above target",
  ]);
  const { status } = world.autoscaler;
  assert.deepEqual(status.currentMetrics, [
    { type: "Resource", resource: { name: "cpu", current: { averageUtilization: 100, averageValue: "1" } } },
  ]);
  assert.deepEqual(
    [status.currentReplicas, status.desiredReplicas, status.lastScaleTime],
    [2, 4, "2026-01-01T00:00:15Z"],
  );
});

interface Source {
  readonly metric: object;
  readonly path: string;
  readonly items: readonly object[];
  /** From two replicas. */
  readonly replicas: number;
  readonly current: object;
  readonly name: string;
}
const metric = { name: "hits" };
const chosen = { name: "hits", selector: { matchLabels: { verb: "GET" } } };
const ingress = { apiVersion: "apps/v1", kind: "Deployment", name: "front" };
const sources: Readonly<Record<string, Source>> = {
  "a resource by value": {
    metric: { type: "Resource", resource: { name: "cpu", target: average("500m") } },
    path: "/apis/metrics.k8s.io/v1beta1/namespaces/ns/pods?labelSelector=app%3Dweb",
    items: ["p0", "p1"].map((name) => ({
      metadata: { name },
      timestamp: "2026-01-01T00:00:15Z",
      window: "15s",
      containers: [
        { name: "main", usage: { cpu: "500m" } },
        { name: "side", usage: { cpu: "250m" } },
      ],
    })),
    replicas: 3,
    current: { averageValue: "750m" },
    name: "cpu resource",
  },
  "a resource of one container": {
    metric: {
      type: "ContainerResource",
      containerResource: { name: "cpu", container: "main", target: { type: "Utilization", averageUtilization: 25 } },
    },
    path: "/apis/metrics.k8s.io/v1beta1/namespaces/ns/pods?labelSelector=app%3Dweb",
    items: ["p0", "p1"].map((name) => ({
      metadata: { name },
      timestamp: "2026-01-01T00:00:15Z",
      window: "15s",
      containers: [
        { name: "side", usage: { cpu: "5" } },
        { name: "main", usage: { cpu: "500m" } },
      ],
    })),
    replicas: 4,
    current: { averageUtilization: 50, averageValue: "500m" },
    name: "cpu container resource utilization (percentage of request)",
  },
  "a metric of pods": {
    metric: { type: "Pods", pods: { metric: chosen, target: average("10") } },
    path: `${custom}/pods/*/hits?labelSelector=app%3Dweb&metricLabelSelector=verb%3DGET`,
    items: [measured("p0", "25"), measured("p1", "15")],
    replicas: 4,
    current: { averageValue: "20" },
    name: "pods metric hits",
  },
  "the value of a metric of an object": {
    metric: { type: "Object", object: { metric, describedObject: ingress, target: value("100") } },
    path: `${custom}/deployments.apps/front/hits`,
    items: [measured("front", "150")],
    replicas: 3,
    current: { value: "150" },
    name: "Deployment metric hits",
  },
  "the share of each pod in a metric of an object": {
    metric: { type: "Object", object: { metric, describedObject: ingress, target: average("50") } },
    path: `${custom}/deployments.apps/front/hits`,
    items: [measured("front", "200")],
    replicas: 4,
    current: { averageValue: "100" },
    name: "external metric hits(nil)",
  },
  "a metric of the namespace": {
    metric: {
      type: "Object",
      object: { metric, describedObject: { apiVersion: "v1", kind: "Namespace", name: "ns" }, target: value("100") },
    },
    path: `${custom}/metrics/hits`,
    items: [measured("ns", "200")],
    replicas: 4,
    current: { value: "200" },
    name: "Namespace metric hits",
  },
  "the value of a metric from outside": {
    metric: { type: "External", external: { metric: chosen, target: value("10") } },
    path: `${external}/hits?labelSelector=verb%3DGET`,
    items: [{ value: "15" }, { value: "5" }],
    replicas: 4,
    current: { value: "20" },
    name: "external metric hits(&LabelSelector{MatchLabels:map[string]string{verb: GET,},MatchExpressions:[]LabelSelectorRequirement{},})",
  },
  "the share of each pod in a metric from outside": {
    metric: { type: "External", external: { metric, target: average("4500m") } },
    path: `${external}/hits`,
    items: [{ value: "15" }],
    replicas: 4,
    current: { averageValue: "7500m" },
    name: "external metric hits(nil)",
  },
};

for (const [name, { metric, path, items, replicas, current, name: told }] of Object.entries(sources))
  test(`scaled by ${name}`, async () => {
    const world = new AutoscalerWorld({ metrics: [metric] });
    world.havePods(2);
    world.answers.set(path, items);
    await world.sync();
    assert.deepEqual(world.events, [`Normal SuccessfulRescale New size: ${replicas}; reason: ${told} above target`]);
    assert.equal(world.scale.replicas, replicas);
    const [status] = world.autoscaler.status.currentMetrics ?? [];
    const [of] = [status?.resource, status?.containerResource, status?.pods, status?.object, status?.external].filter(
      Boolean,
    );
    assert.deepEqual(of?.current, current);
  });

test("an older version of custom metrics is asked where there is no newer one", async () => {
  const world = new AutoscalerWorld({ metrics: [{ type: "Pods", pods: { metric, target: average("10") } }] });
  world.havePods(1);
  const path = "/apis/custom.metrics.k8s.io/v1beta1/namespaces/ns/pods/*/hits?labelSelector=app%3Dweb";
  world.answers.set(path, [measured("p0", "20")]);
  await world.sync();
  assert.equal(world.scale.replicas, 2);
});

test("metrics that cannot be told are told of, and change nothing", async () => {
  const world = new AutoscalerWorld({ metrics: [cpu(50)] });
  world.havePods(2);
  await world.sync();
  const why =
    "failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch metrics from resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)";
  assert.equal(
    world.condition("ScalingActive"),
    `False FailedGetResourceMetric: the HPA was unable to compute the replica count: ${why}`,
  );
  assert.deepEqual(world.events, [
    `Warning FailedGetResourceMetric ${why}`,
    `Warning FailedComputeMetricsReplicas invalid metrics (1 invalid out of 1), first error is: failed to get cpu resource metric value: ${why}`,
  ]);
  assert.equal(world.scale.replicas, 2);
  world.answers.set("/apis/metrics.k8s.io/v1beta1/namespaces/ns/pods?labelSelector=app%3Dweb", []);
  await world.sync();
  assert.match(world.condition("ScalingActive") ?? "", /no metrics returned from resource metrics API$/);
});

const hits = { type: "External", external: { metric, target: average("10") } };

test("of several metrics the one that asks for most counts", async () => {
  const world = new AutoscalerWorld({ metrics: [cpu(50), hits] });
  world.havePods(2);
  world.use("600m", "600m");
  world.answers.set(`${external}/hits`, [{ value: "40" }]);
  await world.sync();
  assert.deepEqual(world.events, [
    "Normal SuccessfulRescale New size: 4; reason: external metric hits(nil) above target",
  ]);
});

test("with a metric that cannot be told there may be more replicas, but not fewer", async () => {
  const world = new AutoscalerWorld({ metrics: [hits, cpu(50)] });
  world.havePods(2);
  world.use("100m", "100m");
  await world.sync();
  assert.equal(world.scale.replicas, 2);
  assert.match(
    world.condition("ScalingActive") ?? "",
    /^False FailedGetExternalMetric: .*unable to get external metric ns\/hits\/nil/,
  );
  world.use("1", "1");
  await world.sync();
  assert.equal(world.scale.replicas, 4);
  assert.match(world.condition("ScalingActive") ?? "", /^True ValidMetricFound/);
  assert.deepEqual(
    world.autoscaler.status.currentMetrics?.map(({ type }) => type),
    ["", "Resource"],
  );
});

test("a target outside the bounds is brought back without looking at metrics", async () => {
  const world = new AutoscalerWorld({ minReplicas: 2, maxReplicas: 3, metrics: [cpu(50)] });
  world.havePods(5);
  await world.sync();
  assert.deepEqual(world.events, [
    "Normal SuccessfulRescale New size: 3; reason: Current number of replicas above Spec.MaxReplicas",
  ]);
  world.havePods(1);
  await world.sync();
  assert.equal(world.scale.replicas, 2);
  assert.match(world.events.at(-1) ?? "", /below Spec.MinReplicas$/);
});

test("a target without replicas is left alone", async () => {
  const world = new AutoscalerWorld({ metrics: [cpu(50)] });
  world.scale = { replicas: 0, current: 0, selector: "app=web" };
  await world.sync();
  assert.equal(
    world.condition("ScalingActive"),
    "False ScalingDisabled: scaling is disabled since the replica count of the target is zero",
  );
  assert.deepEqual([world.scale.replicas, world.events], [0, []]);
});

test("a target that cannot be found or has no selector is told of", async () => {
  const unknown = new AutoscalerWorld({ scaleTargetRef: { apiVersion: "x.example/v1", kind: "Crate", name: "c" } });
  await unknown.sync();
  assert.equal(
    unknown.condition("AbleToScale"),
    `False FailedGetScale: the HPA controller was unable to get the target's current scale: no matches for kind "Crate" in group "x.example"`,
  );
  const blind = new AutoscalerWorld({ metrics: [cpu(50)] });
  blind.havePods(1);
  blind.scale = { ...blind.scale, selector: "" };
  await blind.sync();
  assert.equal(blind.condition("ScalingActive"), "False InvalidSelector: the HPA target's scale is missing a selector");
  assert.equal(blind.events[0], "Warning SelectorRequired selector is required");
  blind.scale = { ...blind.scale, selector: "a in" };
  await blind.sync();
  assert.match(blind.condition("ScalingActive") ?? "", /^False InvalidSelector: couldn't convert selector into/);
});

test("a conflict is tried again, another refusal is told of", async () => {
  const world = new AutoscalerWorld({ metrics: [cpu(50)] });
  world.havePods(2);
  world.use("1", "1");
  world.refusals.push(new ApiError({ code: 409, reason: "Conflict", message: "changed" }));
  await world.sync();
  assert.equal(world.scale.replicas, 4);
  world.havePods(2);
  world.refusals.push(new ApiError({ code: 403, reason: "Forbidden", message: "no" }));
  await world.sync();
  assert.equal(
    world.condition("AbleToScale"),
    "False FailedUpdateScale: the HPA controller was unable to update the target scale: no",
  );
  assert.match(
    world.events.at(-1) ?? "",
    /^Warning FailedRescale New size: 4; reason: cpu .* above target; error: no$/,
  );
});

test("a status that stays the same is not written again", async () => {
  const world = new AutoscalerWorld({ metrics: [cpu(50)] });
  world.havePods(2);
  world.use("500m", "500m");
  await world.sync();
  world.asked.length = 0;
  await world.sync();
  assert.ok(world.asked.length > 0);
  assert.equal(
    world.asked.some((one) => one.startsWith("update")),
    false,
    world.asked.join("\n"),
  );
});

test("a load comes and goes: 1 to 5 replicas within two rounds, and back after five minutes", async () => {
  const world = new AutoscalerWorld({ metrics: [cpu(50)], maxReplicas: 8 });
  const start = world.clock.elapsed();
  const changes: string[] = [];
  /** All replicas share the load, and new ones take their part at once. */
  const rounds = async (count: number, load: number) => {
    for (let i = 0; i < count; i++) {
      const { replicas } = world.scale;
      world.havePods(replicas);
      world.use(...Array.from({ length: replicas }, () => `${Math.round((load * 1000) / replicas)}m`));
      await world.sync();
      // A sync ends when the next one is due.
      const at = (world.clock.elapsed() - start) / 1000 - 15;
      if (world.scale.replicas !== replicas) changes.push(`${at} s: ${replicas} to ${world.scale.replicas}`);
    }
  };
  await rounds(4, 2.5);
  assert.deepEqual(changes, ["15 s: 1 to 4", "30 s: 4 to 5"]);
  assert.match(world.condition("ScalingLimited") ?? "", /^False DesiredWithinRange/);
  await rounds(20, 0.3);
  assert.equal(changes.length, 2, "the last recommendation of 5 replicas is just five minutes old");
  assert.match(world.condition("AbleToScale") ?? "", /^True ScaleDownStabilized/);
  await rounds(1, 0.3);
  assert.deepEqual(changes.slice(2), ["375 s: 5 to 1"]);
  assert.equal(world.events.at(-1), "Normal SuccessfulRescale New size: 1; reason: All metrics below target");
});
