import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Pod } from "#api/core/v1/pod.ts";
import { ServiceAccount } from "#api/core/v1/service-account.ts";
import { serviceAccount } from "./service-account.ts";
import { AdmissionWorld, podWith } from "./testing.ts";

const worldWith = (...accounts: readonly object[]) => {
  const world = new AdmissionWorld();
  for (const account of accounts) world.have(ServiceAccount, account as never);
  return world;
};
const plain = { metadata: { name: "default" } };
const path = "/var/run/secrets/kubernetes.io/serviceaccount";

describe("ServiceAccount", () => {
  test("gives a pod the default account, its token and its pull secrets", async () => {
    const world = worldWith({ ...plain, imagePullSecrets: [{ name: "pull" }] });
    const { object } = await world.admit(serviceAccount, Pod, podWith({ initContainers: [{ name: "i", image: "i" }] }));
    const { spec } = object;
    assert.deepEqual([spec.serviceAccountName, spec.serviceAccount], ["default", "default"]);
    assert.deepEqual(spec.imagePullSecrets, [{ name: "pull" }]);
    const [volume] = spec.volumes;
    assert.match(volume.name, /^kube-api-access-[a-z0-9]{5}$/);
    assert.deepEqual(volume.projected, {
      sources: [
        { serviceAccountToken: { expirationSeconds: 3607, path: "token" } },
        { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
        {
          downwardAPI: {
            items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
          },
        },
      ],
      defaultMode: 420,
    });
    for (const container of [...spec.containers, ...spec.initContainers])
      assert.deepEqual(container.volumeMounts, [{ name: volume.name, readOnly: true, mountPath: path }]);
  });

  test("mounts no token where someone objects, the pod before the account", async () => {
    const world = worldWith({ ...plain, automountServiceAccountToken: false });
    assert.equal((await world.admit(serviceAccount, Pod, podWith())).object.spec.volumes, undefined);
    const asking = await world.admit(serviceAccount, Pod, podWith({ automountServiceAccountToken: true }));
    assert.equal(asking.object.spec.volumes.length, 1);
  });

  test("leaves a container alone that has something mounted there", async () => {
    const spec = {
      volumes: [{ name: "mine", emptyDir: {} }],
      containers: [{ name: "c", image: "i", volumeMounts: [{ name: "mine", mountPath: path }] }],
    };
    const { object } = await worldWith(plain).admit(serviceAccount, Pod, podWith(spec));
    assert.equal(object.spec.volumes.length, 1);
  });

  test("refuses an account that does not exist", async () => {
    const { refusal } = await worldWith().admit(serviceAccount, Pod, podWith({ serviceAccountName: "lost" }));
    assert.equal(
      refusal,
      'pods "p" is forbidden: error looking up service account default/lost: serviceaccount "lost" not found',
    );
  });

  test("waits for the default account, which a controller makes", async () => {
    const world = worldWith();
    const waiting = world.admit(serviceAccount, Pod, podWith());
    await world.clock.advance(300);
    world.have(ServiceAccount, plain);
    await world.clock.advance(300);
    assert.equal((await waiting).refusal, "");
    const inVain = worldWith();
    const refused = inVain.admit(serviceAccount, Pod, podWith());
    await inVain.clock.advance(5000);
    assert.equal(
      (await refused).refusal,
      'pods "p" is forbidden: error looking up service account default/default: serviceaccount "default" not found',
    );
  });

  const mirror = { annotations: { "kubernetes.io/config.mirror": "x" } };
  const mirrors: readonly (readonly [object, string])[] = [
    [{}, ""],
    [{ serviceAccountName: "default" }, "a mirror pod may not reference service accounts"],
    [{ volumes: [{ name: "v", secret: { secretName: "s" } }] }, "a mirror pod may not reference secrets"],
    [
      { volumes: [{ name: "v", projected: { sources: [{ serviceAccountToken: { path: "t" } }] } }] },
      "a mirror pod may not use ServiceAccountToken volume projections",
    ],
  ];
  for (const [spec, why] of mirrors)
    test(`of mirror pods: ${why || "leaves them as they are"}`, async () => {
      const { refusal, object } = await worldWith(plain).admit(serviceAccount, Pod, podWith(spec, mirror));
      assert.equal(refusal, why && `pods "p" is forbidden: ${why}`);
      assert.equal(object.spec.containers[0].volumeMounts, undefined);
    });

  const strict = {
    metadata: { name: "default", annotations: { "kubernetes.io/enforce-mountable-secrets": "true" } },
    secrets: [{ name: "known" }],
    imagePullSecrets: [{ name: "pull" }],
    automountServiceAccountToken: false,
  };
  const because = "is not allowed because service account default does not reference that";
  const environment = (secret: string) => ({
    name: "c",
    image: "i",
    env: [{ name: "E", valueFrom: { secretKeyRef: { name: secret, key: "k" } } }],
  });
  const secrets: readonly (readonly [object, string])[] = [
    [{ containers: [environment("known")], volumes: [{ name: "v", secret: { secretName: "known" } }] }, ""],
    [{ volumes: [{ name: "v", secret: { secretName: "x" } }] }, `volume with secret.secretName="x" ${because} secret`],
    [
      { containers: [environment("x")] },
      `container c with envVar E referencing secret.secretName="x" ${because} secret`,
    ],
    [
      { initContainers: [{ name: "i", image: "i", envFrom: [{ secretRef: { name: "x" } }] }] },
      `init container i with envFrom referencing secret.secretName="x" ${because} secret`,
    ],
    [{ imagePullSecrets: [{ name: "x" }] }, `imagePullSecrets[0].name="x" ${because} imagePullSecret`],
  ];
  for (const [spec, why] of secrets)
    test(`of accounts that list their secrets: ${why || "lets those pass"}`, async () => {
      const { refusal } = await worldWith(strict).admit(serviceAccount, Pod, podWith(spec));
      assert.equal(refusal, why && `pods "p" is forbidden: ${why}`);
    });

  test("looks at ephemeral containers when they come", async () => {
    const pod = podWith({ serviceAccountName: "default", ephemeralContainers: [{ ...environment("x"), name: "e" }] });
    const { refusal } = await worldWith(strict).admit(serviceAccount, Pod, pod, {
      old: podWith({ serviceAccountName: "default" }),
      subresource: "ephemeralcontainers",
    });
    assert.equal(
      refusal,
      `pods "p" is forbidden: ephemeral container e with envVar E referencing secret.secretName="x" ${because} secret`,
    );
  });
});
