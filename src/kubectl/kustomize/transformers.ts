// What a kustomization changes in all of its objects: names, namespaces, labels, annotations, numbers of replicas
// (upstream: kustomize/api/internal/builtins).
import { isObject } from "#base/is-object.ts";
import { KubectlError } from "../errors.ts";
import { metadataOf, stringIn } from "../resources/resource-info.ts";
import type { KubeObject } from "../rest/client.ts";
import {
  annotationFields,
  type KustomizeField,
  metadataLabels,
  replicaFields,
  selectorLabels,
  templateLabels,
} from "./field-specs.ts";
import { changeAt, type KustomizeResource, pathOf } from "./kustomize-resource.ts";
import { listOf, type Section, textsOf } from "./sections.ts";

export function setNamespaces(resources: readonly KustomizeResource[], file: Section): void {
  const namespace = stringIn(file.namespace);
  if (namespace === "") return;
  for (const resource of resources) {
    if (resource.kind === "Namespace" && resource.group === "") resource.rename({ name: namespace });
    else if (!resource.isClusterScoped) resource.rename({ namespace });
    if (resource.kind === "RoleBinding" || resource.kind === "ClusterRoleBinding") setSubjects(resource, namespace);
    if (resource.kind === "APIService") setField(resource, { path: "spec/service/namespace" }, () => namespace);
    if (resource.kind === "CustomResourceDefinition")
      setField(resource, { path: "spec/conversion/webhook/clientConfig/service/namespace" }, () => namespace);
  }
  checkUnique(resources);
}

/** The account that every namespace has is that of this one; others are found by their names later. */
function setSubjects(resource: KustomizeResource, namespace: string): void {
  setField(resource, { path: "subjects/name" }, (name) => name);
  const { subjects } = resource.object;
  if (!Array.isArray(subjects)) return;
  resource.object = {
    ...resource.object,
    subjects: subjects.map((one: unknown) =>
      isObject(one) && one.kind === "ServiceAccount" && one.name === "default" ? { ...one, namespace } : one,
    ),
  };
}

function checkUnique(resources: readonly KustomizeResource[]): void {
  const seen = new Set<string>();
  for (const { group, kind, namespace, name } of resources) {
    const id = `${kind}.${group}/${name}.${namespace}`;
    if (seen.has(id)) throw new KubectlError(`namespace transformation produces ID conflict: ${id}`);
    seen.add(id);
  }
}

/** Kinds whose names the server gives meaning to keep them. */
const fixedNames = ["CustomResourceDefinition", "APIService", "Namespace"];

export function addAffixes(resources: readonly KustomizeResource[], file: Section): void {
  const prefix = stringIn(file.namePrefix);
  const suffix = stringIn(file.nameSuffix);
  for (const resource of resources) {
    if (prefix + suffix === "" || fixedNames.includes(resource.kind)) continue;
    if (prefix !== "") resource.rename({ name: prefix + resource.name });
    if (suffix !== "") resource.rename({ name: resource.name + suffix });
    resource.affixes.push(`${prefix}*${suffix}`);
  }
}

export function addLabels(resources: readonly KustomizeResource[], file: Section): void {
  const common = textsOf(file, "commonLabels");
  const sets = [
    { pairs: common, specs: [...selectorLabels, ...metadataLabels, ...templateLabels] },
    ...listOf(file, "labels").map((entry) => ({ pairs: textsOf(entry, "pairs"), specs: labelSpecs(entry) })),
  ];
  for (const { pairs, specs } of sets) addPairs(resources, pairs, specs);
}

function labelSpecs(entry: Section): readonly KustomizeField[] {
  const own = listOf(entry, "fields").map(({ path, kind, group, create }) => ({
    path: stringIn(path),
    create: create === true,
    ...(typeof kind === "string" && { kinds: [kind] }),
    ...(typeof group === "string" && { group }),
  }));
  if (entry.includeSelectors === true) return [...own, ...selectorLabels, ...metadataLabels, ...templateLabels];
  return [...own, ...metadataLabels, ...(entry.includeTemplates === true ? templateLabels : [])];
}

export const addAnnotations = (resources: readonly KustomizeResource[], file: Section): void =>
  addPairs(resources, textsOf(file, "commonAnnotations"), annotationFields);

function addPairs(
  resources: readonly KustomizeResource[],
  pairs: Readonly<Record<string, string>>,
  specs: readonly KustomizeField[],
): void {
  if (Object.keys(pairs).length === 0) return;
  for (const resource of resources)
    for (const spec of specs.filter((one) => resource.isMeantBy(one)))
      setField(resource, spec, (present) => ({ ...(isObject(present) ? present : {}), ...pairs }));
}

export function setReplicas(resources: readonly KustomizeResource[], file: Section): void {
  for (const { name, count } of listOf(file, "replicas")) {
    const spec = replicaFields[0] as KustomizeField;
    const found = resources.filter(
      (resource) => resource.isMeantBy(spec) && resource.ids.some((id) => id.name === name),
    );
    if (found.length === 0)
      throw new KubectlError(
        `resource with name ${stringIn(name)} does not match a config with the following GVK [Deployment.[noVer].[noGrp] ReplicationController.[noVer].[noGrp] ReplicaSet.[noVer].[noGrp] StatefulSet.[noVer].[noGrp]]`,
      );
    for (const resource of found) setField(resource, spec, () => count);
  }
}

export function setField(
  resource: KustomizeResource,
  { path, create = false }: KustomizeField,
  change: (value: unknown) => unknown,
): void {
  resource.object = changeAt(resource.object, pathOf(path), create, change) as KubeObject;
}

/** Objects that only the kustomization is to know. */
export const isLocal = ({ object }: KustomizeResource): boolean => {
  const { annotations } = metadataOf(object);
  return isObject(annotations) && annotations["config.kubernetes.io/local-config"] === "true";
};
