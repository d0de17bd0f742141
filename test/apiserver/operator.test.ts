// An operator as people write them with @kubernetes/client-node: it brings a kind of its own and keeps a ConfigMap for each object of it.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ApiextensionsV1Api,
  CustomObjectsApi,
  type KubeConfig,
  KubernetesObjectApi,
  PatchStrategy,
  setHeaderOptions,
  type V1ConfigMap,
  type V1CustomResourceDefinition,
  type V1ObjectMeta,
} from "@kubernetes/client-node";
import { ServerProcess } from "./harness.ts";
import { configFrom, Informed, InformedMaps } from "./informed.ts";

interface Ferry {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: V1ObjectMeta;
  readonly spec: { readonly from: string; readonly to: string; readonly seats?: number };
  readonly status?: { readonly sign?: string; readonly observedGeneration?: number };
}

const namespace = "default";
const ferries = { group: "sea.example", version: "v1", namespace, plural: "ferries" };
const finalizer = "sea.example/sign";
const merge = setHeaderOptions("Content-Type", PatchStrategy.MergePatch);

const definition: V1CustomResourceDefinition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "ferries.sea.example" },
  spec: {
    group: "sea.example",
    scope: "Namespaced",
    names: { plural: "ferries", kind: "Ferry" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: "object",
            required: ["spec"],
            properties: {
              spec: {
                type: "object",
                required: ["from", "to"],
                properties: {
                  from: {
                    type: "string",
                    x_kubernetes_validations: [{ rule: "self == oldSelf", message: "a ferry keeps its port" }],
                  },
                  to: { type: "string" },
                  seats: { type: "integer", _default: 100 },
                },
                x_kubernetes_validations: [{ rule: "self.from != self.to", message: "a ferry goes elsewhere" }],
              },
              status: {
                type: "object",
                properties: { sign: { type: "string" }, observedGeneration: { type: "integer", format: "int64" } },
              },
            },
          },
        },
      },
    ],
  },
};

/** Puts up a sign for each ferry, says so in its status, and takes the sign down before the ferry goes. */
class FerryOperator extends Informed<Ferry> {
  readonly #custom: CustomObjectsApi;
  readonly #objects: KubernetesObjectApi;
  /** What came before is done first; rejects at the first failure. */
  done = Promise.resolve();

  constructor(config: KubeConfig) {
    const custom = config.makeApiClient(CustomObjectsApi);
    super(config, `/apis/sea.example/v1/namespaces/${namespace}/ferries`, () =>
      custom.listNamespacedCustomObject(ferries),
    );
    this.#custom = custom;
    this.#objects = KubernetesObjectApi.makeApiClient(config);
  }

  protected override heard(verb: string, ferry: Ferry): void {
    if (verb !== "delete") this.done = this.done.then(() => this.#reconcile(ferry));
  }

  async #reconcile({ apiVersion, kind, metadata, spec, status }: Ferry): Promise<void> {
    const { name = "", uid = "", generation, finalizers = [], deletionTimestamp } = metadata;
    const sign = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: `sign-${name}`, namespace } };
    const address = { ...ferries, name };
    if (deletionTimestamp !== undefined) {
      if (!finalizers.includes(finalizer)) return;
      await this.#objects.delete(sign);
      await this.#custom.patchNamespacedCustomObject({ ...address, body: { metadata: { finalizers: [] } } }, merge);
      return;
    }
    if (!finalizers.includes(finalizer)) {
      const body = { metadata: { finalizers: [finalizer] } };
      await this.#custom.patchNamespacedCustomObject({ ...address, body }, merge);
    }
    if (status?.observedGeneration === generation) return;
    const ownerReferences = [{ apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true }];
    const data = { n: `${spec.from} to ${spec.to}, ${spec.seats} seats` };
    const map: V1ConfigMap = { ...sign, metadata: { ...sign.metadata, ownerReferences }, data };
    await this.#objects.patch(map, undefined, undefined, "ferry-operator", true, PatchStrategy.ServerSideApply);
    const body = { status: { sign: `sign-${name}`, observedGeneration: generation } };
    await this.#custom.patchNamespacedCustomObjectStatus({ ...address, body }, merge);
  }
}

async function define(config: KubeConfig): Promise<void> {
  const api = config.makeApiClient(ApiextensionsV1Api);
  await using definitions = new Informed<V1CustomResourceDefinition>(
    config,
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    () => api.listCustomResourceDefinition(),
  );
  await definitions.start();
  await api.createCustomResourceDefinition({ body: definition });
  await definitions.until((all) =>
    all.some(({ status }) => status?.conditions?.some((one) => one.type === "Established" && one.status === "True")),
  );
}

const refusedWith = (why: string) => (error: { code?: number; body?: string }) => {
  assert.equal(error.code, 422, `${error}`);
  assert.ok(error.body?.includes(why), error.body);
  return true;
};

test("an operator of client-node brings a kind, follows its objects and writes their status", async () => {
  await using server = await ServerProcess.start();
  const config = configFrom(server.kubeconfig);
  await define(config);
  const custom = config.makeApiClient(CustomObjectsApi);
  const ferry = (name: string, from: string, to: string) =>
    custom.createNamespacedCustomObject({
      ...ferries,
      body: {
        apiVersion: "sea.example/v1",
        kind: "Ferry",
        metadata: { name },
        spec: { from, to },
        status: { sign: "x" },
      },
    });
  const before: Ferry = await ferry("before", "Oslo", "Kiel");
  assert.equal(before.status, undefined, "the status is for its subresource alone");

  await using maps = new InformedMaps(config);
  await maps.start();
  await using operator = new FerryOperator(config);
  await operator.start();
  /** Resolves when the sign says so and the ferry's status is of the same generation. */
  const shows = async (name: string, text: string, generation: number) => {
    await maps.until((all) => all.some(({ metadata, data }) => metadata?.name === `sign-${name}` && data?.n === text));
    await operator.until((all) =>
      all.some(({ metadata, status }) => metadata.name === name && status?.observedGeneration === generation),
    );
    await operator.done;
  };
  await shows("before", "Oslo to Kiel, 100 seats", 1);
  await ferry("after", "Kiel", "Riga");
  await shows("after", "Kiel to Riga, 100 seats", 1);

  const address = { ...ferries, name: "after" };
  await custom.patchNamespacedCustomObject({ ...address, body: { spec: { to: "Turku", seats: 7 } } }, merge);
  await shows("after", "Kiel to Turku, 7 seats", 2);
  const after: Ferry = await custom.getNamespacedCustomObject(address);
  assert.deepEqual(after.status, { sign: "sign-after", observedGeneration: 2 });
  await custom.patchNamespacedCustomObjectStatus({ ...address, body: { spec: { seats: 9 } } }, merge);
  const same: Ferry = await custom.getNamespacedCustomObject(address);
  assert.deepEqual([same.spec.seats, same.metadata.generation], [7, 2], "a status writes no spec");

  await assert.rejects(ferry("round", "Kiel", "Kiel"), refusedWith("a ferry goes elsewhere"));
  const moved = { ...address, body: { spec: { from: "Riga" } } };
  await assert.rejects(custom.patchNamespacedCustomObject(moved, merge), refusedWith("a ferry keeps its port"));

  await custom.deleteNamespacedCustomObject(address);
  await maps.until((all) => !all.some(({ metadata }) => metadata?.name === "sign-after"));
  await operator.until((all) => !all.some(({ metadata }) => metadata.name === "after"));
  await operator.done;
  const { items } = await custom.listNamespacedCustomObject(ferries);
  assert.deepEqual(
    items.map(({ metadata }: Ferry) => metadata.name),
    ["before"],
  );
});
