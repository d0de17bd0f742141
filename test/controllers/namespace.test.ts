import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Namespace } from "#api/core/v1/namespace.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { Secret } from "#api/core/v1/secret.ts";
import { ServiceAccount } from "#api/core/v1/service-account.ts";
import { ApiError } from "#base/errors.ts";
import type { Discovery } from "#client/discovery.ts";
import { namespaceController } from "../../src/controllers/namespace.ts";
import { rootCaPublisher } from "../../src/controllers/root-ca-publisher.ts";
import { serviceAccountController } from "../../src/controllers/serviceaccount.ts";
import { discovery, testCluster } from "./cluster.ts";

const namespace = "blue";
const all = [namespaceController(discovery), rootCaPublisher("PEM"), serviceAccountController];

test("a new namespace gets its service account and the cluster's CA, and gets them back", async () => {
  await using cluster = await testCluster({ controllers: all });
  const { client, until } = cluster;
  await client.create(Namespace, { metadata: { name: namespace } });
  const ca = () => client.find(ConfigMap, { namespace, name: "kube-root-ca.crt" });
  const account = () => client.find(ServiceAccount, { namespace, name: "default" });
  await until(async () => (await ca()) !== undefined && (await account()) !== undefined);
  assert.deepEqual((await ca())?.data, { "ca.crt": "PEM" });
  assert.match((await ca())?.metadata.annotations?.["kubernetes.io/description"] ?? "", /^Contains a CA bundle/);
  await client.delete(ServiceAccount, { namespace, name: "default" });
  await client.patch(ConfigMap, { namespace, name: "kube-root-ca.crt" }, "merge", { data: { "ca.crt": "other" } });
  await until(async () => (await ca())?.data?.["ca.crt"] === "PEM" && (await account()) !== undefined);
});

test("a deleted namespace is emptied, and gone", async () => {
  await using cluster = await testCluster({ controllers: all });
  const { client, until } = cluster;
  await client.create(Namespace, { metadata: { name: namespace } });
  await client.create(ConfigMap, { metadata: { namespace, name: "a" } });
  await client.create(Secret, { metadata: { namespace, name: "b" } });
  await client.delete(Namespace, { name: namespace });
  await until(async () => (await client.find(Namespace, { name: namespace })) === undefined);
  assert.deepEqual((await client.list(ConfigMap, { namespace })).items, []);
  assert.deepEqual((await client.list(Secret, { namespace })).items, []);
});

test("a namespace says what remains in it, and pods go first", async () => {
  await using cluster = await testCluster({ controllers: all });
  const { client, until } = cluster;
  await client.create(Namespace, { metadata: { name: namespace } });
  await client.create(Pod, {
    metadata: { namespace, name: "p" },
    spec: { nodeName: "n", containers: [{ name: "c", image: "i" }] },
  });
  await client.create(ConfigMap, { metadata: { namespace, name: "kept", finalizers: ["example.com/keep"] } });
  await client.delete(Namespace, { name: namespace });
  const condition = async (type: string) => {
    const { status } = await client.get(Namespace, { name: namespace });
    const found = status.conditions?.find((one) => one.type === type);
    return found && `${found.status} ${found.reason} ${found.message}`;
  };
  const remaining = () => condition("NamespaceContentRemaining");
  await until(async () => (await remaining()) !== undefined);
  assert.equal(
    await remaining(),
    "True SomeResourcesRemain Some resources are remaining: pods. has 1 resource instances",
  );
  assert.equal((await client.get(ConfigMap, { namespace, name: "kept" })).metadata.deletionTimestamp, undefined);
  await client.delete(Pod, { namespace, name: "p" }, { graceSeconds: 0 });
  await until(async () => (await remaining())?.includes("configmaps") === true);
  assert.equal(
    await remaining(),
    "True SomeResourcesRemain Some resources are remaining: configmaps. has 1 resource instances",
  );
  assert.equal(
    await condition("NamespaceFinalizersRemaining"),
    "True SomeFinalizersRemain Some content in the namespace has finalizers remaining: example.com/keep in 1 resource instances",
  );
  assert.equal(
    await condition("NamespaceDeletionContentFailure"),
    "False ContentDeleted All content successfully deleted, may be waiting on finalization",
  );
  await client.patch(ConfigMap, { namespace, name: "kept" }, "merge", { metadata: { finalizers: null } });
  await until(async () => (await client.find(Namespace, { name: namespace })) === undefined);
});

test("what cannot be deleted, or even found out, is said, too", async () => {
  let broken = true;
  const failing: Discovery = {
    async discover(signal) {
      if (broken) throw new Error("no answer");
      return discovery.discover(signal);
    },
  };
  let refuses = true;
  await using cluster = await testCluster({
    controllers: [namespaceController(failing)],
    transport:
      ({ server }) =>
      async (request) => {
        if (refuses && request.verb === "deletecollection" && request.resource === "secrets")
          throw new ApiError({ code: 403, reason: "Forbidden", message: "not yours" });
        return server.request(request);
      },
  });
  const { client, until } = cluster;
  await client.create(Namespace, { metadata: { name: namespace } });
  await client.delete(Namespace, { name: namespace });
  const messages = async () =>
    ((await client.get(Namespace, { name: namespace })).status.conditions ?? [])
      .filter(({ status }) => status === "True")
      .map(({ reason, message }) => `${reason} ${message}`);
  await until(async () => (await messages()).length > 0);
  assert.deepEqual(await messages(), ["DiscoveryFailed no answer"]);
  broken = false;
  await until(async () => (await messages())[0]?.startsWith("ContentDeletionFailed") === true);
  assert.deepEqual(await messages(), [
    "ContentDeletionFailed Failed to delete all resource types, 1 remaining: not yours",
  ]);
  refuses = false;
  await until(async () => (await client.find(Namespace, { name: namespace })) === undefined, 1000);
});
