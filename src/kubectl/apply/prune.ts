// Deleting what was applied before and is in no manifest any more
// (upstream: kubectl/pkg/cmd/apply/prune.go, kubectl/pkg/util/prune).
import { isObject } from "#base/is-object.ts";
import type { RestMapping } from "../discovery/rest-mapper.ts";
import { KubectlError } from "../errors.ts";
import { klogLine } from "../klog.ts";
import { deleteInfo, metadataOf, type ResourceInfo, resourcePath, stringIn } from "../resources/resource-info.ts";
import type { KubeObject, RestClient } from "../rest/client.ts";
import type { Session } from "../session.ts";
import { lastApplied } from "./client-side.ts";

/** What is looked through unless `--prune-allowlist` says otherwise. */
const usualKinds = [
  "core/v1/ConfigMap",
  "core/v1/Endpoints",
  "core/v1/PersistentVolumeClaim",
  "core/v1/Pod",
  "core/v1/ReplicationController",
  "core/v1/Secret",
  "core/v1/Service",
  "batch/v1/Job",
  "batch/v1/CronJob",
  "networking.k8s.io/v1/Ingress",
  "apps/v1/DaemonSet",
  "apps/v1/Deployment",
  "apps/v1/ReplicaSet",
  "apps/v1/StatefulSet",
  "core/v1/Namespace",
  "core/v1/PersistentVolume",
];

/** The resources of `--prune-allowlist`. Throws KubectlError. */
export async function allowedMappings(session: Session, kinds: readonly string[]): Promise<readonly RestMapping[]> {
  const mappings: RestMapping[] = [];
  for (const text of kinds) {
    const parts = text.split("/");
    const [group = "", version = "", kind = ""] = parts;
    if (parts.length !== 3)
      throw new KubectlError(`invalid GroupVersionKind format: ${text}, please follow <group/version/kind>`);
    const mapper = await session.mapper();
    mappings.push(await mapper.mappingForKind(group === "core" ? "" : group, kind, version));
  }
  return mappings;
}

/** The resources that are looked through, those in namespaces first. */
export async function prunedMappings(
  session: Session,
  allowed: readonly RestMapping[],
): Promise<readonly RestMapping[]> {
  if (allowed.length > 0) return allowed;
  session.io.stderr.write(
    klogLine(
      session.io.clock,
      "W",
      "prune.go:71",
      "Deprecated: kubectl apply will no longer prune non-namespaced resources by default when used with the --namespace flag in a future release. To preserve the current behaviour, list the resources you want to target explicitly in the --prune-allowlist flag.",
    ),
  );
  return allowedMappings(session, usualKinds);
}

export interface PruneSearch {
  readonly mappings: readonly RestMapping[];
  readonly namespaces: ReadonlySet<string>;
  readonly labelSelector: string;
  /** What was just applied. */
  readonly visitedUids: ReadonlySet<unknown>;
}

/** Objects that an apply made and this one did not mention. */
export async function* prunable(client: RestClient, search: PruneSearch): AsyncGenerator<ResourceInfo> {
  const { mappings, namespaces, labelSelector, visitedUids } = search;
  const inside = mappings.filter(({ isNamespaced }) => isNamespaced);
  const outside = mappings.filter(({ isNamespaced }) => !isNamespaced);
  const places = [
    ...[...namespaces].flatMap((namespace) => inside.map((mapping) => ({ mapping, namespace }))),
    ...outside.map((mapping) => ({ mapping, namespace: "" })),
  ];
  for (const { mapping, namespace } of places)
    for (const object of await membersOf(client, mapping, namespace, labelSelector)) {
      const { name, uid } = metadataOf(object);
      if (lastApplied(object) === undefined || visitedUids.has(uid)) continue;
      yield { mapping, namespace, name: stringIn(name), source: "", object, subresource: "" };
    }
}

/** The objects of a resource with these labels, each with its type. */
export async function membersOf(
  client: RestClient,
  mapping: RestMapping,
  namespace: string,
  labelSelector: string,
): Promise<readonly KubeObject[]> {
  const { items, apiVersion, kind } = await client.json({
    path: resourcePath(mapping, namespace),
    query: labelSelector === "" ? [] : [["labelSelector", labelSelector]],
  });
  return (Array.isArray(items) ? items : [])
    .filter(isObject)
    .map((item) => ({ apiVersion, kind: stringIn(kind).replace(/List$/, ""), ...item }));
}

/** Deletes what is pruned; `dryRun` says whether the server only plays it through. */
export const deletePruned = (
  client: RestClient,
  info: ResourceInfo,
  deletion: KubeObject,
  isDryRun: boolean,
): Promise<KubeObject> =>
  deleteInfo(client, info, {
    apiVersion: "v1",
    kind: "DeleteOptions",
    ...deletion,
    ...(isDryRun && { dryRun: ["All"] }),
  });
