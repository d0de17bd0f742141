import assert from "node:assert/strict";
import { test } from "node:test";
import { changed, problemsOf, statusProblemsOf } from "../../testing/rules.ts";
import { Pod } from "./pod.ts";
import { PodTemplate } from "./pod-template.ts";

const pod = { spec: { containers: [{ name: "web", image: "web:1" }] } };
const gated = changed(pod, { "spec.schedulingGates": [{ name: "example.com/wait" }] });
const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

type Change = Record<string, unknown>;
/** What to change in a valid pod, and what is then wrong with it. */
const cases: [change: Change, ...problems: string[]][] = [
  [{}],
  [{ "spec.containers": [] }, "spec.containers: Required value"],
  [{ "spec.containers.0.name": "Web" }, `spec.containers[0].name: Invalid value: "Web": ${label}`],
  [{ "spec.containers.0.name": "" }, "spec.containers[0].name: Required value"],
  [{ "spec.containers.0.image": undefined }, "spec.containers[0].image: Required value"],
  [
    { "spec.containers.0.image": "web " },
    'spec.containers[0].image: Invalid value: "web ": must not have leading or trailing whitespace',
  ],
  [
    {
      "spec.containers.1": { name: "web", image: "web" },
      "spec.initContainers": [{ name: "web", image: "web" }],
    },
    'spec.containers[1].name: Duplicate value: "web"',
    'spec.initContainers[0].name: Duplicate value: "web"',
  ],
  [
    { "spec.restartPolicy": "Sometimes" },
    'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
  ],
  [{ "spec.containers.0.imagePullPolicy": "Never" }],
  // ports
  [
    {
      "spec.containers.0.ports": [
        { containerPort: 80, name: "http" },
        { containerPort: 443, hostPort: 443 },
      ],
    },
  ],
  [{ "spec.containers.0.ports": [{ containerPort: 0 }] }, "spec.containers[0].ports[0].containerPort: Required value"],
  [
    { "spec.containers.0.ports": [{ containerPort: 65536, hostPort: -1 }] },
    "spec.containers[0].ports[0].containerPort: Invalid value: 65536: must be between 1 and 65535, inclusive",
    "spec.containers[0].ports[0].hostPort: Invalid value: -1: must be between 1 and 65535, inclusive",
  ],
  [
    {
      "spec.containers.0.ports": [
        { containerPort: 80, hostPort: 8080, name: "a" },
        { containerPort: 81, hostPort: 8080, name: "a" },
      ],
    },
    'spec.containers[0].ports[1].name: Duplicate value: "a"',
    'spec.containers[0].ports[1].hostPort: Duplicate value: "TCP//8080"',
  ],
  [
    { "spec.hostNetwork": true, "spec.containers.0.ports": [{ containerPort: 80, hostPort: 81 }] },
    "spec.containers[0].ports[0].hostPort: Invalid value: 81: must match `containerPort` when `hostNetwork` is true",
  ],
  // environment
  [
    {
      "spec.containers.0.env": [
        { name: "A", value: "x" },
        { name: "B", valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
        { name: "C", valueFrom: { resourceFieldRef: { resource: "limits.cpu", divisor: "1m" } } },
        { name: "D", valueFrom: { secretKeyRef: { name: "s", key: "k" } } },
      ],
    },
  ],
  [
    { "spec.containers.0.env": [{ name: "A", value: "x", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }] },
    'spec.containers[0].env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty',
  ],
  [
    { "spec.containers.0.env": [{ name: "A", valueFrom: {} }] },
    'spec.containers[0].env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`',
  ],
  [
    { "spec.containers.0.env": [{ name: "A", valueFrom: { fieldRef: { fieldPath: "metadata.labels" } } }] },
    'spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "metadata.labels": supported values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"',
  ],
  [
    { "spec.containers.0.env": [{ name: "A", valueFrom: { fieldRef: { fieldPath: "metadata.whoops" } } }] },
    'spec.containers[0].env[0].valueFrom.fieldRef.fieldPath: Invalid value: "metadata.whoops": error converting fieldPath: field label not supported: metadata.whoops',
  ],
  [
    {
      "spec.containers.0.env": [
        { name: "A", valueFrom: { resourceFieldRef: { resource: "limits.cpu", divisor: "1Mi" } } },
      ],
    },
    'spec.containers[0].env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor\'s values 1m and 1 are supported with the cpu resource',
  ],
  [
    { "spec.containers.0.envFrom": [{}] },
    'spec.containers[0].envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`',
  ],
  [
    { "spec.containers.0.envFrom": [{ secretRef: {} }] },
    "spec.containers[0].envFrom[0].secretRef.name: Required value",
  ],
  [
    { "spec.containers.0.env": [{ name: "A", valueFrom: { fileKeyRef: { volumeName: "v", path: "f", key: "K" } } }] },
    'spec.containers[0].env[0].valueFrom.fileKeyRef.volumeName: Not found: "v"',
  ],
  // probes and lifecycle
  [
    { "spec.containers.0.livenessProbe": {} },
    "spec.containers[0].livenessProbe: Required value: must specify a handler type",
  ],
  [
    { "spec.containers.0.readinessProbe": { exec: { command: ["x"] }, tcpSocket: { port: "http" } } },
    "spec.containers[0].readinessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type",
  ],
  [
    {
      "spec.containers.0.livenessProbe": {
        grpc: { port: 0 },
        periodSeconds: -1,
        successThreshold: 2,
        terminationGracePeriodSeconds: 0,
      },
    },
    "spec.containers[0].livenessProbe.grpc.port: Invalid value: 0: must be between 1 and 65535, inclusive",
    "spec.containers[0].livenessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0",
    "spec.containers[0].livenessProbe.terminationGracePeriodSeconds: Invalid value: 0: must be greater than 0",
    "spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1",
  ],
  [
    { "spec.containers.0.lifecycle": { preStop: { sleep: { seconds: 31 } } } },
    "spec.containers[0].lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30)",
  ],
  [
    { "spec.initContainers": [{ name: "i", image: "i", livenessProbe: { exec: { command: ["x"] } } }] },
    "spec.initContainers[0].livenessProbe: Forbidden: may not be set for init containers without restartPolicy=Always",
  ],
  [
    {
      "spec.initContainers": [
        { name: "i", image: "i", restartPolicy: "Always", livenessProbe: { exec: { command: ["x"] } } },
      ],
    },
  ],
  // volumes
  [
    { "spec.containers.0.volumeMounts": [{ name: "data", mountPath: "/data" }] },
    'spec.containers[0].volumeMounts[0].name: Not found: "data"',
  ],
  [
    {
      "spec.volumes": [{ name: "data" }, { name: "data" }],
      "spec.containers.0.volumeMounts": [
        { name: "data", mountPath: "/data", subPath: "../x" },
        { name: "data", mountPath: "/data", mountPropagation: "Bidirectional" },
      ],
    },
    'spec.volumes[1].name: Duplicate value: "data"',
    "spec.containers[0].volumeMounts.subPath: Invalid value: \"../x\": must not contain '..'",
    'spec.containers[0].volumeMounts[1].mountPath: Invalid value: "/data": must be unique',
    "spec.containers[0].volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers",
  ],
  [
    { "spec.volumes": [{ name: "a", emptyDir: {}, hostPath: { path: "/x/../y" } }] },
    "spec.volumes[0].hostPath.path: Invalid value: \"/x/../y\": must not contain '..'",
    "spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type",
  ],
  [
    { "spec.volumes": [{ name: "a", secret: { items: [{ key: "k", path: "..x" }], defaultMode: 512 } }] },
    "spec.volumes[0].secret.items[0].path: Invalid value: \"..x\": must not start with '..'",
    "spec.volumes[0].secret.secretName: Required value",
    "spec.volumes[0].secret.defaultMode: Invalid value: 512: must be a number between 0 and 0777 (octal), both inclusive",
  ],
  [
    {
      "spec.volumes": [
        { name: "a", projected: { sources: [{ serviceAccountToken: { path: "t", expirationSeconds: 599 } }] } },
      ],
    },
    "spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes",
    "spec.volumes[0].projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set",
  ],
  [
    {
      "spec.volumes": [
        {
          name: "a",
          projected: {
            sources: [
              { secret: { name: "s", items: [{ key: "k", path: "p" }] }, configMap: { name: "c" } },
              { configMap: { name: "c", items: [{ key: "k", path: "p" }] } },
            ],
          },
        },
      ],
    },
    "spec.volumes[0].projected.sources[0]: Forbidden: may not specify more than 1 volume type per source",
    'spec.volumes[0].projected: Invalid value: "c": conflicting duplicate paths',
  ],
  [
    { "spec.volumes": [{ name: "a", downwardAPI: { items: [{ path: "x" }] } }] },
    "spec.volumes[0].downwardAPI: Required value: one of fieldRef and resourceFieldRef is required",
  ],
  [
    { "spec.volumes": [{ name: "a", nfs: { server: "s", path: "x" } }] },
    'spec.volumes[0].nfs.path: Invalid value: "x": must be an absolute path',
  ],
  [{ "spec.volumes": [{ name: "a", csi: { driver: "" } }] }, "spec.volumes[0].csi.driver: Required value"],
  [{ "spec.volumes": [{ name: "a", image: {} }] }, "spec.volumes[0].image.reference: Required value"],
  [
    { "spec.volumes": [{ name: "a", iscsi: { targetPortal: "p", iqn: "foo", lun: 256 } }] },
    "spec.volumes[0].iscsi.lun: Invalid value: 256: must be between 0 and 255, inclusive",
    'spec.volumes[0].iscsi.iqn: Invalid value: "foo": must be valid format starting with iqn, eui, or naa',
  ],
  [
    {
      "spec.volumes": [{ name: "d", emptyDir: {} }],
      "spec.containers.0.volumeDevices": [{ name: "d", devicePath: "/dev/x" }],
    },
    'spec.containers[0].volumeDevices[0].name: Invalid value: "d": can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode',
  ],
  // resources
  [
    { "spec.containers.0.resources": { limits: { cpu: "1" }, requests: { cpu: "2" } } },
    'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
  ],
  [
    { "spec.containers.0.resources": { requests: { "example.com/gpu": "1" } } },
    "spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources",
  ],
  [
    { "spec.containers.0.resources": { limits: { "example.com/gpu": "1500m" } } },
    'spec.containers[0].resources.limits[example.com/gpu]: Invalid value: "1500m": must be an integer',
    'spec.containers[0].resources.requests[example.com/gpu]: Invalid value: "1500m": must be an integer',
  ],
  [
    { "spec.containers.0.resources": { requests: { cpu: "-1", pears: "1" } } },
    'spec.containers[0].resources.requests[pears]: Invalid value: "pears": must be a standard resource type or fully qualified',
    'spec.containers[0].resources.requests[pears]: Invalid value: "pears": must be a standard resource for containers',
    'spec.containers[0].resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0',
  ],
  [
    { "spec.containers.0.resources": { limits: { "hugepages-2Mi": "3Mi" } } },
    'spec.containers[0].resources.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
    'spec.containers[0].resources.requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
    "spec.containers[0].resources: Forbidden: HugePages require cpu or memory",
  ],
  [
    { "spec.containers.0.resources": { claims: [{ name: "gpu" }] } },
    'spec.containers[0].resources.claims[0]: Not found: "gpu": must be one of the names in pod.spec.resourceClaims which is empty',
  ],
  [
    { "spec.resourceClaims": [{ name: "gpu" }] },
    'spec.resourceClaims[0]: Invalid value: {"name":"gpu"}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`',
  ],
  [
    { "spec.resources": { requests: { cpu: "1" } }, "spec.containers.0.resources": { requests: { cpu: "2" } } },
    'spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container requests of 2',
  ],
  [
    { "spec.resources": { limits: { "example.com/gpu": "1" } } },
    'spec.resources.limits[example.com/gpu]: Unsupported value: "example.com/gpu": supported values: "cpu", "hugepages-", "memory"',
  ],
  // security
  [
    { "spec.containers.0.securityContext": { runAsUser: -1, allowPrivilegeEscalation: false, privileged: true } },
    "spec.containers[0].securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive",
    'spec.containers[0].securityContext: Invalid value: {"runAsUser":-1,"allowPrivilegeEscalation":false,"privileged":true}: cannot set `allowPrivilegeEscalation` to false and `privileged` to true',
  ],
  [
    { "spec.containers.0.securityContext": { procMount: "Unmasked" } },
    'spec.containers[0].securityContext.procMount: Invalid value: "Unmasked": `hostUsers` must be false to use `Unmasked`',
  ],
  [
    { "spec.securityContext": { seccompProfile: { type: "Localhost" }, sysctls: [{ name: "a..b", value: "1" }] } },
    "spec.securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost",
    'spec.securityContext.sysctls[0].name: Invalid value: "a..b": must have at most 253 characters and match regex ^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$',
  ],
  [
    { "spec.hostNetwork": true, "spec.securityContext": { sysctls: [{ name: "net.core.somaxconn", value: "1" }] } },
    "spec.securityContext.sysctls[0].name: Invalid value: \"net.core.somaxconn\": may not be specified when 'hostNetwork' is true",
  ],
  [
    { "spec.hostUsers": false, "spec.hostNetwork": true, "spec.hostPID": true },
    "spec.hostNetwork: Forbidden: when `hostUsers` is false",
    "spec.HostPID: Forbidden: when `hostUsers` is false",
  ],
  [
    { "spec.os": { name: "windows" }, "spec.hostPID": true, "spec.containers.0.securityContext": { privileged: true } },
    "spec.hostPID: Forbidden: cannot be set for a windows pod",
    "spec.containers[0].securityContext.privileged: Forbidden: cannot be set for a windows pod",
  ],
  [{ "spec.os": { name: "plan9" } }, 'spec.os: Unsupported value: "plan9": supported values: "linux", "windows"'],
  // scheduling
  [
    {
      "spec.affinity": {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [
              {
                matchExpressions: [
                  { key: "a", operator: "In" },
                  { key: "b", operator: "Is" },
                ],
              },
            ],
          },
          preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 0, preference: {} }],
        },
      },
    },
    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
    'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[1].operator: Invalid value: "Is": not a valid selector operator',
    "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 0: must be in the range 1-100",
  ],
  [
    {
      "spec.affinity": {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "zone", matchLabelKeys: ["app"] }],
        },
      },
    },
    "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].matchLabelKeys: Forbidden: must not be specified when labelSelector is not set",
  ],
  [
    {
      "spec.tolerations": [
        { operator: "Equal" },
        { key: "a", operator: "Exists", value: "b" },
        { key: "a", tolerationSeconds: 1 },
      ],
    },
    'spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which means "match all values and all keys"',
    "spec.tolerations[1].operator: Invalid value: \"b\": value must be empty when `operator` is 'Exists'",
    "spec.tolerations[2].effect: Invalid value: \"\": effect must be 'NoExecute' when `tolerationSeconds` is set",
  ],
  [
    {
      "spec.topologySpreadConstraints": [
        { maxSkew: 0, topologyKey: "zone", whenUnsatisfiable: "ScheduleAnyway", minDomains: 1 },
        { maxSkew: 1, topologyKey: "zone", whenUnsatisfiable: "ScheduleAnyway" },
      ],
    },
    "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
    "spec.topologySpreadConstraints[0].minDomains: Invalid value: 1: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
    'spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate value: "{zone, ScheduleAnyway}"',
  ],
  [
    { "spec.schedulingGates": [{ name: "a" }, { name: "a" }], "spec.nodeName": "n" },
    'spec.schedulingGates[1]: Duplicate value: "a"',
    "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared",
  ],
  [
    { "spec.activeDeadlineSeconds": 0 },
    "spec.activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive",
  ],
  // names and DNS
  [{ "spec.dnsPolicy": "None" }, "spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"],
  [
    { "spec.dnsConfig": { nameservers: ["1.1.1.1", "2.2.2.2", "3.3.3.3", "x"], options: [{}] } },
    'spec.dnsConfig.nameservers: Invalid value: ["1.1.1.1","2.2.2.2","3.3.3.3","x"]: must not have more than 3 nameservers',
    'spec.dnsConfig.nameservers[3]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    "spec.dnsConfig.options[0]: Required value: must not be empty",
  ],
  [
    { "spec.hostAliases": [{ ip: "010.0.0.1", hostnames: ["a"] }] },
    'spec.hostAliases[0].ip: Invalid value: "010.0.0.1": must not have leading 0s',
  ],
  [
    { "spec.ephemeralContainers": [{ name: "debug", image: "d" }] },
    "spec.ephemeralContainers: Forbidden: cannot be set on create",
  ],
  // annotations
  [
    { "metadata.annotations": { "controller.kubernetes.io/pod-deletion-cost": "+1" } },
    'metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "+1": must be a 32bit integer',
  ],
];

for (const [change, ...problems] of cases)
  test(`a pod with ${JSON.stringify(change)} has ${problems.length} problems`, () =>
    assert.deepEqual(problemsOf(Pod, changed(pod, change)), problems));

const may =
  "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

const updates: [name: string, old: Change, change: Change, ...problems: string[]][] = [
  ["nothing", {}, {}],
  ["an image", {}, { "spec.containers.0.image": "web:2" }],
  ["a label", {}, { "metadata.labels": { a: "b" } }],
  ["a deadline", {}, { "spec.activeDeadlineSeconds": 5 }],
  [
    "a longer deadline",
    { "spec.activeDeadlineSeconds": 5 },
    { "spec.activeDeadlineSeconds": 6 },
    "spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value",
  ],
  ["a toleration", {}, { "spec.tolerations": [{ key: "a", operator: "Exists" }] }],
  [
    "a toleration less",
    { "spec.tolerations": [{ key: "a", operator: "Exists" }] },
    {},
    "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds",
  ],
  [
    "a container more",
    {},
    { "spec.containers.1": { name: "b", image: "b" } },
    "spec.containers: Forbidden: pod updates may not add or remove containers",
  ],
  [
    "a terminal",
    {},
    { "spec.containers.0.tty": true },
    `spec: Forbidden: pod updates may not change fields other than ${may}\n@@ -31,7 +31,7 @@\n    "SecurityContext": null,\n    "Stdin": false,\n    "StdinOnce": false,\n-   "TTY": false\n+   "TTY": true\n   }\n  ],\n  "EphemeralContainers": null,\n`,
  ],
];

for (const [name, before, change, ...problems] of updates)
  test(`a pod's update of ${name} has ${problems.length} problems`, () =>
    assert.deepEqual(problemsOf(Pod, changed(pod, change), changed(pod, before)), problems));

test("a pod at a gate may be told more about its node, and nothing may be taken back", () => {
  const chosen = changed(gated, { "spec.nodeSelector": { a: "1" } });
  assert.deepEqual(problemsOf(Pod, chosen, gated), []);
  assert.deepEqual(problemsOf(Pod, changed(gated, { "spec.nodeSelector": { a: "1", b: "2" } }), chosen), []);
  assert.deepEqual(problemsOf(Pod, changed(gated, { "spec.nodeSelector": { b: "2" } }), chosen), [
    'spec.nodeSelector: Invalid value: {"b":"2"}: only additions to spec.nodeSelector are allowed (no mutations or deletions)',
  ]);
  assert.deepEqual(problemsOf(Pod, changed(pod, {}), gated), []);
  assert.deepEqual(problemsOf(Pod, changed(gated, { "spec.schedulingGates.1": { name: "more" } }), gated), [
    "spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'more'",
  ]);
});

test("a container that will not be restarted cannot come back to life", () => {
  const ended = { name: "web", state: { terminated: { exitCode: 0 } } };
  const runs = { name: "web", state: { running: {} } };
  const never = changed(pod, { "spec.restartPolicy": "Never", "status.containerStatuses": [ended] });
  const revived = changed(never, { "status.containerStatuses": [runs] });
  assert.deepEqual(statusProblemsOf(Pod, revived, never), [
    "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state",
  ]);
  const always = changed(never, { "spec.restartPolicy": "Always" });
  assert.deepEqual(statusProblemsOf(Pod, changed(always, { "status.containerStatuses": [runs] }), always), []);
});

test("addresses in a pod's status are one of each family", () => {
  const status = (...ips: string[]) => changed(pod, { "status.podIPs": ips.map((ip) => ({ ip })) });
  assert.deepEqual(statusProblemsOf(Pod, status("10.0.0.1", "fd00::1"), pod), []);
  assert.deepEqual(statusProblemsOf(Pod, status("10.0.0.1", "10.0.0.2"), pod), [
    'status.podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"10.0.0.2"}]: may specify no more than one IP for each IP family',
  ]);
});

test("a template has no ephemeral containers, and its labels are labels", () => {
  const template = changed(pod, {
    "metadata.labels": { "a b": "c" },
    "spec.ephemeralContainers": [{ name: "d", image: "d" }],
  });
  const [bad, ...rest] = problemsOf(PodTemplate, { template });
  assert.match(bad ?? "", /^template\.labels: Invalid value: "a b": name part must consist of/);
  assert.deepEqual(rest, [
    "template.spec.ephemeralContainers: Forbidden: ephemeral containers not allowed in pod template",
  ]);
});
