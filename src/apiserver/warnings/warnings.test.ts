import assert from "node:assert/strict";
import { test } from "node:test";
import { testServer } from "../testing.ts";

type Body = Readonly<Record<string, unknown>>;

const storage = "/apis/storage.k8s.io/v1";
const networking = "/apis/networking.k8s.io/v1/namespaces/default";
const volume = { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"] };
const claim = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
const tokens = { tokenRequests: [{ audience: "a" }] };
const beta = "volume.beta.kubernetes.io/storage-class";
const useClassName = `metadata.annotations[${beta}]: deprecated since v1.8; use "storageClassName" attribute instead`;
const rule = { apiGroups: ["*"], apiVersions: ["*"], resources: ["*"], operations: ["*"] };

/** What is created, and what the answer warns of. */
const cases: readonly [path: string, body: Body, ...warnings: readonly string[]][] = [
  [
    "/api/v1/namespaces/default/secrets",
    { type: "kubernetes.io/tls", data: { "tls.crt": "eA==", "tls.key": "eA==" } },
    "tls: failed to find any PEM data in certificate input",
  ],
  [
    "/api/v1/namespaces/default/secrets",
    { type: "kubernetes.io/tls", data: { "tls.crt": btoa("-----BEGIN CERTIFICATE-----"), "tls.key": "eA==" } },
    "tls: failed to find any PEM data in key input",
  ],
  ["/api/v1/namespaces/default/secrets", { type: "Opaque", data: { "tls.crt": "eA==" } }],
  [
    "/api/v1/persistentvolumes",
    { spec: { ...volume, hostPath: { path: "/x" }, persistentVolumeReclaimPolicy: "Recycle" } },
    "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.",
  ],
  [
    "/api/v1/persistentvolumes",
    {
      metadata: { annotations: { [beta]: "x" } },
      spec: {
        ...volume,
        rbd: { monitors: ["m"], image: "i" },
        nodeAffinity: {
          required: {
            nodeSelectorTerms: [
              { matchExpressions: [{ key: "failure-domain.beta.kubernetes.io/zone", operator: "Exists" }] },
            ],
          },
        },
      },
    },
    useClassName,
    'spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: failure-domain.beta.kubernetes.io/zone is deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "spec.rbd: deprecated in v1.28, non-functional in v1.31+",
  ],
  ["/api/v1/namespaces/default/persistentvolumeclaims", { spec: claim }],
  [
    "/api/v1/namespaces/default/persistentvolumeclaims",
    { metadata: { annotations: { [beta]: "x" } }, spec: { ...claim, resources: { requests: { storage: "1500m" } } } },
    useClassName,
    'spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer',
  ],
  [
    `${storage}/storageclasses`,
    {
      provisioner: "x.io/y",
      allowedTopologies: [{ matchLabelExpressions: [{ key: "beta.kubernetes.io/arch", values: ["a"] }] }],
    },
    'allowedTopologies[0].matchLabelExpressions[0].key: deprecated since v1.14; use "kubernetes.io/arch" instead',
  ],
  [
    `${storage}/namespaces/default/csistoragecapacities`,
    { storageClassName: "s", nodeTopology: { matchLabels: { "beta.kubernetes.io/os": "linux" } } },
    'nodeTopology.matchLabels.beta.kubernetes.io/os: deprecated since v1.14; use "kubernetes.io/os" instead',
  ],
  [
    `${storage}/csidrivers`,
    { spec: tokens },
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes",
  ],
  [`${storage}/csidrivers`, { spec: { ...tokens, serviceAccountTokenInSecrets: false } }],
  [
    "/apis/node.k8s.io/v1/runtimeclasses",
    { handler: "h", scheduling: { nodeSelector: { "beta.kubernetes.io/instance-type": "a" } } },
    'scheduling.nodeSelector: deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
  ],
  [
    `${networking}/ingresses`,
    {
      metadata: { annotations: { "kubernetes.io/ingress.class": "a" } },
      spec: { defaultBackend: { service: { name: "s", port: { number: 1 } } } },
    },
    "annotation \"kubernetes.io/ingress.class\" is deprecated, please use 'spec.ingressClassName' instead",
  ],
  [
    `${networking}/networkpolicies`,
    { spec: { podSelector: {}, ingress: [{ from: [{ ipBlock: { cidr: "FD00::/64" } }] }] } },
    'spec.ingress[0].from[0].ipBlock.cidr: IPv6 CIDR value "FD00::/64" should be in RFC 5952 canonical format ("fd00::/64")',
  ],
  [
    "/apis/resource.k8s.io/v1/resourceslices",
    { spec: { driver: "X.io", pool: { name: "p", generation: 1, resourceSliceCount: 1 }, allNodes: true } },
    'spec.driver: driver names should be lowercase; "X.io" contains uppercase characters',
  ],
  [
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    {
      metadata: { name: "a.static.k8s.io" },
      webhooks: [
        {
          name: "a.b.c",
          rules: [rule],
          clientConfig: { url: "https://a" },
          sideEffects: "None",
          admissionReviewVersions: ["v1"],
        },
      ],
    },
    'metadata.name: names ending with ".static.k8s.io" are reserved for static manifest-based configurations and cannot be managed via the API',
  ],
];

test("what is taken though it should not be used any more is answered with a warning", async () => {
  await using server = await testServer();
  for (const [path, body, ...warnings] of cases) {
    const { metadata } = body as { readonly metadata?: Body };
    const answer = await server.call("POST", `${path}?dryRun=All`, { ...body, metadata: { name: "a", ...metadata } });
    assert.equal(answer.code, 201, answer.text);
    assert.deepEqual(
      answer.headers?.warning ?? [],
      warnings.map((text) => `299 - ${JSON.stringify(text)}`),
    );
  }
});

test("who deletes a job without saying what becomes of its pods is told that they stay", async () => {
  await using server = await testServer();
  const jobs = "/apis/batch/v1/namespaces/default/jobs";
  const template = { spec: { restartPolicy: "Never", containers: [{ name: "c", image: "i" }] } };
  await server.call("POST", jobs, { metadata: { name: "j" }, spec: { template } });
  const warned = async (query: string) =>
    (await server.call("DELETE", `${jobs}/j?dryRun=All${query}`)).headers?.warning;
  assert.match(String(await warned("")), /child pods are preserved by default when jobs are deleted/);
  assert.equal(await warned("&propagationPolicy=Orphan"), undefined);
});
