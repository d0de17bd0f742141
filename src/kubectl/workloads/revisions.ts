// The revisions of deployments, daemon sets and stateful sets (upstream: kubectl/pkg/polymorphichelpers/history.go and rollback.go).
import { isObject } from "#base/is-object.ts";
import { formatRequirements, requirementsOf, type SelectorStruct } from "#schema/selector.ts";
import { patchedObject } from "../apply/patch-object.ts";
import { KubectlError } from "../errors.ts";
import { metadataOf, type ResourceInfo, resourcePath, stringIn } from "../resources/resource-info.ts";
import type { KubeObject, RestClient } from "../rest/client.ts";
import { changeCauseAnnotation } from "../write-options.ts";

export const revisionAnnotation = "deployment.kubernetes.io/revision";

export interface WorkloadRevision {
  readonly number: number;
  readonly changeCause: string;
  /** The ReplicaSet or ControllerRevision that remembers it. */
  readonly record: KubeObject;
  /** What `-o` prints of it: the ReplicaSet, or the workload as it was. */
  readonly object: KubeObject;
  readonly template: KubeObject;
}

export interface WorkloadHistory {
  readonly workload: KubeObject;
  /** The oldest first. */
  readonly revisions: readonly WorkloadRevision[];
}

const workloads: Readonly<Record<string, { readonly resource: string; readonly name: string }>> = {
  Deployment: { resource: "deployments", name: "deployment" },
  DaemonSet: { resource: "daemonsets", name: "DaemonSet" },
  StatefulSet: { resource: "statefulsets", name: "StatefulSet" },
};
/** Kinds that upstream knows, without a history of theirs. */
const plainKinds = ["Pod", "ReplicationController", "ReplicaSet.apps", "Job.batch", "CronJob.batch"];

/** Throws KubectlError for a kind without revisions, in the words for who asks for them. */
export function requireRevisions({ mapping }: ResourceInfo, who: "history" | "rollbacker"): void {
  const { kind = "", group = "" } = mapping ?? {};
  if (group === "apps" && Object.hasOwn(workloads, kind)) return;
  const name = group === "" ? kind : `${kind}.${group}`;
  throw new KubectlError(
    plainKinds.includes(name)
      ? `no ${who === "history" ? "history viewer" : who} has been implemented for "${name}"`
      : `error retrieving ${who} for "${name}", no visitor method exists for {${group} ${kind}}`,
  );
}

/** Reads a workload anew with all its revisions. */
export async function workloadHistory(client: RestClient, info: ResourceInfo): Promise<WorkloadHistory> {
  const kind = info.mapping?.kind ?? "";
  const { resource, name } = workloads[kind] as { resource: string; name: string };
  const workload = await client
    .json({ path: appsPath(resource, info.namespace, info.name) })
    .catch(failedWith(`failed to retrieve ${name} ${info.name}`));
  const selector = (workload.spec as { selector?: SelectorStruct } | undefined)?.selector ?? {};
  const isDeployment = kind === "Deployment";
  const { items } = await client
    .json({
      path: appsPath(isDeployment ? "replicasets" : "controllerrevisions", info.namespace),
      query: [["labelSelector", formatRequirements(requirementsOf(selector))]],
    })
    .catch(
      failedWith(
        isDeployment
          ? `failed to retrieve replica sets from deployment ${info.name}`
          : `unable to find history controlled by ${name} ${info.name}`,
      ),
    );
  const uid = stringIn(metadataOf(workload).uid);
  const records = (Array.isArray(items) ? items : []).filter((item) => isControlledBy(item, uid));
  const typed = { apiVersion: "apps/v1", kind, ...workload };
  const found = isDeployment
    ? records.flatMap(replicaSetRevision)
    : records.map((record) => controllerRevision(typed, record));
  return { workload: typed, revisions: found.toSorted((a, b) => a.number - b.number) };
}

const appsPath = (resource: string, namespace: string, name = ""): string =>
  resourcePath({ group: "apps", version: "v1", resource, isNamespaced: true }, namespace, name);

const failedWith =
  (what: string) =>
  (cause: unknown): never => {
    throw new KubectlError(`${what}: ${cause instanceof Error ? cause.message : cause}`, { cause });
  };

function isControlledBy(object: unknown, uid: string): object is KubeObject {
  const owners = isObject(object) ? metadataOf(object as KubeObject).ownerReferences : undefined;
  return Array.isArray(owners) && owners.some((owner) => owner?.controller === true && owner.uid === uid);
}

const annotationsOf = (object: KubeObject): Readonly<Record<string, string>> =>
  (metadataOf(object).annotations ?? {}) as Readonly<Record<string, string>>;

const templateOf = (object: KubeObject): KubeObject =>
  ((object.spec as KubeObject | undefined)?.template ?? {}) as KubeObject;

/** None for a ReplicaSet that says a revision which is no number. */
function replicaSetRevision(record: KubeObject): readonly WorkloadRevision[] {
  const text = annotationsOf(record)[revisionAnnotation] ?? "0";
  if (!/^[+-]?\d+$/.test(text)) return [];
  const changeCause = annotationsOf(record)[changeCauseAnnotation] ?? "";
  const object = { apiVersion: "apps/v1", kind: "ReplicaSet", ...record };
  return [{ number: Number(text), changeCause, record, object, template: templateOf(record) }];
}

function controllerRevision(workload: KubeObject, record: KubeObject): WorkloadRevision {
  const object = patchedObject(workload, record.data ?? {}, "strategic");
  return {
    number: Number(record.revision ?? 0),
    changeCause: annotationsOf(record)[changeCauseAnnotation] ?? "",
    record,
    object,
    template: templateOf(object),
  };
}
