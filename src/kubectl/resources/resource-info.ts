// One object that a command works on: where it is on the server, and what is known of it.
import { isNotFound } from "#base/errors.ts";
import { isObject } from "#base/is-object.ts";
import type { RestMapping } from "../discovery/rest-mapper.ts";
import { resourceName } from "../discovery/rest-mapper.ts";
import { KubectlError } from "../errors.ts";
import type { KubeObject, RestClient } from "../rest/client.ts";
import type { Query } from "../rest/request.ts";

export interface ResourceInfo {
  /** Undefined only where no server is asked (`--local`). */
  readonly mapping: RestMapping | undefined;
  /** Empty for what is in no namespace. */
  namespace: string;
  name: string;
  /** The file, address or stdin it came from; empty for the server. */
  readonly source: string;
  object: KubeObject | undefined;
  readonly subresource: string;
}

/** The metadata of an object; empty if it has none that could be read. */
export const metadataOf = (object: Readonly<KubeObject> | undefined): Readonly<Record<string, unknown>> =>
  isObject(object?.metadata) ? object.metadata : {};

export const stringIn = (value: unknown): string => (typeof value === "string" ? value : "");

export const isNamespaced = ({ mapping, namespace }: ResourceInfo): boolean =>
  mapping ? mapping.isNamespaced : namespace !== "";

/** `pods/web`, or `deployments.apps/web`. */
export const objectName = ({ mapping, name }: ResourceInfo): string => `${mapping?.resource ?? ""}/${name}`;

/** `pod/web`, or `deployment.apps/web`, as -o name prints it. */
export const printedName = (mapping: RestMapping, name: string): string =>
  `${mapping.kind.toLowerCase()}${mapping.group === "" ? "" : `.${mapping.group}`}/${name}`;

/** The path of a resource: all of it, of one namespace, or one object, or a part of that. */
export function resourcePath(
  {
    group,
    version,
    resource,
    isNamespaced: isIn,
  }: Pick<RestMapping, "group" | "version" | "resource" | "isNamespaced">,
  namespace = "",
  name = "",
  subresource = "",
): string {
  const base = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const inside = isIn && namespace !== "" ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  // A colon may stand in a path, and is what servers log of roles such as `system:node`.
  const one = name === "" ? "" : `/${encodeURIComponent(name).replaceAll("%3A", ":")}`;
  return `${base}${inside}/${resource}${one}${subresource === "" ? "" : `/${subresource}`}`;
}

export const infoPath = ({ mapping, namespace, name, subresource }: ResourceInfo): string => {
  if (!mapping) throw new Error(`${name} has no place on a server`);
  return resourcePath(mapping, namespace, name, subresource);
};

/** Reads the object anew. A namespace that does not exist is told of as such. */
export async function getInfo(client: RestClient, info: ResourceInfo, accept?: string): Promise<KubeObject> {
  try {
    return await client.json({ path: infoPath(info), ...(accept !== undefined && { accept }) });
  } catch (error) {
    const { namespace } = info;
    if (isNotFound(error) && namespace !== "" && namespace !== "default")
      await client.json({ path: `/api/v1/namespaces/${encodeURIComponent(namespace)}` }).catch((missing: unknown) => {
        if (isNotFound(missing)) throw missing;
      });
    throw error;
  }
}

/** Takes over what an answer says of the object. */
export function refreshInfo(info: ResourceInfo, object: KubeObject): void {
  const { name, namespace } = metadataOf(object);
  info.name = stringIn(name);
  info.namespace = stringIn(namespace);
  info.object = object;
}

/** How a write is asked for. */
export interface ResourceWriteOptions {
  /** Server-side: nothing is stored. */
  readonly isDryRun?: boolean;
  readonly fieldManager?: string;
  /** `Strict`, `Warn` or `Ignore`. */
  readonly fieldValidation?: string;
}

export const writeQuery = ({ isDryRun, fieldManager, fieldValidation }: ResourceWriteOptions): Query => [
  ...(isDryRun ? [["dryRun", "All"] as const] : []),
  ...(fieldManager ? [["fieldManager", fieldManager] as const] : []),
  ...(fieldValidation ? [["fieldValidation", fieldValidation] as const] : []),
];

/** Creates the object where it says it belongs. */
export async function createInfo(
  client: RestClient,
  info: ResourceInfo,
  options: ResourceWriteOptions,
): Promise<KubeObject> {
  const { mapping, namespace, object, subresource } = info;
  if (!mapping) throw new Error(`${info.name} has no place on a server`);
  return client.json({
    method: "POST",
    path: `${resourcePath(mapping, namespace)}${subresource === "" ? "" : `/${info.name}/${subresource}`}`,
    query: writeQuery(options),
    body: jsonText(object),
    contentType: "application/json",
  });
}

export async function replaceInfo(
  client: RestClient,
  info: ResourceInfo,
  options: ResourceWriteOptions,
): Promise<KubeObject> {
  return client.json({
    method: "PUT",
    path: infoPath(info),
    query: writeQuery(options),
    body: jsonText(info.object),
    contentType: "application/json",
  });
}

export async function patchInfo(
  client: RestClient,
  info: ResourceInfo,
  contentType: string,
  patch: string,
  options: ResourceWriteOptions,
): Promise<KubeObject> {
  if (info.name === "") throw new KubectlError("resource name may not be empty");
  return client.json({ method: "PATCH", path: infoPath(info), query: writeQuery(options), body: patch, contentType });
}

export async function deleteInfo(
  client: RestClient,
  info: ResourceInfo,
  options: KubeObject | undefined,
): Promise<KubeObject> {
  return client.json({
    method: "DELETE",
    path: infoPath(info),
    ...(options && { body: jsonText(options), contentType: "application/json" }),
  });
}

/** JSON in which an integer that no double can hold keeps all its digits. */
export const jsonText = (value: unknown, indent = 0): string =>
  // biome-ignore lint/suspicious/noExplicitAny: rawJSON is newer than the types of the standard library
  JSON.stringify(value, (_, part) => (typeof part === "bigint" ? (JSON as any).rawJSON(String(part)) : part), indent);

/** For messages: `pods "web"`. */
export const quotedName = (info: ResourceInfo): string =>
  `${info.mapping ? resourceName(info.mapping) : ""} ${JSON.stringify(info.name)}`;
