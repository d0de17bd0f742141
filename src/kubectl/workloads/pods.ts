// Pods of workloads, and containers of pods (upstream: kubectl/pkg/polymorphichelpers and cmd/util/podcmd).
import { isObject } from "#base/is-object.ts";
import { formatRequirements, requirementsOf, type SelectorStruct } from "#schema/selector.ts";
import { KubectlError } from "../errors.ts";
import { metadataOf, resourcePath, stringIn } from "../resources/resource-info.ts";
import { watchResource } from "../resources/watch-resource.ts";
import type { KubeObject } from "../rest/client.ts";
import type { Session } from "../session.ts";

/** The core resource that everything here is about. */
export const podMapping = {
  group: "",
  version: "v1",
  resource: "pods",
  singular: "pod",
  kind: "Pod",
  isNamespaced: true,
  verbs: [],
} as const;

export const specOf = (object: Readonly<KubeObject>): Readonly<KubeObject> =>
  isObject(object.spec) ? object.spec : {};
export const statusOf = (object: Readonly<KubeObject>): Readonly<KubeObject> =>
  isObject(object.status) ? object.status : {};

const defaultContainerAnnotation = "kubectl.kubernetes.io/default-container";

interface NamedContainer {
  readonly name: string;
  /** As in references to it: `spec.containers{main}`. */
  readonly list: "containers" | "initContainers" | "ephemeralContainers";
}

/** Containers, then those that run before, then those for debugging. */
export function containersOf(pod: Readonly<KubeObject>): readonly NamedContainer[] {
  return (["containers", "initContainers", "ephemeralContainers"] as const).flatMap((list) => {
    const entries = specOf(pod)[list];
    return (Array.isArray(entries) ? entries : []).filter(isObject).map(({ name }) => ({ name: stringIn(name), list }));
  });
}

export function containerNames(pod: Readonly<KubeObject>): string {
  const suffix = { containers: "", initContainers: " (init)", ephemeralContainers: " (ephem)" } as const;
  return containersOf(pod)
    .map(({ name, list }) => `${name}${suffix[list]}`)
    .join(", ");
}

/** The container that is meant: the one asked for, the one the pod names, or its first, which is then said. Throws KubectlError. */
export function chooseContainer(
  session: Session,
  pod: Readonly<KubeObject>,
  asked: string,
  isQuiet: boolean,
): NamedContainer {
  const all = containersOf(pod);
  const named = (name: string) => all.find((one) => one.name === name);
  const { name: podName, annotations } = metadataOf(pod);
  if (asked !== "") {
    const found = named(asked);
    if (found) return found;
    throw new KubectlError(`container ${asked} is not valid for pod ${podName} out of: ${containerNames(pod)}`);
  }
  const usual = stringIn(isObject(annotations) ? annotations[defaultContainerAnnotation] : undefined);
  if (usual !== "") {
    const found = named(usual);
    if (found) return found;
    if (!isQuiet) session.printError(`Default container name ${JSON.stringify(usual)} not found in pod ${podName}`);
  }
  const [first] = all;
  if (!first) throw new KubectlError(`pod ${podName} has no containers`);
  if (all.length > 1 && !isQuiet)
    session.printError(`Defaulted container ${JSON.stringify(first.name)} out of: ${containerNames(pod)}`);
  return first;
}

/** Which pods belong to a workload, as a selector. Throws KubectlError for what has none. */
export function podSelectorOf(object: Readonly<KubeObject>): string {
  const { selector } = specOf(object);
  const kind = stringIn(object.kind);
  if (["Service", "ReplicationController"].includes(kind)) {
    if (!isObject(selector) || Object.keys(selector).length === 0)
      throw new KubectlError(`invalid service '${metadataOf(object).name}': Service is defined without a selector`);
    return Object.entries(selector)
      .map(([name, value]) => `${name}=${value}`)
      .sort()
      .join(",");
  }
  if (!isObject(selector)) throw new KubectlError(`selector for *v1.${kind} not implemented`);
  return formatRequirements(requirementsOf(selector as SelectorStruct));
}

export async function podsOf(
  session: Session,
  namespace: string,
  labelSelector: string,
): Promise<readonly KubeObject[]> {
  const client = await session.client();
  const { items } = await client.json({
    path: resourcePath(podMapping, namespace),
    query: [["labelSelector", labelSelector]],
  });
  return (Array.isArray(items) ? items : [])
    .filter(isObject)
    .map((item) => ({ apiVersion: "v1", kind: "Pod", ...item }));
}

/** The pod of an object that is a pod or has some; of several the one most likely to have something to say. */
export async function podFor(session: Session, object: KubeObject, timeoutMs: number): Promise<KubeObject> {
  if (object.kind === "Pod") return object;
  const namespace = stringIn(metadataOf(object).namespace);
  const labelSelector = podSelectorOf(object);
  const found = await podsOf(session, namespace, labelSelector);
  return found.toSorted(byActivity)[0] ?? firstPod(session, namespace, labelSelector, timeoutMs);
}

async function firstPod(
  session: Session,
  namespace: string,
  labelSelector: string,
  timeoutMs: number,
): Promise<KubeObject> {
  const { clock } = session.io;
  const late = new AbortController();
  const cancel = clock.after(timeoutMs, () => late.abort(new KubectlError("timed out waiting for the condition")));
  try {
    const events = watchResource(await session.client(), {
      mapping: podMapping,
      namespace,
      labelSelector,
      signal: late.signal,
    });
    for await (const { type, object } of events) if (type === "ADDED" || type === "MODIFIED") return object;
    throw new KubectlError("timed out waiting for the condition");
  } finally {
    cancel();
    late.abort();
  }
}

/** Bound before unbound, running before waiting, ready before not, then the newest first. */
export function byActivity(a: KubeObject, b: KubeObject): number {
  const phases = ["Running", "Unknown", "Pending"];
  const rank = (pod: KubeObject): readonly number[] => [
    specOf(pod).nodeName ? 0 : 1,
    phases.indexOf(stringIn(statusOf(pod).phase)) < 0 ? 9 : phases.indexOf(stringIn(statusOf(pod).phase)),
    isReady(pod) ? 0 : 1,
  ];
  const [left, right] = [rank(a), rank(b)];
  const at = left.findIndex((value, i) => value !== right[i]);
  if (at >= 0) return (left[at] ?? 0) - (right[at] ?? 0);
  return stringIn(metadataOf(b).creationTimestamp) < stringIn(metadataOf(a).creationTimestamp) ? -1 : 1;
}

export function isReady(pod: Readonly<KubeObject>): boolean {
  const { conditions } = statusOf(pod);
  return (
    Array.isArray(conditions) &&
    conditions.some((one) => isObject(one) && one.type === "Ready" && one.status === "True")
  );
}
