// What variables of containers are set to (upstream: kubectl/pkg/cmd/set/env).
import { isObject } from "#base/is-object.ts";
import { qualifiedName } from "#schema/formats.ts";
import { resourceValue } from "../../describe/resource-value.ts";
import { KubectlError } from "../../errors.ts";
import { compareText } from "../../go/value.ts";
import { metadataOf, resourcePath, stringIn } from "../../resources/resource-info.ts";
import type { KubeObject } from "../../rest/client.ts";
import type { Session } from "../../session.ts";

/** Where a value comes from, in words. */
export function sourceText(source: KubeObject): string {
  const { configMapKeyRef, secretKeyRef, fieldRef, resourceFieldRef } = source;
  if (isObject(configMapKeyRef)) return `configmap ${configMapKeyRef.name}, key ${configMapKeyRef.key}`;
  if (isObject(secretKeyRef)) return `secret ${secretKeyRef.name}, key ${secretKeyRef.key}`;
  if (isObject(fieldRef)) return `field path ${fieldRef.fieldPath}`;
  if (!isObject(resourceFieldRef)) return "invalid valueFrom";
  const { containerName, resource } = resourceFieldRef;
  return `resource field ${containerName ? `${containerName}/` : ""}${resource}`;
}

/** Finds the values that references come to, and reads each object once. */
export class ValueFinder {
  readonly #session: Session;
  readonly #read = new Map<string, Promise<KubeObject>>();

  constructor(session: Session) {
    this.#session = session;
  }

  /** Throws KubectlError or ApiError for what cannot be found. */
  async valueOf(source: KubeObject, object: KubeObject, container: KubeObject): Promise<string> {
    const { configMapKeyRef, secretKeyRef, fieldRef, resourceFieldRef } = source;
    if (isObject(secretKeyRef)) {
      const text = await this.#keyOf("secrets", "secret", secretKeyRef as KubeObject);
      return Buffer.from(text, "base64").toString("utf8");
    }
    if (isObject(configMapKeyRef)) return this.#keyOf("configmaps", "config map", configMapKeyRef as KubeObject);
    if (isObject(fieldRef)) return fieldText(object, String(fieldRef.fieldPath));
    if (!isObject(resourceFieldRef)) throw new KubectlError("invalid valueFrom");
    const amount = resourceValue(resourceFieldRef, container);
    if (amount === undefined) throw new KubectlError(`Unsupported container resource : ${resourceFieldRef.resource}`);
    return amount;
  }

  async #keyOf(resource: string, kind: string, { name, key }: KubeObject): Promise<string> {
    const mapping = { group: "", version: "v1", resource, isNamespaced: true };
    const path = resourcePath(mapping, await this.#session.namespace(), String(name));
    const reading = this.#read.get(path) ?? (await this.#session.client()).json({ path });
    this.#read.set(path, reading);
    const { data } = await reading;
    if (isObject(data) && Object.hasOwn(data, String(key))) return stringIn(data[String(key)]);
    throw new KubectlError(`key ${key} not found in ${kind} ${name}`);
  }
}

function fieldText(object: KubeObject, path: string): string {
  const { labels, annotations, name, namespace, uid } = metadataOf(object);
  const maps = new Map([
    ["metadata.labels", labels],
    ["metadata.annotations", annotations],
  ]);
  const [, head, key] = /^(.+?)\['(.*)'\]$/s.exec(path) ?? [];
  if (head !== undefined && key !== undefined) {
    if (!maps.has(head)) throw new KubectlError(`fieldPath ${JSON.stringify(path)} does not support subscript`);
    const problems = qualifiedName(head === "metadata.annotations" ? key.toLowerCase() : key);
    if (problems.length > 0) throw new KubectlError(`invalid key subscript in ${path}: ${problems.join(";")}`);
    const map = maps.get(head);
    return isObject(map) && Object.hasOwn(map, key) ? String(map[key]) : "";
  }
  if (maps.has(path))
    return Object.entries((maps.get(path) ?? {}) as Readonly<Record<string, string>>)
      .toSorted(([a], [b]) => compareText(a, b))
      .map(([one, value]) => `${one}=${JSON.stringify(value)}`)
      .join("\n");
  if (path === "metadata.name") return stringIn(name);
  if (path === "metadata.namespace") return stringIn(namespace);
  if (path === "metadata.uid") return stringIn(uid);
  throw new KubectlError(`unsupported fieldPath: ${path}`);
}
