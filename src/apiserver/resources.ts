// From a request to the resource that serves it: checks the route, and hands it to a verb, a subresource or code.
import type { Soon } from "#base/soon.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiRequest, ApiResponse, RequestVerb, ResourceAddress } from "#wire/api-request.ts";
import { methodNotAllowed, unknownPath } from "#wire/status.ts";
import { checkRoute } from "./routes.ts";
import { isStored, type ServedApis } from "./served/served-apis.ts";
import type { ServedResource, VirtualResource } from "./served-resource.ts";
import { verbs } from "./verbs/verbs.ts";

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

  /** Whether anything at all is served of a group. */
  hasGroup(group: string): boolean {
    return this.#apis.hasGroup(group);
  }

  /** The stored resource at an address. */
  find(group: string, version: string, resource: string): ServedResource | undefined {
    const api = this.#apis.find(group, version, resource);
    return api && isStored(api) ? api : undefined;
  }

  /** Throws ApiError 404 or 405 unless the path is served and takes the verb. */
  check(address: ResourceAddress, verb: RequestVerb | undefined): void {
    const { group, version, resource } = address;
    checkRoute(this.#apis.find(group, version, resource)?.kind, address, verb);
  }

  handle(request: ApiRequest): Soon<ApiResponse> {
    const { group, version, resource, subresource, verb } = request;
    const api = this.#apis.find(group, version, resource);
    checkRoute(api?.kind, request, verb);
    if (!api) throw unknownPath();
    warnOfAge(api.kind, request);
    if (!isStored(api)) return answerByCode(api, request);
    if (subresource === undefined || subresource === "status") return verbs[verb](request, api);
    const handler = api.subresources[subresource];
    if (!handler) throw unknownPath();
    return handler(request, api);
  }
}

function answerByCode({ verbs: handlers }: VirtualResource, request: ApiRequest): Promise<ApiResponse> {
  const handler = handlers[request.verb];
  if (!handler) throw methodNotAllowed();
  return handler(request);
}

function warnOfAge({ deprecated, apiVersion, kind }: AnyKind, { warn }: ApiRequest): void {
  if (!deprecated) return;
  const { since, use } = deprecated;
  warn?.(`${apiVersion} ${kind} is deprecated in ${since}+${use === undefined ? "" : `; use ${use}`}`);
}
