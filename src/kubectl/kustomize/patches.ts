// Patches of a kustomization: merged into objects, or lists of operations (upstream: kustomize/api/internal/builtins/PatchTransformer.go).
import { isObject } from "#base/is-object.ts";
import { PatchError } from "#schema/patch/error.ts";
import { applyJsonPatch } from "#schema/patch/json-patch.ts";
import { parseYamlDocuments } from "#wire/yaml/read.ts";
import { KubectlError } from "../errors.ts";
import { metadataOf, stringIn } from "../resources/resource-info.ts";
import type { KubeObject } from "../rest/client.ts";
import type { KustomizeFolder } from "./kustomize-files.ts";
import type { KustomizeResource } from "./kustomize-resource.ts";
import { listOf, type Section, textsIn } from "./sections.ts";
import { matcherOf } from "./selectors.ts";
import { mergedResource } from "./strategic-merge.ts";

/** `patchesStrategicMerge` and `patches`, in that order. Objects that a patch deletes are gone from the list. */
export function runPatches(resources: KustomizeResource[], file: Section, folder: KustomizeFolder): void {
  for (const text of textsIn(file, "patchesStrategicMerge")) {
    const isInline = text.includes("\n") || !folder.has(text);
    for (const patch of documentsIn(isInline ? text : folder.read(text).toString("utf8"), text))
      mergeOwn(resources, patch, {});
  }
  for (const entry of listOf(file, "patches")) runPatch(resources, entry, folder);
}

/** `patchesJson6902`, which come later. */
export function runJsonPatches(resources: KustomizeResource[], file: Section, folder: KustomizeFolder): void {
  for (const entry of listOf(file, "patchesJson6902")) {
    const { target } = entry;
    if (!isObject(target)) throw new KubectlError("must specify the target field in patchesJson6902");
    runPatch(resources, entry, folder);
  }
}

function runPatch(resources: KustomizeResource[], entry: Section, folder: KustomizeFolder): void {
  const { target } = entry;
  const path = stringIn(entry.path);
  const inline = stringIn(entry.patch);
  if (path === "" && inline === "")
    throw new KubectlError(`must specify one of patch and path in\n${JSON.stringify(entry)}`);
  if (path !== "" && inline !== "")
    throw new KubectlError(`patch and path can't be set at the same time\n${JSON.stringify(entry)}`);
  const text = path === "" ? inline : folder.read(path).toString("utf8");
  const documents = patchDocuments(text, path || inline);
  const options = isObject(entry.options) ? entry.options : {};
  const [first] = documents;
  if (Array.isArray(first)) {
    if (!isObject(target)) throw new KubectlError(`must specify a target for JSON patch ${JSON.stringify(text)}`);
    for (const resource of resources.filter(matcherOf(target))) resource.object = operated(resource.object, first);
    return;
  }
  for (const patch of documents.filter(isObject) as KubeObject[])
    if (isObject(target))
      for (const resource of resources.filter(matcherOf(target))) mergeInto(resources, resource, patch, options);
    else mergeOwn(resources, patch, options);
}

function patchDocuments(text: string, source: string): readonly unknown[] {
  const documents = documentsIn(text, source);
  if (documents.length === 0) throw new KubectlError(`unable to parse SM or JSON patch from [${text}]`);
  return documents;
}

function documentsIn(text: string, source: string): readonly KubeObject[] {
  try {
    return parseYamlDocuments(text)
      .map((document) => document.exactValue())
      .filter((value) => value !== null && value !== undefined) as KubeObject[];
  } catch (cause) {
    throw new KubectlError(`a patch is no YAML: ${source}: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
  }
}

function operated(object: KubeObject, operations: readonly unknown[]): KubeObject {
  try {
    return applyJsonPatch(object, operations) as KubeObject;
  } catch (cause) {
    if (!(cause instanceof PatchError)) throw cause;
    throw new KubectlError(cause.message, { cause });
  }
}

/** The object that the patch names is what it is for. */
function mergeOwn(resources: KustomizeResource[], patch: KubeObject, options: Section): void {
  const { name, namespace } = metadataOf(patch);
  const found = resources.find(
    (one) =>
      one.object.kind === patch.kind &&
      one.object.apiVersion === patch.apiVersion &&
      one.ids.some((id) => id.name === name && (namespace === undefined || id.namespace === namespace)),
  );
  if (!found) {
    const apiVersion = stringIn(patch.apiVersion);
    const [group, version] = apiVersion.includes("/") ? apiVersion.split("/") : ["[noGrp]", apiVersion];
    throw new KubectlError(
      `no resource matches strategic merge patch "${stringIn(patch.kind)}.${version}.${group}/${stringIn(name)}.${stringIn(namespace) || "[noNs]"}": no matches for Id ${stringIn(patch.kind)}.${version}.${group}/${stringIn(name)}.${stringIn(namespace) || "[noNs]"}; failed to find unique target for patch ${stringIn(patch.kind)}.${version}.${group}/${stringIn(name)}.${stringIn(namespace) || "[noNs]"}`,
    );
  }
  mergeInto(resources, found, patch, options);
}

/** A patch does not rename what it is put on, unless it is allowed to. */
function mergeInto(
  resources: KustomizeResource[],
  resource: KustomizeResource,
  patch: KubeObject,
  { allowNameChange, allowKindChange }: Section,
): void {
  const { name, namespace, ...metadata } = metadataOf(patch);
  const merged = mergedResource(resource.object, {
    ...patch,
    apiVersion: allowKindChange === true ? patch.apiVersion : resource.object.apiVersion,
    kind: allowKindChange === true ? patch.kind : resource.object.kind,
    metadata: allowNameChange === true && name !== undefined ? { ...metadata, name } : metadata,
  });
  if (merged) resource.object = merged;
  else resources.splice(resources.indexOf(resource), 1);
}
