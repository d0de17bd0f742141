import assert from "node:assert/strict";
import { test } from "node:test";
import { testServer } from "../testing.ts";

const container = { name: "a", image: "x" };

/** Warnings that a create of the object is answered with. */
async function warnings(path: string, object: object): Promise<readonly string[]> {
  await using server = await testServer();
  const { code, headers } = await server.call("POST", path, object);
  assert.equal(code, 201);
  const given = headers?.warning ?? [];
  return (Array.isArray(given) ? given : [given]).map((text: string) => JSON.parse(text.replace(/^299 - /, "")));
}

const cases: readonly (readonly [what: string, spec: object, ...warnings: string[]])[] = [
  [
    "an old label of nodes",
    { nodeSelector: { "beta.kubernetes.io/os": "linux" } },
    'spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
  ],
  [
    "a secret twice",
    { imagePullSecrets: [{ name: "r" }, { name: "r" }, {}] },
    'spec.imagePullSecrets[1].name: duplicate name "r"',
    'spec.imagePullSecrets[2].name: invalid empty name ""',
  ],
  [
    "an address twice",
    {
      hostAliases: [
        { ip: "192.0.2.1", hostnames: ["a"] },
        { ip: "192.0.2.1", hostnames: ["b"] },
      ],
    },
    'spec.hostAliases[1].ip: duplicate ip "192.0.2.1"',
  ],
  [
    "a variable twice",
    {
      containers: [
        {
          ...container,
          env: [
            { name: "A", value: "1" },
            { name: "A", value: "$(A)2" },
            { name: "A", value: "3" },
          ],
        },
      ],
    },
    'spec.containers[0].env[2]: hides previous definition of "A", which may be dropped when using apply',
  ],
  [
    "parts of bytes",
    { containers: [{ ...container, resources: { limits: { memory: "1500m" }, requests: { memory: "1500m" } } }] },
    'spec.containers[0].resources.limits[memory]: fractional byte value "1500m" is invalid, must be an integer',
    'spec.containers[0].resources.requests[memory]: fractional byte value "1500m" is invalid, must be an integer',
  ],
  [
    "a port twice",
    { containers: [{ ...container, ports: [{ containerPort: 80 }, { containerPort: 80 }] }] },
    "spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]",
  ],
  [
    "an address without a port",
    { containers: [{ ...container, ports: [{ name: "p", containerPort: 80, hostIP: "192.0.2.1" }] }] },
    "spec.containers[0].ports[0]: hostIP set without hostPort: {Name:p HostPort:0 ContainerPort:80 Protocol:TCP HostIP:192.0.2.1}",
  ],
  [
    "paths that overlap",
    {
      volumes: [
        {
          name: "v",
          configMap: {
            name: "c",
            items: [
              { key: "a", path: "x" },
              { key: "b", path: "x/y" },
            ],
          },
        },
      ],
    },
    'volume "v" (ConfigMap "c"): overlapping paths: "x/y" with "x"',
  ],
  [
    "nothing to project",
    { volumes: [{ name: "v", projected: { sources: [{}] } }] },
    'volume "v" (Projected) has no sources provided',
  ],
  [
    "an old volume",
    { volumes: [{ name: "v", gitRepo: { repository: "r" } }] },
    "spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+",
  ],
  [
    "no selector",
    { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "zone" }] } } },
    "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector: a null labelSelector results in matching no pod",
  ],
  ["nothing odd", {}],
];

for (const [what, spec, ...expected] of cases)
  test(`a pod, and all that make pods, are warned of ${what}`, async () => {
    const pod = { containers: [container], ...spec };
    assert.deepEqual(await warnings("/api/v1/namespaces/a/pods", { metadata: { name: "p" }, spec: pod }), expected);
    const within = (path: string) => expected.map((text) => text.replace(/\bspec\./g, `${path}.spec.`));
    const template = { metadata: { labels: { a: "b" } }, spec: pod };
    const selector = { matchLabels: { a: "b" } };
    for (const resource of [
      "apps/v1/deployments",
      "apps/v1/daemonsets",
      "apps/v1/replicasets",
      "apps/v1/statefulsets",
    ]) {
      const [group, version, plural] = resource.split("/");
      const given = await warnings(`/apis/${group}/${version}/namespaces/a/${plural}`, {
        metadata: { name: "p" },
        spec: { selector, template },
      });
      assert.deepEqual(given, within("spec.template"), resource);
    }
    const job = { template: { ...template, spec: { ...pod, restartPolicy: "Never" } } };
    assert.deepEqual(
      await warnings("/apis/batch/v1/namespaces/a/jobs", { metadata: { name: "p" }, spec: job }),
      within("spec.template"),
    );
    assert.deepEqual(
      await warnings("/api/v1/namespaces/a/podtemplates", { metadata: { name: "p" }, template }),
      within("template"),
    );
  });

test("a name with dots is warned of where pods get it, and mountable secrets where they are enforced", async () => {
  const template = { metadata: { labels: { a: "b" } }, spec: { containers: [container] } };
  const spec = { selector: { matchLabels: { a: "b" } }, template };
  const [warning] = await warnings("/apis/apps/v1/namespaces/a/deployments", { metadata: { name: "a.b" }, spec });
  assert.match(warning ?? "", /^metadata\.name: this is used in Pod names and hostnames/);
  const annotations = { "kubernetes.io/enforce-mountable-secrets": "true" };
  assert.deepEqual(await warnings("/api/v1/namespaces/a/serviceaccounts", { metadata: { name: "x", annotations } }), [
    "metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets",
  ]);
});
