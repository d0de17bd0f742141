// Objects that commands make from arguments, and where the built-in kinds are served: a generator asks no server about them.
import type { RestMapping } from "../discovery/rest-mapper.ts";
import { KubectlError } from "../errors.ts";
import type { KubeObject } from "../rest/client.ts";

const served = (group: string, version: string, kind: string, resource: string, isNamespaced = true): RestMapping => ({
  group,
  version,
  resource,
  singular: kind.toLowerCase(),
  kind,
  isNamespaced,
  verbs: [],
});

const mappings: readonly RestMapping[] = [
  served("", "v1", "Pod", "pods"),
  served("", "v1", "ReplicationController", "replicationcontrollers"),
  served("", "v1", "Service", "services"),
  served("", "v1", "ConfigMap", "configmaps"),
  served("", "v1", "Secret", "secrets"),
  served("", "v1", "ServiceAccount", "serviceaccounts"),
  served("", "v1", "ResourceQuota", "resourcequotas"),
  served("", "v1", "Namespace", "namespaces", false),
  served("apps", "v1", "Deployment", "deployments"),
  served("batch", "v1", "Job", "jobs"),
  served("batch", "v1", "CronJob", "cronjobs"),
  served("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets"),
  served("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", false),
  served("networking.k8s.io", "v1", "Ingress", "ingresses"),
  served("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"),
  served("rbac.authorization.k8s.io", "v1", "Role", "roles"),
  served("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings"),
  served("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", false),
  served("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", false),
];

/** Where objects of this kind are served. */
export function generatedMapping({ apiVersion, kind }: KubeObject): RestMapping {
  const found = mappings.find(
    ({ group, version, kind: known }) =>
      known === kind && (group === "" ? version : `${group}/${version}`) === apiVersion,
  );
  if (!found) throw new Error(`no generator makes ${apiVersion} ${kind}`);
  return found;
}

/** The value unless it is empty, for fields that Go leaves out then. */
export const filled = <const Name extends string>(name: Name, value: unknown): Partial<Record<Name, unknown>> => {
  const isEmpty =
    value === undefined ||
    value === "" ||
    (Array.isArray(value) && value.length === 0) ||
    (typeof value === "object" && value !== null && Object.keys(value).length === 0);
  return isEmpty ? {} : ({ [name]: value } as Partial<Record<Name, unknown>>);
};

/** `a=b,c=d`. Throws KubectlError in upstream's words. */
export function parseLabelPairs(text: string): Readonly<Record<string, string>> {
  const labels: Record<string, string> = {};
  if (text === "") return labels;
  for (const pair of text.split(",")) {
    const [key = "", value, ...rest] = pair.split("=");
    if (value === undefined || rest.length > 0) throw new KubectlError(`unexpected label spec: ${pair}`);
    if (key === "") throw new KubectlError("unexpected empty label key");
    labels[key] = value;
  }
  return labels;
}

/** `cpu=100m,memory=1Gi` as a list of resources. Throws KubectlError. */
export function parseResourceList(text: string): Readonly<Record<string, string>> {
  const list: Record<string, string> = {};
  if (text === "") return list;
  for (const statement of text.split(",")) {
    const parts = statement.split("=");
    if (parts.length !== 2) throw new KubectlError(`Invalid argument syntax ${statement}, expected <resource>=<value>`);
    list[parts[0] as string] = parts[1] as string;
  }
  return list;
}

/** `NAME=value` for the environment of a container. Throws KubectlError. */
export function parseEnvironment(entries: readonly string[]): readonly KubeObject[] {
  return entries.map((entry) => {
    const at = entry.indexOf("=");
    const name = at < 0 ? "" : entry.slice(0, at);
    if (name === "" || !/^[-._a-zA-Z][-._a-zA-Z0-9]*$/.test(name)) throw new KubectlError(`invalid env: ${entry}`);
    return { name, ...filled("value", entry.slice(at + 1)) };
  });
}
