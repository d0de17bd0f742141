// The order of the manifests: as they were read, or so that what others need comes first
// (upstream: kustomize/api/internal/builtins/SortOrderTransformer.go).
import { isObject } from "#base/is-object.ts";
import type { KustomizeResource } from "./kustomize-resource.ts";
import type { Section } from "./sections.ts";

const first = [
  ...["Namespace", "ResourceQuota", "StorageClass", "CustomResourceDefinition", "ServiceAccount", "PodSecurityPolicy"],
  ...["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding", "ConfigMap", "Secret", "Endpoints", "Service"],
  ...["LimitRange", "PriorityClass", "PersistentVolume", "PersistentVolumeClaim", "Deployment", "StatefulSet"],
  ...["CronJob", "PodDisruptionBudget"],
];
const last = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/** What others need comes first, unless the file says that all stays as it was read. */
export function sorted(resources: readonly KustomizeResource[], file: Section): readonly KustomizeResource[] {
  const { sortOptions } = file;
  const options = isObject(sortOptions) ? sortOptions : {};
  if ((options.order ?? "legacy") !== "legacy") return resources;
  const { legacySortOptions } = options;
  const own = isObject(legacySortOptions) ? legacySortOptions : {};
  const kinds = (value: unknown, usual: readonly string[]) => (Array.isArray(value) ? value.map(String) : usual);
  const front = kinds(own.orderFirst, first);
  const back = kinds(own.orderLast, last);
  const rank = ({ kind }: KustomizeResource) =>
    front.includes(kind) ? front.indexOf(kind) - front.length : back.includes(kind) ? back.indexOf(kind) + 1 : 0;
  const id = ({ group, version, kind, namespace, name }: KustomizeResource) =>
    [group, version, kind, namespace, name].join("\u0000");
  return resources.toSorted((a, b) => rank(a) - rank(b) || (id(a) < id(b) ? -1 : 1));
}
