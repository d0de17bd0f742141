import assert from "node:assert/strict";
import { test } from "node:test";
import { Pod } from "#api/core/v1/pod.ts";
import { UsageError } from "#base/errors.ts";
import type { ReviewRequestObject } from "../webhook/review.ts";
import { readAdmissionConfiguration } from "./configuration-file.ts";
import { imagePolicyWebhook } from "./image-policy.ts";
import { securityContextDeny } from "./security-context-deny.ts";
import { AdmissionWorld } from "./testing.ts";

const pod = (image: string, annotations = {}) => ({
  metadata: { name: "p", annotations },
  spec: { containers: [{ name: "a", image }] },
});

function policy(status: object | undefined, defaultAllow = false) {
  const asked: ReviewRequestObject[] = [];
  const plugin = imagePolicyWebhook({
    settings: { kubeconfig: "k", allowMs: 1000, denyMs: 1000, retryMs: 1, defaultAllow },
    async review(request) {
      asked.push(request);
      if (!status) throw new Error("connection refused");
      return { status: status as Readonly<Record<string, unknown>> };
    },
  });
  return { asked, plugin };
}

test("a server that is asked about images decides, and is asked once about the same", async () => {
  const world = new AdmissionWorld();
  const { asked, plugin } = policy({ allowed: true });
  const annotations = { "acme.image-policy.k8s.io/ticket": "7", other: "x" };
  assert.equal((await world.admit(plugin, Pod, pod("good", annotations))).refusal, "");
  assert.equal((await world.admit(plugin, Pod, pod("good", annotations))).refusal, "");
  assert.equal(asked.length, 1);
  assert.deepEqual(asked[0]?.spec, {
    containers: [{ image: "good" }],
    annotations: { "acme.image-policy.k8s.io/ticket": "7" },
    namespace: "default",
  });
});

for (const [status, defaultAllow, refusal] of [
  [{ allowed: false, reason: "old" }, true, "image policy webhook backend denied one or more images: old"],
  [{ allowed: false }, true, "one or more images rejected by webhook backend"],
  [{ allowed: "true" }, true, "one or more images rejected by webhook backend"],
  [undefined, false, "the image policy webhook cannot be asked: connection refused"],
  [undefined, true, ""],
] as const)
  test(`an answer of ${JSON.stringify(status)} ${refusal ? "refuses" : "lets through"} by default ${defaultAllow}`, async () => {
    const { plugin } = policy(status, defaultAllow);
    const { refusal: said } = await new AdmissionWorld().admit(plugin, Pod, pod("x"));
    assert.equal(said, refusal && `pods "p" is forbidden: ${refusal}`);
  });

test("the configuration says whom to ask, and wrong times are refused", () => {
  const file = (imagePolicy: string) =>
    readAdmissionConfiguration(
      "a.yaml",
      () =>
        `{apiVersion: apiserver.config.k8s.io/v1, kind: AdmissionConfiguration, plugins: [{name: ImagePolicyWebhook, configuration: {imagePolicy: ${imagePolicy}}}]}`,
    );
  assert.deepEqual(
    file("{kubeConfigFile: k, allowTTL: 50, retryBackoff: 20, defaultAllow: true}").imagePolicy?.settings,
    {
      kubeconfig: "k",
      allowMs: 50_000,
      denyMs: 60_000,
      retryMs: 20,
      defaultAllow: true,
    },
  );
  assert.throws(() => file("{}"), UsageError);
  assert.throws(() => file("{kubeConfigFile: k, allowTTL: 999999}"), UsageError);
  assert.throws(() => file("{kubeConfigFile: k, defaultAllow: 1}"), UsageError);
});

for (const [field, spec] of [
  ["pod.Spec.SecurityContext.SupplementalGroups", { securityContext: { supplementalGroups: [1] } }],
  ["pod.Spec.SecurityContext.RunAsUser", { securityContext: { runAsUser: 0 } }],
  ["pod.Spec.SecurityContext.FSGroup", { securityContext: { fsGroup: 7 } }],
  ["SecurityContext.RunAsUser", { containers: [{ name: "a", image: "b", securityContext: { runAsUser: 7 } }] }],
  [
    "SecurityContext.SELinuxOptions",
    { containers: [{ name: "a", image: "b", securityContext: { seLinuxOptions: {} } }] },
  ],
] as const)
  test(`SecurityContextDeny refuses ${field}`, async () => {
    const object = { metadata: { name: "p" }, spec: { containers: [{ name: "a", image: "b" }], ...spec } };
    const { refusal } = await new AdmissionWorld().admit(securityContextDeny, Pod, object);
    assert.equal(refusal, `pods "p" is forbidden: ${field} is forbidden`);
  });
