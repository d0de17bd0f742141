import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { LimitRange } from "#api/core/v1/limit-range.ts";
import { Namespace } from "#api/core/v1/namespace.ts";
import { Node } from "#api/core/v1/node.ts";
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { PersistentVolumeClaim } from "#api/core/v1/persistent-volume-claim.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { Service } from "#api/core/v1/service.ts";
import { Ingress } from "#api/networking/v1/ingress.ts";
import { IngressClass } from "#api/networking/v1/ingress-class.ts";
import { RuntimeClass } from "#api/node/v1/runtime-class.ts";
import { PriorityClass } from "#api/scheduling/v1/priority-class.ts";
import { StorageClass } from "#api/storage/v1/storage-class.ts";
import { alwaysDeny } from "./always.ts";
import { alwaysPullImages } from "./always-pull-images.ts";
import { defaultIngressClass } from "./default-ingress-class.ts";
import { defaultStorageClass } from "./default-storage-class.ts";
import { defaultTolerationSeconds } from "./default-toleration-seconds.ts";
import { denyServiceExternalIps } from "./deny-service-external-ips.ts";
import { limitPodHardAntiAffinityTopology } from "./limit-pod-hard-anti-affinity-topology.ts";
import { limitRanger } from "./limit-ranger.ts";
import { namespaceAutoProvision } from "./namespace-auto-provision.ts";
import { namespaceExists } from "./namespace-exists.ts";
import { namespaceLifecycle } from "./namespace-lifecycle.ts";
import { nodeDeclaredFeatureValidator } from "./node-declared-features.ts";
import { persistentVolumeClaimResize } from "./persistent-volume-claim-resize.ts";
import { podResizeValidator } from "./pod-resize-validator.ts";
import { podTopologyLabels } from "./pod-topology-labels.ts";
import { priority } from "./priority.ts";
import { runtimeClass } from "./runtime-class.ts";
import { storageObjectInUseProtection } from "./storage-object-in-use-protection.ts";
import { taintNodesByCondition } from "./taint-nodes-by-condition.ts";
import { AdmissionWorld, podWith } from "./testing.ts";

describe("NamespaceLifecycle", () => {
  test("refuses what is made in a namespace that is missing", async () => {
    const { refusal, error } = await new AdmissionWorld().admit(namespaceLifecycle(), Pod, podWith());
    assert.equal(refusal, 'namespaces "default" not found');
    assert.equal(error?.code, 404);
  });

  test("refuses what is made in a namespace that is being terminated, and says so in a cause", async () => {
    const world = new AdmissionWorld();
    world.have(Namespace, { metadata: { name: "default" }, status: { phase: "Terminating" } });
    const { refusal, error } = await world.admit(namespaceLifecycle(), Pod, podWith());
    assert.equal(
      refusal,
      'pods "p" is forbidden: unable to create new content in namespace default because it is being terminated',
    );
    assert.deepEqual(error?.details?.causes, [
      {
        reason: "NamespaceTerminating",
        message: "namespace default is being terminated",
        field: "metadata.namespace",
      },
    ]);
    const update = await world.admit(namespaceLifecycle(), Pod, podWith(), { old: podWith() });
    assert.equal(update.refusal, "");
  });

  for (const name of ["default", "kube-system", "kube-public"])
    test(`keeps the namespace ${name}`, async () => {
      const deletion = { operation: "delete", name } as const;
      const { refusal } = await new AdmissionWorld().admit(namespaceLifecycle(), Namespace, undefined, deletion);
      assert.equal(refusal, `namespaces "${name}" is forbidden: this namespace may not be deleted`);
    });
});

test("NamespaceExists refuses deletions in a namespace that is missing, too", async () => {
  const world = new AdmissionWorld();
  const request = { operation: "delete", old: podWith() } as const;
  assert.equal((await world.admit(namespaceExists, Pod, undefined, request)).refusal, 'namespaces "default" not found');
  world.have(Namespace, { metadata: { name: "default" } });
  assert.equal((await world.admit(namespaceExists, Pod, undefined, request)).refusal, "");
});

test("NamespaceAutoProvision makes the namespace, but not in a dry run", async () => {
  const world = new AdmissionWorld();
  await world.admit(namespaceAutoProvision, Pod, podWith(), { dryRun: true });
  assert.equal(world.server.get(Namespace, "default"), undefined);
  await world.admit(namespaceAutoProvision, Pod, podWith());
  assert.equal(world.server.get(Namespace, "default")?.metadata.name, "default");
});

describe("LimitRanger", () => {
  const limited = (limits: object) => {
    const world = new AdmissionWorld();
    world.have(LimitRange, { metadata: { name: "l" }, spec: { limits: [limits] } } as never);
    return world;
  };
  const withResources = (resources: object) => podWith({ containers: [{ name: "c", image: "i", resources }] });

  test("gives containers the defaults and says so in an annotation", async () => {
    const world = limited({
      type: "Container",
      default: { cpu: "200m", memory: "1Gi" },
      defaultRequest: { cpu: "100m" },
    });
    const { object } = await world.admit(limitRanger, Pod, {
      metadata: { name: "p" },
      spec: {
        containers: [{ name: "c", image: "i", resources: { requests: { cpu: "50m" } } }],
        initContainers: [{ name: "i", image: "i" }],
      },
    });
    assert.deepEqual(object.spec.containers[0].resources, {
      requests: { cpu: "50m", memory: "1Gi" },
      limits: { cpu: "200m", memory: "1Gi" },
    });
    assert.deepEqual(object.spec.initContainers[0].resources.requests, { cpu: "100m", memory: "1Gi" });
    assert.equal(
      object.metadata.annotations?.["kubernetes.io/limit-ranger"],
      "LimitRanger plugin set: memory request for container c; cpu, memory limit for container c; cpu, memory request for init container i; cpu, memory limit for init container i",
    );
  });

  const cases: readonly (readonly [string, object, object, string])[] = [
    [
      "a request below the minimum",
      { type: "Container", min: { cpu: "100m" } },
      { requests: { cpu: "50m" } },
      "minimum cpu usage per Container is 100m, but request is 50m",
    ],
    [
      "a pod without a limit",
      { type: "Pod", max: { memory: "1Gi" } },
      { requests: { memory: "1Mi" } },
      "maximum memory usage per Pod is 1Gi.  No limit is specified",
    ],
    [
      "a limit above the maximum",
      { type: "Pod", max: { memory: "1Gi" } },
      { limits: { memory: "2Gi" } },
      "maximum memory usage per Pod is 1Gi, but limit is 2Gi",
    ],
    [
      "a pod without a request",
      { type: "Pod", min: { memory: "1Gi" } },
      {},
      "minimum memory usage per Pod is 1Gi.  No request is specified",
    ],
    [
      "a limit too far above its request",
      { type: "Pod", maxLimitRequestRatio: { cpu: "2" } },
      { requests: { cpu: "100m" }, limits: { cpu: "250m" } },
      "cpu max limit to request ratio per Pod is 2, but provided ratio is 2.500000",
    ],
    [
      "a ratio without a request",
      { type: "Pod", maxLimitRequestRatio: { cpu: "2" } },
      {},
      "cpu max limit to request ratio per Pod is 2, but no request is specified or request is 0",
    ],
    [
      "two problems together",
      { type: "Pod", min: { cpu: "1", memory: "1Gi" } },
      { requests: { cpu: "1m", memory: "1Mi" } },
      "[minimum cpu usage per Pod is 1, but request is 1m, minimum memory usage per Pod is 1Gi, but request is 1Mi]",
    ],
    [
      "what is within",
      { type: "Pod", min: { cpu: "100m" }, max: { cpu: "1" } },
      { requests: { cpu: "100m" }, limits: { cpu: "1" } },
      "",
    ],
  ];
  for (const [what, limit, resources, why] of cases)
    test(`judges ${what}`, async () => {
      const { refusal } = await limited(limit).admit(limitRanger, Pod, withResources(resources));
      assert.equal(refusal, why && `pods "p" is forbidden: ${why}`);
    });

  test("judges claims, and leaves those alone that are being deleted", async () => {
    const world = limited({ type: "PersistentVolumeClaim", max: { storage: "1Gi" } });
    const claim = { metadata: { name: "c" }, spec: { resources: { requests: { storage: "2Gi" } } } };
    const { refusal } = await world.admit(limitRanger, PersistentVolumeClaim, claim);
    assert.equal(
      refusal,
      'persistentvolumeclaims "c" is forbidden: maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi',
    );
    const old = { ...claim, metadata: { name: "c", deletionTimestamp: "2026-01-01T00:00:00Z" } };
    assert.equal((await world.admit(limitRanger, PersistentVolumeClaim, claim, { old })).refusal, "");
  });

  test("minds updates of pods through resize only", async () => {
    const world = limited({ type: "Pod", max: { memory: "1Gi" } });
    const pod = withResources({ limits: { memory: "2Gi" } });
    assert.equal((await world.admit(limitRanger, Pod, pod, { old: pod })).refusal, "");
    const resize = await world.admit(limitRanger, Pod, pod, { old: pod, subresource: "resize" });
    assert.equal(resize.refusal, 'pods "p" is forbidden: maximum memory usage per Pod is 1Gi, but limit is 2Gi');
  });
});

test("TaintNodesByCondition taints a new node once", async () => {
  const world = new AdmissionWorld();
  const { object } = await world.admit(taintNodesByCondition, Node, { metadata: { name: "n" } });
  assert.deepEqual(object.spec.taints, [{ key: "node.kubernetes.io/not-ready", effect: "NoSchedule" }]);
  const again = await world.admit(taintNodesByCondition, Node, object);
  assert.deepEqual(again.object.spec.taints, object.spec.taints);
});

describe("DefaultTolerationSeconds", () => {
  const plugin = defaultTolerationSeconds({ notReady: 300, unreachable: 200 });
  const added = (key: string, tolerationSeconds: number) => ({
    key: `node.kubernetes.io/${key}`,
    operator: "Exists",
    effect: "NoExecute",
    tolerationSeconds,
  });
  const cases: readonly (readonly [string, object[] | undefined, object[]])[] = [
    ["none", undefined, [added("not-ready", 300), added("unreachable", 200)]],
    [
      "one of its own",
      [{ key: "node.kubernetes.io/not-ready", operator: "Exists" }],
      [{ key: "node.kubernetes.io/not-ready", operator: "Exists" }, added("unreachable", 200)],
    ],
    ["one of everything", [{ operator: "Exists" }], [{ operator: "Exists" }]],
    [
      "one of another effect",
      [{ operator: "Exists", effect: "NoSchedule" }],
      [{ operator: "Exists", effect: "NoSchedule" }, added("not-ready", 300), added("unreachable", 200)],
    ],
  ];
  for (const [what, tolerations, expected] of cases)
    test(`adds to a pod that has ${what}`, async () => {
      const { object } = await new AdmissionWorld().admit(plugin, Pod, podWith({ tolerations }));
      assert.deepEqual(object.spec.tolerations, expected);
    });
});

describe("AlwaysPullImages", () => {
  test("makes every start pull", async () => {
    const { object } = await new AdmissionWorld().admit(
      alwaysPullImages,
      Pod,
      podWith({ volumes: [{ name: "v", image: { reference: "i", pullPolicy: "Never" } }] }),
    );
    assert.equal(object.spec.containers[0].imagePullPolicy, "Always");
    assert.equal(object.spec.volumes[0].image.pullPolicy, "Always");
  });

  test("leaves an update alone that brings no image", async () => {
    const pod = podWith({ containers: [{ name: "c", image: "i", imagePullPolicy: "Never" }] });
    const { object } = await new AdmissionWorld().admit(alwaysPullImages, Pod, pod, { old: pod });
    assert.equal(object.spec.containers[0].imagePullPolicy, "Never");
  });
});

describe("Priority", () => {
  const classes = (
    ...made: readonly { name: string; value: number; globalDefault?: boolean; preemptionPolicy?: string }[]
  ) => {
    const world = new AdmissionWorld();
    for (const { name, ...rest } of made) world.have(PriorityClass, { metadata: { name }, ...rest } as never);
    return world;
  };

  test("takes the number and the policy from the class", async () => {
    const world = classes({ name: "high", value: 1000, preemptionPolicy: "Never" });
    const { object } = await world.admit(priority, Pod, podWith({ priorityClassName: "high" }));
    assert.deepEqual(
      [object.spec.priority, object.spec.preemptionPolicy, object.spec.priorityClassName],
      [1000, "Never", "high"],
    );
  });

  test("takes the default class, or zero", async () => {
    const none = await classes().admit(priority, Pod, podWith());
    assert.deepEqual([none.object.spec.priority, none.object.spec.preemptionPolicy], [0, "PreemptLowerPriority"]);
    assert.equal(none.object.spec.priorityClassName, undefined);
    const world = classes({ name: "usual", value: 5, globalDefault: true });
    const { object } = await world.admit(priority, Pod, podWith());
    assert.deepEqual([object.spec.priority, object.spec.priorityClassName], [5, "usual"]);
  });

  const refusals: readonly (readonly [string, object, string])[] = [
    ["a class that is missing", { priorityClassName: "lost" }, "no PriorityClass with name lost was found"],
    [
      "a number of its own",
      { priorityClassName: "high", priority: 7 },
      "the integer value of priority (7) must not be provided in pod spec; priority admission controller computed 1000 from the given PriorityClass name",
    ],
    [
      "a policy of its own",
      { priorityClassName: "high", preemptionPolicy: "Never" },
      "the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority admission controller computed PreemptLowerPriority from the given PriorityClass name",
    ],
  ];
  for (const [what, spec, why] of refusals)
    test(`refuses ${what}`, async () => {
      const { refusal } = await classes({ name: "high", value: 1000 }).admit(priority, Pod, podWith(spec));
      assert.equal(refusal, `pods "p" is forbidden: ${why}`);
    });

  test("keeps the number of a pod when an update leaves it out", async () => {
    const old = podWith({ priority: 9, preemptionPolicy: "Never" });
    const { object } = await classes().admit(priority, Pod, podWith(), { old });
    assert.deepEqual([object.spec.priority, object.spec.preemptionPolicy], [9, "Never"]);
  });

  test("lets there be one default class", async () => {
    const world = classes({ name: "usual", value: 5, globalDefault: true });
    const other = { metadata: { name: "other" }, value: 1, globalDefault: true };
    const { refusal } = await world.admit(priority, PriorityClass, other);
    assert.equal(
      refusal,
      'priorityclasses.scheduling.k8s.io "other" is forbidden: PriorityClass usual is already marked as default. Only one default can exist',
    );
    const usual = { metadata: { name: "usual" }, value: 5, globalDefault: true };
    assert.equal((await world.admit(priority, PriorityClass, usual, { old: usual })).refusal, "");
  });
});

test("DefaultStorageClass gives a claim the newest default, and none to a claim that wants none", async () => {
  const world = new AdmissionWorld();
  const annotations = { "storageclass.kubernetes.io/is-default-class": "true" };
  world.have(StorageClass, { metadata: { name: "old", annotations }, provisioner: "x" });
  world.have(StorageClass, {
    metadata: { name: "new", annotations, creationTimestamp: "2026-01-02T00:00:00Z" },
    provisioner: "x",
  });
  world.have(StorageClass, { metadata: { name: "plain" }, provisioner: "x" });
  const claim = (spec: object) => ({ metadata: { name: "c" }, spec });
  assert.equal(
    (await world.admit(defaultStorageClass, PersistentVolumeClaim, claim({}))).object.spec.storageClassName,
    "new",
  );
  assert.equal(
    (await world.admit(defaultStorageClass, PersistentVolumeClaim, claim({ storageClassName: "" }))).object.spec
      .storageClassName,
    "",
  );
});

test("DefaultIngressClass gives an ingress the default by name, unless an annotation names one", async () => {
  const world = new AdmissionWorld();
  const annotations = { "ingressclass.kubernetes.io/is-default-class": "true" };
  for (const name of ["b", "a"])
    world.have(IngressClass, { metadata: { name, annotations }, spec: { controller: "x/y" } });
  const { object } = await world.admit(defaultIngressClass, Ingress, { metadata: { name: "i" }, spec: {} });
  assert.equal(object.spec.ingressClassName, "a");
  const named = { metadata: { name: "i", annotations: { "kubernetes.io/ingress.class": "z" } }, spec: {} };
  assert.equal((await world.admit(defaultIngressClass, Ingress, named)).object.spec.ingressClassName, undefined);
});

test("StorageObjectInUseProtection adds its finalizers once", async () => {
  const world = new AdmissionWorld();
  const volume = await world.admit(storageObjectInUseProtection, PersistentVolume, {
    metadata: { name: "v" },
    spec: {},
  });
  assert.deepEqual(volume.object.metadata.finalizers, ["kubernetes.io/pv-protection"]);
  const claim = { metadata: { name: "c", finalizers: ["kubernetes.io/pvc-protection"] }, spec: {} };
  const again = await world.admit(storageObjectInUseProtection, PersistentVolumeClaim, claim);
  assert.deepEqual(again.object.metadata.finalizers, ["kubernetes.io/pvc-protection"]);
});

describe("PersistentVolumeClaimResize", () => {
  const claim = (storage: string, phase = "Bound", storageClassName = "grows") => ({
    metadata: { name: "c" },
    spec: { storageClassName, resources: { requests: { storage } } },
    status: { phase },
  });
  const cases: readonly (readonly [string, object, object, string])[] = [
    ["growing where that is possible", claim("1Gi"), claim("2Gi"), ""],
    ["shrinking, which others judge", claim("2Gi"), claim("1Gi"), ""],
    [
      "growing of what is not bound",
      claim("1Gi", "Pending"),
      claim("2Gi", "Pending"),
      "Only bound persistent volume claims can be expanded",
    ],
    [
      "growing where that is not possible",
      claim("1Gi", "Bound", "fixed"),
      claim("2Gi", "Bound", "fixed"),
      "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize",
    ],
  ];
  for (const [what, old, next, why] of cases)
    test(`judges ${what}`, async () => {
      const world = new AdmissionWorld();
      world.have(StorageClass, { metadata: { name: "grows" }, provisioner: "x", allowVolumeExpansion: true });
      world.have(StorageClass, { metadata: { name: "fixed" }, provisioner: "x" });
      const { refusal } = await world.admit(persistentVolumeClaimResize, PersistentVolumeClaim, next, { old });
      assert.equal(refusal, why && `persistentvolumeclaims "c" is forbidden: ${why}`);
    });
});

describe("RuntimeClass", () => {
  const world = () => {
    const made = new AdmissionWorld();
    made.have(RuntimeClass, {
      metadata: { name: "sandbox" },
      handler: "runsc",
      overhead: { podFixed: { cpu: "100m" } },
      scheduling: { nodeSelector: { sandbox: "yes" }, tolerations: [{ key: "sandbox", operator: "Exists" }] },
    });
    return made;
  };

  test("gives the pod its overhead, node selector and tolerations", async () => {
    const { object } = await world().admit(
      runtimeClass,
      Pod,
      podWith({ runtimeClassName: "sandbox", nodeSelector: { a: "b" } }),
    );
    assert.deepEqual(object.spec.overhead, { cpu: "100m" });
    assert.deepEqual(object.spec.nodeSelector, { a: "b", sandbox: "yes" });
    assert.deepEqual(object.spec.tolerations, [{ key: "sandbox", operator: "Exists" }]);
  });

  const refusals: readonly (readonly [string, object, string])[] = [
    ["a class that is missing", { runtimeClassName: "lost" }, 'pod rejected: RuntimeClass "lost" not found'],
    [
      "another overhead",
      { runtimeClassName: "sandbox", overhead: { cpu: "1" } },
      "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
    ],
    [
      "an overhead without a class",
      { overhead: { cpu: "1" } },
      "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
    ],
    [
      "another node",
      { runtimeClassName: "sandbox", nodeSelector: { sandbox: "no" } },
      "conflict: runtimeClass.scheduling.nodeSelector[sandbox] = yes; pod.spec.nodeSelector[sandbox] = no",
    ],
  ];
  for (const [what, spec, why] of refusals)
    test(`refuses ${what}`, async () => {
      assert.equal((await world().admit(runtimeClass, Pod, podWith(spec))).refusal, `pods "p" is forbidden: ${why}`);
    });
});

test("PodTopologyLabels copies zone and region of the node to pods and bindings", async () => {
  const world = new AdmissionWorld();
  const labels = { "topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r" };
  world.have(Node, { metadata: { name: "n", labels: { ...labels, other: "o" } } });
  const pod = await world.admit(podTopologyLabels, Pod, podWith({ nodeName: "n" }));
  assert.deepEqual(pod.object.metadata.labels, labels);
  const binding = { metadata: { name: "p", namespace: "default" }, target: { kind: "Node", name: "n" } };
  const bound = await world.admit(podTopologyLabels, Pod, binding, { subresource: "binding", name: "p" });
  assert.deepEqual(bound.object.metadata.labels, labels);
});

test("DenyServiceExternalIPs refuses new addresses, and keeps those in use", async () => {
  const world = new AdmissionWorld();
  const service = (...externalIPs: string[]) => ({ metadata: { name: "s" }, spec: { externalIPs } });
  const refusal = 'services "s" is forbidden: Use of external IPs is denied by admission control';
  assert.equal((await world.admit(denyServiceExternalIps, Service, service("1.2.3.4"))).refusal, refusal);
  const old = service("1.2.3.4", "5.6.7.8");
  assert.equal((await world.admit(denyServiceExternalIps, Service, service("1.2.3.4"), { old })).refusal, "");
  assert.equal((await world.admit(denyServiceExternalIps, Service, service("9.9.9.9"), { old })).refusal, refusal);
});

test("LimitPodHardAntiAffinityTopology lets pods keep others off their node only", async () => {
  const spec = (topologyKey: string) => ({
    affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey }] } },
  });
  const world = new AdmissionWorld();
  assert.equal(
    (await world.admit(limitPodHardAntiAffinityTopology, Pod, podWith(spec("zone")))).refusal,
    'pods "p" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey zone but only key kubernetes.io/hostname is allowed',
  );
  assert.equal(
    (await world.admit(limitPodHardAntiAffinityTopology, Pod, podWith(spec("kubernetes.io/hostname")))).refusal,
    "",
  );
});

test("AlwaysDeny refuses everything, by the name that will be generated if there is none yet", async () => {
  const { refusal } = await new AdmissionWorld().admit(alwaysDeny, Pod, {
    metadata: { generateName: "web-" },
    spec: {},
  });
  assert.equal(refusal, 'pods "web-" is forbidden: admission control is denying all modifications');
});

test("NodeDeclaredFeatureValidator refuses changes that the kubelet of the pod's node does not know", async () => {
  const world = new AdmissionWorld();
  const all = ["InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers"];
  world.have(Node, { metadata: { name: "new" }, status: { declaredFeatures: all } });
  world.have(Node, { metadata: { name: "old" } });
  const cpu = (amount: string) => ({ requests: { cpu: amount } });
  const pod = (nodeName: string, generation: number, whole: string, init: string, restartPolicy?: "Always") =>
    podWith(
      {
        nodeName,
        resources: cpu(whole),
        initContainers: [{ name: "i", image: "i", resources: cpu(init), ...(restartPolicy && { restartPolicy }) }],
        containers: [{ name: "c", image: "i" }],
      },
      { generation },
    );
  const refusal = async (next: object, old: object) =>
    (await world.admit(nodeDeclaredFeatureValidator, Pod, next, { old, subresource: "resize" })).refusal;
  assert.equal(await refusal(pod("new", 2, "2", "2"), pod("new", 1, "1", "1")), "");
  assert.equal(
    await refusal(pod("old", 2, "2", "2"), pod("old", 1, "1", "1")),
    `pods "p" is forbidden: pod update requires features ${all.join(", ")} which are not available on node "old"`,
  );
  assert.match(await refusal(pod("old", 2, "1", "2"), pod("old", 1, "1", "1")), /features InPlacePodVertical\S+ which/);
  assert.equal(await refusal(pod("old", 2, "1", "2", "Always"), pod("old", 1, "1", "1", "Always")), "");
  assert.equal(await refusal(pod("old", 1, "2", "2"), pod("old", 1, "1", "1")), "");
  assert.equal(await refusal(pod("", 2, "2", "2"), pod("", 1, "1", "1")), "");
  assert.match(await refusal(pod("gone", 2, "2", "2"), pod("gone", 1, "1", "1")), /node "gone" not found/);
});

test("PodResizeValidator keeps a pod within what its node has", async () => {
  const world = new AdmissionWorld();
  world.have(Node, { metadata: { name: "n" }, status: { allocatable: { cpu: "1", memory: "1Gi" } } });
  world.have(Node, { metadata: { name: "w", labels: { "kubernetes.io/os": "windows" } } });
  const pod = (generation: number, cpu: string, nodeName = "n") =>
    podWith(
      {
        nodeName,
        overhead: { cpu: "100m" },
        containers: [{ name: "c", image: "i", resources: { requests: { cpu } } }],
      },
      { generation },
    );
  const resize = (next: object, old: object) =>
    world.admit(podResizeValidator, Pod, next, { old, subresource: "resize" });
  assert.equal((await resize(pod(2, "900m"), pod(1, "100m"))).refusal, "");
  const refused = await resize(pod(2, "901m"), pod(1, "100m"));
  assert.equal(
    refused.refusal,
    'pods "p" is forbidden: node didn\'t have enough allocatable resources: cpu, requested: 1001, allocatable: 1000',
  );
  assert.deepEqual(refused.error?.details?.causes, [{ reason: "NodeCapacity" }]);
  assert.equal((await resize(pod(1, "5"), pod(1, "5"))).refusal, "");
  assert.match(
    (await resize(pod(2, "1m", "w"), pod(1, "2m", "w"))).refusal,
    /pod resize is only supported on linux nodes, node "w" is "windows"/,
  );
});
