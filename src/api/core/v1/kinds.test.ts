// Defaults and validation of the kinds of the core group besides pods.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AnyKind } from "#schema/index.ts";
import { changed, defaulted, podTemplate, problemsOf, statusProblemsOf } from "../../testing/rules.ts";
import { Binding } from "./binding.ts";
import { ConfigMap } from "./config-map.ts";
import { Endpoints } from "./endpoints.ts";
import { Event } from "./event.ts";
import { LimitRange } from "./limit-range.ts";
import { Namespace } from "./namespace.ts";
import { Node } from "./node.ts";
import { PersistentVolume } from "./persistent-volume.ts";
import { PersistentVolumeClaim } from "./persistent-volume-claim.ts";
import { ReplicationController } from "./replication-controller.ts";
import { ResourceQuota } from "./resource-quota.ts";
import { Secret } from "./secret.ts";
import { Service } from "./service.ts";

type Json = Record<string, unknown>;
const base64 = (text: string): string => Buffer.from(text).toString("base64");

const service = { spec: { ports: [{ port: 80 }], selector: { app: "web" } } };
const balanced = changed(service, { "spec.type": "LoadBalancer" });
const volume = {
  spec: { accessModes: ["ReadWriteOnce"], capacity: { storage: "1Gi" }, hostPath: { path: "/data" } },
};
const claim = { spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } } };
const controller = { spec: { selector: { app: "web" }, template: podTemplate } };
const event = { involvedObject: { kind: "Pod", name: "web", namespace: "default" } };

const defaults: [kind: AnyKind, given: Json, expected: Json][] = [
  [
    Service,
    service,
    {
      spec: {
        ports: [{ port: 80, protocol: "TCP", targetPort: 80 }],
        selector: { app: "web" },
        type: "ClusterIP",
        sessionAffinity: "None",
        internalTrafficPolicy: "Cluster",
      },
      status: { loadBalancer: {} },
    },
  ],
  [
    Service,
    changed(balanced, {
      "spec.sessionAffinity": "ClientIP",
      "spec.clusterIP": "10.0.0.1",
      "status.loadBalancer": { ingress: [{ ip: "1.2.3.4" }, { hostname: "lb" }] },
    }),
    {
      spec: {
        ports: [{ port: 80, protocol: "TCP", targetPort: 80 }],
        selector: { app: "web" },
        type: "LoadBalancer",
        sessionAffinity: "ClientIP",
        clusterIP: "10.0.0.1",
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 10800 } },
        externalTrafficPolicy: "Cluster",
        internalTrafficPolicy: "Cluster",
        allocateLoadBalancerNodePorts: true,
        clusterIPs: ["10.0.0.1"],
      },
      status: { loadBalancer: { ingress: [{ ip: "1.2.3.4", ipMode: "VIP" }, { hostname: "lb" }] } },
    },
  ],
  [
    Service,
    { spec: { type: "ExternalName", externalName: "a.example", sessionAffinityConfig: { clientIP: {} } } },
    {
      spec: { type: "ExternalName", externalName: "a.example", sessionAffinity: "None" },
      status: { loadBalancer: {} },
    },
  ],
  [
    Secret,
    { stringData: { a: "ü" }, data: { a: "eA==", b: "eA==" } },
    { data: { a: base64("ü"), b: "eA==" }, type: "Opaque" },
  ],
  [
    Namespace,
    { metadata: { name: "team", labels: { a: "b" } } },
    {
      metadata: { name: "team", labels: { a: "b", "kubernetes.io/metadata.name": "team" } },
      spec: {},
      status: { phase: "Active" },
    },
  ],
  [
    LimitRange,
    { spec: { limits: [{ type: "Container", max: { cpu: "4" }, min: { cpu: "1", memory: "1Gi" } }, { type: "Pod" }] } },
    {
      spec: {
        limits: [
          {
            type: "Container",
            max: { cpu: "4" },
            min: { cpu: "1", memory: "1Gi" },
            default: { cpu: "4" },
            defaultRequest: { cpu: "4", memory: "1Gi" },
          },
          { type: "Pod" },
        ],
      },
    },
  ],
  [
    PersistentVolume,
    volume,
    {
      spec: {
        accessModes: ["ReadWriteOnce"],
        capacity: { storage: "1Gi" },
        hostPath: { path: "/data", type: "" },
        persistentVolumeReclaimPolicy: "Retain",
        volumeMode: "Filesystem",
      },
      status: { phase: "Pending" },
    },
  ],
  [PersistentVolumeClaim, claim, { spec: { ...claim.spec, volumeMode: "Filesystem" }, status: { phase: "Pending" } }],
  [ResourceQuota, { spec: { hard: { cpu: "1500u" } } }, { spec: { hard: { cpu: "2m" } }, status: {} }],
];

for (const [kind, given, expected] of defaults)
  test(`the defaults of a ${kind.kind}: ${JSON.stringify(given)}`, () => {
    const { apiVersion, kind: _, metadata, ...rest } = defaulted(kind, given);
    const whole = { ...("metadata" in expected && { metadata }), ...rest };
    assert.deepEqual(whole, expected);
    assert.deepEqual(defaulted(kind, { ...rest, metadata }), { apiVersion, kind: kind.kind, ...rest, metadata });
  });

test("a node offers all it has unless it says otherwise, and has its network under both names", () => {
  const node = defaulted(Node, { spec: { podCIDR: "10.1.0.0/24" }, status: { capacity: { cpu: "2" } } });
  const { spec, status } = node as { spec: Json; status: Json };
  assert.deepEqual(spec, { podCIDR: "10.1.0.0/24", podCIDRs: ["10.1.0.0/24"] });
  assert.deepEqual(status.allocatable, { cpu: "2" });
});

test("a replication controller takes labels and selector from its template", () => {
  const { metadata, spec } = defaulted(ReplicationController, { spec: { template: podTemplate } }) as {
    metadata: Json;
    spec: Json;
  };
  assert.deepEqual(metadata.labels, { app: "web" });
  assert.deepEqual(spec.selector, { app: "web" });
  assert.equal(spec.replicas, 1);
});

const portRange = "must be between 1 and 65535, inclusive";
const cases: [kind: AnyKind, object: Json, ...problems: string[]][] = [
  // services
  [Service, service],
  [Service, changed(service, { "metadata.name": "1st" })],
  [Service, { spec: { clusterIP: "None" } }],
  [Service, { spec: {} }, "spec.ports: Required value"],
  [
    Service,
    changed(service, { "spec.ports": [{ port: 0 }] }),
    `spec.ports[0].port: Invalid value: 0: ${portRange}`,
    `spec.ports[0].targetPort: Invalid value: 0: ${portRange}`,
  ],
  [
    Service,
    changed(service, { "spec.ports": [{ port: 80 }, { port: 80, name: "b", nodePort: 30000 }] }),
    "spec.ports[0].name: Required value",
    "spec.ports[1].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
    'spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}',
  ],
  [
    Service,
    changed(service, { "spec.type": "NodePort", "spec.clusterIP": "None" }),
    "spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services",
  ],
  [Service, { spec: { type: "ExternalName" } }, "spec.externalName: Required value"],
  [Service, { spec: { type: "ExternalName", externalName: "a.example." } }],
  [
    Service,
    changed(service, { "spec.clusterIPs": ["10.0.0.1"] }),
    'spec.clusterIPs: Invalid value: ["10.0.0.1"]: must be empty when `clusterIP` is not specified',
  ],
  [
    Service,
    changed(service, {
      "spec.clusterIP": "10.0.0.1",
      "spec.clusterIPs": ["10.0.0.1", "10.0.0.2"],
      "spec.ipFamilies": ["IPv6"],
    }),
    'spec.clusterIPs: Invalid value: ["10.0.0.1","10.0.0.2"]: may specify no more than one IP for each IP family',
    'spec.clusterIPs[0]: Invalid value: "10.0.0.1": expected an IPv6 value as indicated by `ipFamilies[0]`',
  ],
  [
    Service,
    changed(service, { "spec.externalIPs": ["127.0.0.1", "x"] }),
    'spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
    'spec.externalIPs[1]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
  ],
  [
    Service,
    changed(service, {
      "spec.externalTrafficPolicy": "Local",
      "spec.loadBalancerClass": "a",
      "spec.healthCheckNodePort": 1,
    }),
    "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'",
    'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services',
    "spec.healthCheckNodePort: Invalid value: 1: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
  ],
  [
    Service,
    changed(service, {
      "spec.sessionAffinity": "ClientIP",
      "spec.sessionAffinityConfig": { clientIP: { timeoutSeconds: 86401 } },
    }),
    "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: must be greater than 0 and less than 86400",
  ],
  [
    Service,
    changed(service, { "spec.loadBalancerSourceRanges": [" 10.0.0.1/8"] }),
    "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
    'spec.LoadBalancerSourceRanges[0]: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix length',
  ],
  [
    Service,
    changed(service, { "spec.trafficDistribution": "Random" }),
    'spec.trafficDistribution: Unsupported value: "Random": supported values: "PreferClose", "PreferSameZone", "PreferSameNode"',
  ],
  // config maps and secrets
  [ConfigMap, { data: { "a.b": "x" }, binaryData: { c: "eA==" } }],
  [
    ConfigMap,
    { data: { "..": "x", a: "y" }, binaryData: { a: "eA==" } },
    "data[..]: Invalid value: \"..\": must not be '..'",
    'data[a]: Invalid value: "a": duplicate of key present in binaryData',
  ],
  [ConfigMap, { data: { a: "x".repeat(1024 * 1024 + 1) } }, "[]: Too long: may not be more than 1048576 bytes"],
  [Secret, { stringData: { a: "x" } }],
  [Secret, { data: { a: base64("x".repeat(1024 * 1024 + 1)) } }, "data: Too long: may not be more than 1048576 bytes"],
  [Secret, { type: "kubernetes.io/tls", data: { "tls.crt": "" } }, "data[tls.key]: Required value"],
  [
    Secret,
    { type: "kubernetes.io/service-account-token" },
    "metadata.annotations[kubernetes.io/service-account.name]: Required value",
  ],
  [
    Secret,
    { type: "kubernetes.io/dockerconfigjson", stringData: { ".dockerconfigjson": "{" } },
    'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": invalid JSON',
  ],
  [Secret, { type: "kubernetes.io/basic-auth" }, "data[username]: Required value", "data[password]: Required value"],
  // namespaces
  [
    Namespace,
    { spec: { finalizers: ["mine"] } },
    'spec.finalizers: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified',
  ],
  // volumes and claims
  [PersistentVolume, volume],
  [
    PersistentVolume,
    { spec: {} },
    "spec.accessModes: Required value",
    "spec.capacity: Required value",
    'spec.capacity: Unsupported value: null: supported values: "storage"',
    "spec: Required value: must specify a volume type",
  ],
  [
    PersistentVolume,
    changed(volume, { "spec.hostPath": undefined, "spec.local": { path: "/x" } }),
    "spec.nodeAffinity: Required value: Local volume requires node affinity",
  ],
  [
    PersistentVolume,
    changed(volume, {
      "spec.nfs": { server: "s", path: "/" },
      "spec.accessModes": ["ReadWriteOncePod", "ReadWriteMany"],
    }),
    "spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes",
    "spec.nfs: Forbidden: may not specify more than 1 volume type",
  ],
  [
    PersistentVolume,
    changed(volume, { "spec.hostPath.path": "/", "spec.persistentVolumeReclaimPolicy": "Recycle" }),
    "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'",
  ],
  [PersistentVolumeClaim, claim],
  [
    PersistentVolumeClaim,
    { spec: { accessModes: ["Often"] } },
    'spec.accessModes: Unsupported value: "Often": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"',
    "spec.resources[storage]: Required value",
  ],
  [
    PersistentVolumeClaim,
    changed(claim, { "spec.resources.requests.storage": "0", "spec.dataSource": { kind: "Pod", name: "x" } }),
    'spec.resources[storage]: Invalid value: "0": must be greater than zero',
    "spec.dataSource: Invalid value: \"Pod\": must be 'PersistentVolumeClaim' when referencing the default apiGroup",
  ],
  // quotas and limits
  [ResourceQuota, { spec: { hard: { "requests.cpu": "1", pods: "2", "count/jobs.batch": "3" } } }],
  [
    ResourceQuota,
    { spec: { hard: { pods: "1500m", pears: "1" } } },
    'spec.hard[pods]: Invalid value: "1500m": must be an integer',
    'spec.hard[pears]: Invalid value: "pears": must be a standard resource type or fully qualified',
    'spec.hard[pears]: Invalid value: "pears": must be a standard resource for quota',
  ],
  [
    ResourceQuota,
    { spec: { hard: { cpu: "1" }, scopes: ["BestEffort", "NotBestEffort"] } },
    'spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: unsupported scope applied to resource',
    'spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes',
  ],
  [
    ResourceQuota,
    {
      spec: {
        hard: { pods: "1" },
        scopeSelector: { matchExpressions: [{ scopeName: "PriorityClass", operator: "In" }] },
      },
    },
    "spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
  ],
  [
    LimitRange,
    {
      spec: { limits: [{ type: "Pod", min: { cpu: "2" }, max: { cpu: "1" }, default: { cpu: "1" } }, { type: "Pod" }] },
    },
    "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'",
    'spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1',
    'spec.limits[1].type: Duplicate value: "Pod"',
  ],
  [
    LimitRange,
    {
      spec: {
        limits: [{ type: "Container", min: { cpu: "1" }, max: { cpu: "2" }, maxLimitRequestRatio: { cpu: "3" } }],
      },
    },
    'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "3": ratio 3 is greater than max/min = 2.000000',
  ],
  [
    LimitRange,
    { spec: { limits: [{ type: "PersistentVolumeClaim" }] } },
    "spec.limits[0].limits: Required value: either minimum or maximum storage value is required, but neither was provided",
  ],
  // replication controllers
  [ReplicationController, controller],
  [ReplicationController, { spec: { template: { spec: podTemplate.spec } } }, "spec.selector: Required value"],
  [
    ReplicationController,
    changed(controller, {
      "spec.selector": { app: "other" },
      "spec.template.spec.restartPolicy": "Never",
      "spec.replicas": -1,
    }),
    "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
    'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
    'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
  ],
  // nodes
  [Node, { spec: { taints: [{ key: "a", effect: "NoSchedule" }], podCIDRs: ["10.0.0.0/24", "fd00::/64"] } }],
  [
    Node,
    { spec: { taints: [{ key: "a", effect: "NoSchedule" }, { key: "a", effect: "NoSchedule" }, { key: "b" }] } },
    'metadata.taints[1]: Duplicate value: {"Key":"a","Value":"","Effect":"NoSchedule","TimeAdded":null}: taints must be unique by key and effect pair',
    "metadata.taints[2].effect: Required value",
  ],
  [
    Node,
    { spec: { podCIDRs: ["10.0.0.0/24", "10.0.1.0/24"] }, status: { declaredFeatures: ["B", "A"] } },
    'status.declaredFeatures[1]: Invalid value: "A": list must be sorted alphabetically',
    'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.0.1.0/24"]: may specify no more than one CIDR for each IP family',
  ],
  // endpoints, events and bindings
  [Endpoints, { subsets: [{ addresses: [{ ip: "10.0.0.1" }], ports: [{ port: 80 }] }] }],
  [
    Endpoints,
    { subsets: [{ ports: [{ port: 80 }, { port: 81 }] }, { addresses: [{ ip: "169.254.0.1" }] }] },
    "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`",
    "subsets[0].ports[0].name: Required value",
    "subsets[0].ports[1].name: Required value",
    'subsets[1].addresses[0].ip: Invalid value: "169.254.0.1": may not be in the link-local range (169.254.0.0/16, fe80::/10)',
  ],
  [Event, event],
  [
    Event,
    changed(event, { "involvedObject.namespace": "other" }),
    'involvedObject.namespace: Invalid value: "other": does not match event.namespace',
  ],
  [
    Event,
    changed(event, { eventTime: "2026-01-01T00:00:00.000000Z", reportingComponent: "a/b", reportingInstance: "x" }),
    "action: Required value",
    "reason: Required value",
  ],
  [Binding, { target: { name: "n" } }],
  [
    Binding,
    { target: { kind: "Pod" } },
    'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"',
    "target.name: Required value",
  ],
];

for (const [kind, object, ...problems] of cases)
  test(`a ${kind.kind} ${JSON.stringify(object).slice(0, 120)} has ${problems.length} problems`, () =>
    assert.deepEqual(problemsOf(kind, object), problems));

const address = { "spec.clusterIP": "10.0.0.1", "spec.clusterIPs": ["10.0.0.1"], "spec.ipFamilies": ["IPv4"] };
const updates: [kind: AnyKind, old: Json, object: Json, ...problems: string[]][] = [
  [Service, changed(service, address), changed(service, { ...address, "spec.ports": [{ port: 81 }] })],
  [
    Service,
    changed(service, address),
    changed(service, { ...address, "spec.clusterIP": "10.0.0.2", "spec.clusterIPs": ["10.0.0.2"] }),
    'spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set',
  ],
  [
    Service,
    changed(service, address),
    service,
    "spec.clusterIPs[0]: Invalid value: null: primary clusterIP can not be unset",
    "spec.ipFamilies[0]: Invalid value: null: primary ipFamily can not be unset",
  ],
  [
    Service,
    changed(balanced, { "spec.loadBalancerClass": "a/b" }),
    balanced,
    "spec.loadBalancerClass: Invalid value: null: may not change once set",
  ],
  [ConfigMap, { data: { a: "x" } }, { data: { a: "y" } }],
  [
    ConfigMap,
    { immutable: true, data: { a: "x" } },
    { data: { a: "y" } },
    "immutable: Forbidden: field is immutable when `immutable` is set",
    "data: Forbidden: field is immutable when `immutable` is set",
  ],
  [Secret, {}, { type: "other" }, 'type: Invalid value: "other": field is immutable'],
  [
    PersistentVolume,
    volume,
    changed(volume, { "spec.hostPath.path": "/other" }),
    'spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n@@ -2,7 +2,7 @@\n  "GCEPersistentDisk": null,\n  "AWSElasticBlockStore": null,\n  "HostPath": {\n-  "Path": "/data",\n+  "Path": "/other",\n   "Type": ""\n  },\n  "Glusterfs": null,\n',
  ],
  [PersistentVolumeClaim, claim, changed(claim, { "spec.volumeName": "pv", "spec.storageClassName": "fast" })],
  [
    PersistentVolumeClaim,
    changed(claim, { "status.phase": "Bound" }),
    changed(claim, { "status.phase": "Bound", "spec.resources.requests.storage": "2Gi" }),
  ],
  [
    PersistentVolumeClaim,
    changed(claim, { "status.phase": "Bound", "status.capacity": { storage: "1Gi" } }),
    changed(claim, { "status.phase": "Bound", "spec.resources.requests.storage": "1Mi" }),
    "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity",
  ],
  [
    ResourceQuota,
    { spec: { hard: { pods: "1" }, scopes: ["BestEffort"] } },
    { spec: { hard: { pods: "1" } } },
    "spec.scopes: Invalid value: null: field is immutable",
  ],
  [
    Node,
    { spec: { podCIDR: "10.0.0.0/24", providerID: "a" } },
    { spec: { podCIDR: "10.0.1.0/24", providerID: "b" } },
    'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
    'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
  ],
];

for (const [kind, old, object, ...problems] of updates)
  test(`a ${kind.kind} that becomes ${JSON.stringify(object).slice(0, 120)} has ${problems.length} problems`, () =>
    assert.deepEqual(problemsOf(kind, object, old), problems));

test("a claim's spec is fixed, and the answer shows what changed", () => {
  const [problem] = problemsOf(PersistentVolumeClaim, changed(claim, { "spec.accessModes": ["ReadOnlyMany"] }), claim);
  assert.match(
    problem ?? "",
    /^spec: Forbidden: spec is immutable after creation except resources\.requests and volumeAttributesClassName for bound claims\n@@/,
  );
  assert.match(problem ?? "", /\n- {2}"ReadWriteOnce"\n\+ {2}"ReadOnlyMany"\n/);
});

test("a namespace is terminating exactly while it is being deleted", () => {
  const deleted = { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 0 } };
  const leaving = { ...deleted, status: { phase: "Terminating" } };
  assert.deepEqual(statusProblemsOf(Namespace, {}, {}), []);
  assert.deepEqual(statusProblemsOf(Namespace, leaving, deleted), []);
  assert.deepEqual(statusProblemsOf(Namespace, { status: { phase: "Terminating" } }, {}), [
    "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty",
  ]);
});

test("only a load balancer has ingress addresses", () => {
  const status = { loadBalancer: { ingress: [{ ip: "1.2.3.4" }] } };
  assert.deepEqual(statusProblemsOf(Service, { ...balanced, status }, balanced), []);
  assert.deepEqual(statusProblemsOf(Service, { ...service, status }, service), [
    "status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'",
  ]);
});

test("a volume that cannot change as asked has each of its own problems twice, as upstream's does", () => {
  assert.deepEqual(problemsOf(PersistentVolume, changed(volume, { "spec.accessModes": ["Some"] }), volume), [
    'spec.accessModes: Unsupported value: "Some": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"',
    'spec.accessModes: Unsupported value: "Some": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"',
  ]);
});

test("mount options in an annotation are for volumes whose source takes them", () => {
  const annotated = { "metadata.annotations": { "volume.beta.kubernetes.io/mount-options": "ro" } };
  assert.deepEqual(problemsOf(PersistentVolume, changed(volume, annotated)), [
    "metadata.annotations.volume.beta.kubernetes.io/mount-options: Forbidden: may not specify mount options for this volume type",
  ]);
  const nfs = { "spec.hostPath": undefined, "spec.nfs": { server: "a", path: "/b" } };
  assert.deepEqual(problemsOf(PersistentVolume, changed(volume, { ...annotated, ...nfs })), []);
});
