// The pods of objects that have some (upstream: kubectl/pkg/polymorphichelpers/updatepodspec.go and kubectl/pkg/cmd/set/helper.go).
import { isObject } from "#base/is-object.ts";
import { KubectlError } from "../../errors.ts";
import type { KubeObject } from "../../rest/client.ts";

const templated = ["spec", "template", "spec"];
const podSpecPaths: Readonly<Record<string, readonly string[]>> = {
  "v1 Pod": ["spec"],
  "v1 ReplicationController": templated,
  "apps/v1 Deployment": templated,
  "apps/v1 DaemonSet": templated,
  "apps/v1 ReplicaSet": templated,
  "apps/v1 StatefulSet": templated,
  "batch/v1 Job": templated,
  "batch/v1 CronJob": ["spec", "jobTemplate", "spec", "template", "spec"],
};

/** The object with its pods changed. Throws KubectlError for one that has none. */
export function withPodSpec(object: KubeObject, change: (spec: KubeObject) => KubeObject): KubeObject {
  const { apiVersion, kind } = object;
  const path = podSpecPaths[`${apiVersion} ${kind}`];
  if (!path)
    throw new KubectlError(
      `the object is not a pod or does not have a pod template: *${String(apiVersion).split("/").at(-1)}.${kind}`,
    );
  return changedAt(object, path, change);
}

function changedAt(object: KubeObject, path: readonly string[], change: (part: KubeObject) => KubeObject): KubeObject {
  const [key, ...rest] = path;
  if (key === undefined) return change(object);
  const part = isObject(object[key]) ? (object[key] as KubeObject) : {};
  return { ...object, [key]: changedAt(part, rest, change) };
}

const containerLists = ["containers", "initContainers"] as const;

export interface ContainerChange {
  readonly spec: KubeObject;
  /** How many containers were meant. */
  readonly count: number;
}

/** Changes the containers that are meant, those of the pod before those that run first. */
export function changedContainers(
  spec: KubeObject,
  isMeant: (name: string) => boolean,
  change: (container: KubeObject) => KubeObject,
): ContainerChange {
  let count = 0;
  const result: Record<string, unknown> = { ...spec };
  for (const list of containerLists) {
    const containers = spec[list];
    if (!Array.isArray(containers)) continue;
    result[list] = containers.map((container) => {
      if (!isMeant(String(container?.name ?? ""))) return container;
      count++;
      return change(container as KubeObject);
    });
  }
  return { spec: result, count };
}

/** Whether a name fits a pattern, in which `*` stands for any text; upstream's, down to the order in which it looks. */
export function fitsPattern(name: string, pattern: string): boolean {
  if (pattern === "*") return true;
  if (!pattern.includes("*")) return name === pattern;
  const parts = pattern.split("*");
  let position = 0;
  for (const [i, part] of parts.entries()) {
    if (part === "") continue;
    const next = name.slice(position).indexOf(part);
    if (next < position || (i === 0 && position !== 0)) return false;
    if (i === parts.length - 1 && name.length !== part.length + next) return false;
    position = next;
  }
  return true;
}
