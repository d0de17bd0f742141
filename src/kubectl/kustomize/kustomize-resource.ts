// One object of a kustomization, with the names it had before.
import { catalog } from "#api/catalog.ts";
import { isObject } from "#base/is-object.ts";
import { metadataOf, stringIn } from "../resources/resource-info.ts";
import type { KubeObject } from "../rest/client.ts";
import type { KustomizeField } from "./field-specs.ts";

/** What others may call an object. */
export interface ObjectId {
  readonly name: string;
  readonly namespace: string;
}

export class KustomizeResource {
  object: KubeObject;
  /** The names it had, oldest first. */
  readonly previous: ObjectId[] = [];
  /** Prefixes and suffixes it was given, innermost first. */
  readonly affixes: string[] = [];
  /** Whether a hash of what it holds is added to its name. */
  needsHash = false;

  constructor(object: KubeObject) {
    this.object = object;
  }

  get kind(): string {
    return stringIn(this.object.kind);
  }

  get group(): string {
    const apiVersion = stringIn(this.object.apiVersion);
    return apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
  }

  get version(): string {
    const apiVersion = stringIn(this.object.apiVersion);
    return apiVersion.slice(apiVersion.indexOf("/") + 1);
  }

  get name(): string {
    return stringIn(metadataOf(this.object).name);
  }

  get namespace(): string {
    return stringIn(metadataOf(this.object).namespace);
  }

  /** What it was called first. */
  get origin(): ObjectId {
    return this.previous[0] ?? this;
  }

  /** All it is or was called. */
  get ids(): readonly ObjectId[] {
    return [...this.previous, this];
  }

  /** Kinds that nobody knows count as being in namespaces. */
  get isClusterScoped(): boolean {
    const known = catalog.find(({ kind, group }) => kind === this.kind && group === this.group);
    return known?.scope === "Cluster";
  }

  /** Gives it another name or namespace, and remembers the one before. */
  rename(metadata: { readonly name?: string; readonly namespace?: string }): void {
    this.previous.push({ name: this.name, namespace: this.namespace });
    this.object = { ...this.object, metadata: { ...metadataOf(this.object), ...metadata } };
  }

  /** `apps_v1_Deployment|ns|name`, as errors name objects. */
  get label(): string {
    const { name, namespace } = this.origin;
    return `${this.kind}.${this.version}.${this.group || "[noGrp]"}/${name}.${namespace || "[noNs]"}`;
  }

  isMeantBy({ kinds, group }: KustomizeField): boolean {
    return (kinds === undefined || kinds.includes(this.kind)) && (group === undefined || group === this.group);
  }
}

/** Changes what is at a path; what is missing on the way is made if asked for. A change to undefined leaves things as they are. */
export function changeAt(
  value: unknown,
  path: readonly string[],
  create: boolean,
  change: (value: unknown, parent: Readonly<Record<string, unknown>>) => unknown,
): unknown {
  if (Array.isArray(value)) return value.map((item) => changeAt(item, path, create, change));
  const [key, ...rest] = path;
  if (key === undefined || !isObject(value)) return value;
  const present = Object.hasOwn(value, key) ? value[key] : undefined;
  if ((present === undefined || present === null) && !create) return value;
  const changed =
    rest.length === 0
      ? Array.isArray(present)
        ? present.map((item) => change(item, value) ?? item)
        : change(present, value)
      : changeAt(present ?? {}, rest, create, change);
  return changed === undefined ? value : { ...value, [key]: changed };
}

/** A slash after a backslash is part of a name. */
export const pathOf = (text: string): readonly string[] =>
  text.split(/(?<!\\)\//).map((part) => part.replaceAll("\\/", "/"));
