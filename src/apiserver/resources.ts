// Looks up the resource that is served at a path.
import type { AnyKind } from "#schema/kind.ts";
import type { RequestVerb, ResourceAddress } from "#wire/api-request.ts";
import { checkRoute } from "./routes.ts";
import { isStored, type ServedApi, type ServedApis } from "./served/served-apis.ts";
import type { ServedResource } from "./served-resource.ts";

export class Resources {
  readonly #apis: ServedApis;

  constructor(apis: ServedApis) {
    this.#apis = apis;
  }

  /** The kind that is served there; undefined if there is no such resource, or no such subresource of it. */
  kindAt({ group, version, resource, subresource }: ResourceAddress): AnyKind | undefined {
    const kind = this.#apis.find(group, version, resource)?.kind;
    return subresource === undefined || Object.hasOwn(kind?.subresources ?? {}, subresource) ? kind : undefined;
  }

  /** Whether anything that is built in is served of a group. */
  hasGroup(group: string): boolean {
    return this.#apis.hasGroup(group);
  }

  /** What is served at an address. */
  at({ group, version, resource }: ResourceAddress): ServedApi | undefined {
    return this.#apis.find(group, version, resource);
  }

  /** Whether a path is answered with a plain 404: its group is unknown, or a custom resource is asked for outside of its own scope. */
  isUnknown(address: ResourceAddress, verb: RequestVerb | undefined): boolean {
    const { group, version, resource, namespace } = address;
    const kind = this.#apis.find(group, version, resource)?.kind;
    if (!kind) return !this.hasGroup(group);
    if (!kind.model.publication.isUnstructured) return false;
    const isInside = namespace !== undefined;
    return kind.scope === "Cluster" ? isInside : !isInside && verb !== "list" && verb !== "watch";
  }

  /** The stored resource at an address. */
  find(group: string, version: string, resource: string): ServedResource | undefined {
    const api = this.#apis.find(group, version, resource);
    return api && isStored(api) ? api : undefined;
  }

  /** Throws ApiError 404 or 405 unless the path is served and takes the verb. */
  check(address: ResourceAddress, verb: RequestVerb | undefined): void {
    checkRoute(this.at(address)?.kind, address, verb);
  }
}
