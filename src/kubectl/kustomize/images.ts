// Other names, tags and digests for images (upstream: kustomize/api/filters/imagetag).
import { isObject } from "#base/is-object.ts";
import { stringIn } from "../resources/resource-info.ts";
import type { KubeObject } from "../rest/client.ts";
import type { KustomizeResource } from "./kustomize-resource.ts";
import { listOf, type Section } from "./sections.ts";

export function changeImages(resources: readonly KustomizeResource[], file: Section): void {
  // A definition describes containers, and has none.
  for (const entry of listOf(file, "images"))
    for (const resource of resources)
      if (resource.kind !== "CustomResourceDefinition")
        resource.object = changed(resource.object, entry, false) as KubeObject;
}

/** Containers are found wherever they are. */
function changed(value: unknown, entry: Section, isContainers: boolean): unknown {
  if (Array.isArray(value))
    return value.map((item) => (isContainers ? container(item, entry) : changed(item, entry, false)));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [
      key,
      key === "image" && isObject(one) && typeof one.reference === "string"
        ? { ...one, reference: changedImage(one.reference, entry) }
        : changed(one, entry, key === "containers" || key === "initContainers"),
    ]),
  );
}

function container(item: unknown, entry: Section): unknown {
  if (!isObject(item) || typeof item.image !== "string") return item;
  return { ...item, image: changedImage(item.image, entry) };
}

export function changedImage(image: string, entry: Section): string {
  const { name, tag, digest } = imageParts(image);
  if (name !== stringIn(entry.name)) return image;
  const newName = stringIn(entry.newName) || name;
  const newTag = stringIn(entry.newTag === undefined ? "" : String(entry.newTag));
  const newDigest = stringIn(entry.digest);
  const suffix = stringIn(entry.tagSuffix);
  if (newTag !== "" && newDigest !== "") return `${newName}:${newTag}@${newDigest}`;
  if (newTag !== "") return `${newName}:${newTag}`;
  if (newDigest !== "") return `${newName}@${newDigest}`;
  return `${newName}${tag === "" ? "" : `:${tag}${suffix}`}${digest === "" ? "" : `@${digest}`}`;
}

/** The colon of a port is before the last slash, and is none of a tag. */
function imageParts(image: string): { readonly name: string; readonly tag: string; readonly digest: string } {
  const at = image.indexOf("@");
  const digest = at < 0 ? "" : image.slice(at + 1);
  const rest = at < 0 ? image : image.slice(0, at);
  const colon = rest.lastIndexOf(":");
  const isTag = colon > rest.lastIndexOf("/") && colon > 0;
  return { name: isTag ? rest.slice(0, colon) : rest, tag: isTag ? rest.slice(colon + 1) : "", digest };
}
