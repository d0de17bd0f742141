import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { PersistentVolume } from "#api/core/v1/persistent-volume.ts";
import { Pod } from "#api/core/v1/pod.ts";
import { ResourceSlice } from "#api/resource/v1/resource-slice.ts";
import { VolumeAttachment } from "#api/storage/v1/volume-attachment.ts";
import { parseFieldSelector } from "#schema/field-selector.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import type { Question } from "#serving/authorization.ts";
import { keyPrefix } from "../../store-follower.ts";
import { StoredForm } from "../../stored.ts";
import { WatchCache } from "../../watch-cache.ts";
import { nodeAuthorizer } from "./authorizer.ts";
import { NodeGraph } from "./graph.ts";

/** Caches of the kinds that the authorizer looks at, to be filled by hand. */
function cluster() {
  const kinds: readonly AnyKind[] = [Pod, PersistentVolume, VolumeAttachment, ResourceSlice];
  const caches = new Map(kinds.map((kind) => [kind, new WatchCache(keyPrefix(kind), new StoredForm(kind))]));
  let revision = 1;
  const keyOf = (kind: AnyKind, { namespace, name }: { namespace?: string; name: string }) =>
    `${keyPrefix(kind)}${namespace ? `${namespace}/` : ""}${name}`;
  const change = (
    type: "put" | "delete",
    kind: AnyKind,
    object: { metadata: { namespace?: string; name: string } },
  ) => {
    const value = new StoredForm(kind).encode(object as unknown as ApiObject);
    const entry = { key: keyOf(kind, object.metadata), value, created: 1, modified: ++revision };
    caches.get(kind)?.apply([type === "put" ? { type, entry } : { type, entry, previous: entry }]);
  };
  return {
    cacheOf: (kind: AnyKind) => caches.get(kind) as WatchCache,
    put: (kind: AnyKind, object: { metadata: { namespace?: string; name: string } }) => change("put", kind, object),
    remove: (kind: AnyKind, metadata: { namespace?: string; name: string }) => change("delete", kind, { metadata }),
  };
}

const node = { name: "system:node:n1", groups: ["system:nodes", "system:authenticated"] };
const ask = (verb: string, path: string, more: object = {}): Question => {
  const [, group = "", what = "", namespace = "", name = ""] =
    /^(?:([^ ]*)\/)?([^ ]+) ?([^ ]*) ?([^ ]*)$/.exec(path) ?? [];
  const [resource = "", subresource] = what.split(":");
  return {
    type: "resource",
    user: node,
    verb,
    group,
    version: "v1",
    resource,
    ...(subresource && { subresource }),
    ...(namespace && namespace !== "-" && { namespace }),
    ...(name && { name }),
    ...more,
  };
};
const selected = (text: string) => ({ fieldSelector: parseFieldSelector(text) });

const web = {
  metadata: { namespace: "web", name: "p" },
  spec: {
    nodeName: "n1",
    serviceAccountName: "robot",
    imagePullSecrets: [{ name: "pull" }],
    initContainers: [{ name: "i", env: [{ name: "A", valueFrom: { configMapKeyRef: { name: "init", key: "k" } } }] }],
    containers: [
      {
        name: "c",
        envFrom: [{ secretRef: { name: "env" } }, { configMapRef: { name: "env" } }],
        env: [{ name: "B", valueFrom: { secretKeyRef: { name: "key", key: "k" } } }],
      },
    ],
    volumes: [
      { name: "s", secret: { secretName: "volume" } },
      { name: "m", configMap: { name: "volume" } },
      { name: "j", projected: { sources: [{ secret: { name: "projected" } }, { configMap: { name: "projected" } }] } },
      { name: "d", persistentVolumeClaim: { claimName: "data" } },
      { name: "e", ephemeral: {} },
      { name: "r", rbd: { secretRef: { name: "rbd" } } },
      { name: "i", csi: { driver: "x", nodePublishSecretRef: { name: "csi" } } },
    ],
    resourceClaims: [
      { name: "gpu", resourceClaimName: "direct" },
      { name: "net", resourceClaimTemplateName: "t" },
    ],
  },
  status: { resourceClaimStatuses: [{ name: "net", resourceClaimName: "made" }] },
};

test("a node may read what its pods refer to, and nothing else", async () => {
  const { cacheOf, put, remove } = cluster();
  const authorize = nodeAuthorizer(cacheOf);
  put(Pod, web);
  put(Pod, {
    ...web,
    metadata: { namespace: "web", name: "elsewhere" },
    spec: { ...web.spec, nodeName: "n2", imagePullSecrets: [{ name: "theirs" }] },
  } as never);
  put(Pod, {
    metadata: { namespace: "web", name: "copy", annotations: { "kubernetes.io/config.mirror": "x" } },
    spec: { nodeName: "n1", imagePullSecrets: [{ name: "mirrored" }] },
  } as never);
  put(PersistentVolume, {
    metadata: { name: "pv1" },
    spec: {
      claimRef: { namespace: "web", name: "data" },
      csi: {
        driver: "x",
        nodeStageSecretRef: { namespace: "store", name: "stage" },
        controllerPublishSecretRef: { namespace: "store", name: "controller" },
      },
    },
  } as never);
  put(PersistentVolume, {
    metadata: { name: "pv2" },
    spec: { claimRef: { namespace: "web", name: "other" } },
  } as never);
  put(VolumeAttachment, { metadata: { name: "va1" }, spec: { nodeName: "n1" } } as never);
  put(VolumeAttachment, { metadata: { name: "va2" }, spec: { nodeName: "n2" } } as never);
  put(ResourceSlice, { metadata: { name: "s1" }, spec: { nodeName: "n1" } } as never);

  const unrelated = "no relationship found between node 'n1' and this object";
  const table: readonly [Question, "allow" | string][] = [
    ...["pull", "env", "key", "volume", "projected", "rbd", "csi"].map((name): [Question, string] => [
      ask("get", `secrets web ${name}`),
      "allow",
    ]),
    ...["init", "env", "volume", "projected"].map((name): [Question, string] => [
      ask("get", `configmaps web ${name}`),
      "allow",
    ]),
    [ask("watch", "secrets web pull"), "allow"],
    [ask("get", "secrets web theirs"), unrelated],
    [ask("get", "secrets web mirrored"), unrelated],
    [ask("get", "secrets other pull"), unrelated],
    [ask("list", "secrets web"), "No Object name found"],
    [ask("list", "secrets"), "can only read namespaced object of this type"],
    [ask("update", "secrets web pull"), "can only read resources of this type"],
    [ask("get", "secrets:x web pull"), "cannot read subresource"],
    [ask("get", "persistentvolumeclaims web data"), "allow"],
    [ask("get", "persistentvolumeclaims web p-e"), "allow"],
    [ask("list", "persistentvolumeclaims web data"), "can only get individual resources of this type"],
    [ask("patch", "persistentvolumeclaims:status web data"), "allow"],
    [ask("get", "persistentvolumeclaims:status web data"), "can only get/update/patch this type"],
    [ask("get", "persistentvolumes - pv1"), "allow"],
    [ask("get", "persistentvolumes - pv2"), unrelated],
    [ask("get", "secrets store stage"), "allow"],
    [ask("get", "secrets store controller"), unrelated],
    [ask("get", "resource.k8s.io/resourceclaims web direct"), "allow"],
    [ask("get", "resource.k8s.io/resourceclaims web made"), "allow"],
    [ask("get", "resource.k8s.io/resourceclaims web t"), unrelated],
    [ask("get", "storage.k8s.io/volumeattachments - va1"), "allow"],
    [ask("get", "storage.k8s.io/volumeattachments - va2"), unrelated],
    [ask("create", "serviceaccounts:token web robot"), "allow"],
    [ask("create", "serviceaccounts:token web default"), unrelated],
    [ask("get", "serviceaccounts web robot"), "allow"],
    [ask("create", "serviceaccounts web robot"), "can only create token subresource of serviceaccount"],
    [ask("delete", "serviceaccounts web robot"), "can only create tokens for individual service accounts"],
    [ask("update", "coordination.k8s.io/leases kube-node-lease n1"), "allow"],
    [ask("create", "coordination.k8s.io/leases kube-node-lease"), "allow"],
    [
      ask("update", "coordination.k8s.io/leases kube-node-lease n2"),
      "can only access node lease with the same name as the requesting node",
    ],
    [
      ask("get", "coordination.k8s.io/leases web n1"),
      'can only access leases in the "kube-node-lease" system namespace',
    ],
    [
      ask("list", "coordination.k8s.io/leases kube-node-lease"),
      "can only get, create, update, patch, or delete a node lease",
    ],
    [ask("get", "storage.k8s.io/csinodes - n1"), "allow"],
    [ask("get", "storage.k8s.io/csinodes - n2"), "can only access CSINode with the same name as the requesting node"],
    [ask("get", "nodes - n1"), "allow"],
    [ask("get", "nodes - n2"), "node 'n1' cannot read 'n2', only its own Node object"],
    [ask("list", "nodes"), "node 'n1' cannot read all nodes, only its own Node object"],
    [ask("patch", "nodes:status - n1"), "allow"],
    [ask("delete", "nodes - n1"), ""],
    [ask("get", "pods web p"), "allow"],
    [ask("get", "pods web elsewhere"), unrelated],
    [ask("list", "pods", selected("spec.nodeName=n1")), "allow"],
    [ask("list", "pods", selected("spec.nodeName=n2")), "can only list/watch pods with spec.nodeName field selector"],
    [ask("list", "pods", selected("spec.nodeName!=n1")), "can only list/watch pods with spec.nodeName field selector"],
    [ask("list", "pods"), "can only list/watch pods with spec.nodeName field selector"],
    [ask("create", "pods:eviction web p"), "allow"],
    [ask("create", "pods:exec web p"), ""],
    [ask("patch", "resource.k8s.io/resourceslices - s1"), "allow"],
    [ask("patch", "resource.k8s.io/resourceslices - s2"), unrelated],
    [ask("watch", "resource.k8s.io/resourceslices", selected("spec.nodeName=n1")), "allow"],
    [
      ask("watch", "resource.k8s.io/resourceslices"),
      "can only list/watch/deletecollection resourceslices with nodeName field selector",
    ],
    [ask("create", "events web"), "allow"],
    [ask("list", "services"), "allow"],
    [ask("list", "apps/deployments"), ""],
    [ask("get", "secrets web pull", { user: { name: "system:node:n1", groups: [] } }), ""],
    [
      ask("get", "secrets web pull", { user: { name: "system:node:", groups: ["system:nodes"] } }),
      'unknown node for user "system:node:"',
    ],
  ];
  for (const [question, expected] of table) {
    const { decision, reason = "" } = await authorize(question);
    assert.deepEqual(
      [decision, reason],
      expected === "allow" ? ["allow", ""] : ["none", expected],
      JSON.stringify(question),
    );
  }
  remove(Pod, web.metadata);
  for (const path of ["secrets web pull", "persistentvolumes - pv1", "secrets store stage", "pods web p"])
    assert.equal((await authorize(ask("get", path))).decision, "none", path);
});

const word = (...words: readonly string[]) => fc.constantFrom(...words);
const aPod = fc.record({
  kind: fc.constant("pod" as const),
  name: word("p1", "p2", "p3"),
  node: word("", "n1", "n2"),
  secrets: fc.uniqueArray(word("s1", "s2", "s3"), { maxLength: 2 }),
  claims: fc.uniqueArray(word("c1", "c2"), { maxLength: 2 }),
  gone: fc.boolean(),
});
const aVolume = fc.record({
  kind: fc.constant("volume" as const),
  name: word("v1", "v2"),
  claim: word("", "c1", "c2"),
  secret: word("", "s1", "s2", "s3"),
  gone: fc.boolean(),
});

test("after any changes the graph says what a look at everything says", () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(aPod, aVolume), { maxLength: 30 }), (steps) => {
      const { cacheOf, put, remove } = cluster();
      const graph = new NodeGraph(cacheOf);
      const pods = new Map<string, Extract<(typeof steps)[number], { kind: "pod" }>>();
      const volumes = new Map<string, Extract<(typeof steps)[number], { kind: "volume" }>>();
      for (const step of steps) {
        const { name } = step;
        if (step.kind === "pod") {
          if (step.gone && !pods.delete(name)) continue;
          if (step.gone) remove(Pod, { namespace: "a", name });
          else {
            pods.set(name, step);
            const spec = {
              ...(step.node && { nodeName: step.node }),
              imagePullSecrets: step.secrets.map((secret) => ({ name: secret })),
              volumes: step.claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
            };
            put(Pod, { metadata: { namespace: "a", name }, spec } as never);
          }
        } else {
          if (step.gone && !volumes.delete(name)) continue;
          if (step.gone) remove(PersistentVolume, { name });
          else {
            volumes.set(name, step);
            const spec = {
              ...(step.claim && { claimRef: { namespace: "a", name: step.claim } }),
              ...(step.secret && { rbd: { secretRef: { name: step.secret, namespace: "a" } } }),
            };
            put(PersistentVolume, { metadata: { name }, spec } as never);
          }
        }
      }
      for (const node of ["n1", "n2"]) {
        const mine = [...pods.values()].filter((pod) => pod.node === node);
        const claims = new Set(mine.flatMap((pod) => pod.claims));
        const mounted = [...volumes.values()].filter((volume) => claims.has(volume.claim));
        for (const secret of ["s1", "s2", "s3"])
          assert.equal(
            graph.isUsed(node, "secrets", "a", secret),
            mine.some((pod) => pod.secrets.includes(secret)) || mounted.some((volume) => volume.secret === secret),
          );
        for (const claim of ["c1", "c2"])
          assert.equal(graph.isUsed(node, "persistentvolumeclaims", "a", claim), claims.has(claim));
        for (const name of ["v1", "v2"])
          assert.equal(
            graph.isMounted(node, name),
            mounted.some((volume) => volume.name === name),
          );
        for (const name of ["p1", "p2", "p3"])
          assert.equal(
            graph.isRunning(node, "a", name),
            mine.some((pod) => pod.name === name),
          );
      }
    }),
    { numRuns: 300 },
  );
});
