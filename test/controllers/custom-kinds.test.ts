// What a definition brings is counted, collected and swept out with its namespace by the controllers of a whole cluster.
import assert from "node:assert/strict";
import { test } from "node:test";
import { CustomResourceDefinition } from "#api/apiextensions/v1/custom-resource-definition.ts";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Namespace } from "#api/core/v1/namespace.ts";
import { ResourceQuota } from "#api/core/v1/resource-quota.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import { structuralKind } from "#schema/structural/kind.ts";
import { startCluster, type TestCluster } from "../../src/testing/cluster.ts";

const schema = { type: "object", properties: { spec: { type: "object", properties: { size: { type: "integer" } } } } };
const names = { plural: "crates", kind: "Crate" };
const group = "cargo.example";
const Crate = structuralKind({ group, version: "v1", ...names, scope: "Namespaced", doc: "A box.", schema });
const definition = { name: `crates.${group}` };
const count = `count/crates.${group}`;
const namespace = "x";

async function define({ client, until }: TestCluster): Promise<void> {
  await client.create(CustomResourceDefinition, {
    metadata: definition,
    spec: {
      group,
      scope: "Namespaced",
      names,
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  });
  await until(async () => {
    const { status } = await client.get(CustomResourceDefinition, definition);
    return status.conditions?.some((one) => one.type === "Established" && one.status === "True") ?? false;
  });
}

const ownedBy = ({ apiVersion, kind, metadata: { name, uid } }: ApiObject) => ({
  ownerReferences: [{ apiVersion, kind, name, uid, blockOwnerDeletion: true }],
});

test("quotas, the garbage collector and namespace deletion hold for the objects of a definition", async () => {
  await using cluster = await startCluster({ nodes: 0 });
  const { client, until } = cluster;
  await define(cluster);
  const crate = async (name: string, metadata: object = {}): Promise<ApiObject> =>
    (await client.create(Crate, { metadata: { namespace, name, ...metadata } })) as ApiObject;
  const isGone = async (kind: AnyKind, name: string) => (await client.find(kind, { namespace, name })) === undefined;
  await client.create(Namespace, { metadata: { name: namespace } });

  await client.create(ResourceQuota, { metadata: { namespace, name: "q" }, spec: { hard: { [count]: "2" } } });
  const isUsed = async (wanted: string) =>
    (await client.get(ResourceQuota, { namespace, name: "q" })).status.used?.[count] === wanted;
  await until(() => isUsed("0"));
  const first = await crate("first");
  const second = await crate("second", ownedBy(first));
  await assert.rejects(crate("third"), {
    code: 403,
    message: `crates.${group} "third" is forbidden: exceeded quota: q, requested: ${count}=1, used: ${count}=2, limited: ${count}=2`,
  });

  // One crate owns another, which owns a ConfigMap: all go with the first, and give back what they used.
  await client.create(ConfigMap, { metadata: { namespace, name: "label", ...ownedBy(second) } });
  await client.delete(Crate, { namespace, name: "first" });
  await until(async () => (await isGone(Crate, "second")) && (await isGone(ConfigMap, "label")));
  await until(() => isUsed("0"));

  // In the foreground, the owner goes last.
  const outer = await crate("outer");
  const held = { ...ownedBy(outer), finalizers: ["example.com/hold"] };
  await crate("inner", held);
  await client.delete(Crate, { namespace, name: "outer" }, { propagation: "Foreground" });
  const inner = () => client.get(Crate, { namespace, name: "inner" }) as Promise<ApiObject>;
  await until(async () => (await inner()).metadata.deletionTimestamp !== undefined);
  assert.equal(await isGone(Crate, "outer"), false);
  const { metadata, ...rest } = await inner();
  await client.update(Crate, { ...rest, metadata: { ...metadata, finalizers: [] } });
  await until(() => isGone(Crate, "outer"));

  // A namespace takes its crates along, and no others.
  await until(() => isUsed("0"));
  await crate("left");
  const other = await crate("other", { namespace: "default" });
  await client.create(ConfigMap, { metadata: { namespace: "default", name: "label", ...ownedBy(other) } });
  await client.delete(Namespace, { name: namespace });
  await until(async () => (await client.find(Namespace, { name: namespace })) === undefined);
  const { items } = await client.list(Crate);
  assert.deepEqual(
    items.map((one) => one.metadata.name),
    ["other"],
  );

  // So does the definition, and the collector has seen its crates go.
  await client.delete(CustomResourceDefinition, definition);
  await until(async () => (await client.find(CustomResourceDefinition, definition)) === undefined);
  await until(async () => (await client.find(ConfigMap, { namespace: "default", name: "label" })) === undefined);
});
