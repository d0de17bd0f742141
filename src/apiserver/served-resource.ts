import { type Soon, soon } from "#base/soon.ts";
import type { AnyKind } from "#schema/kind.ts";
import type { ApiRequest, ApiResponse, EncodedObject, RequestVerb } from "#wire/api-request.ts";
import type { Registry } from "./registry/registry.ts";
import { inVersion } from "./versions.ts";

/** A resource in one version. */
export interface ServedResource {
  readonly kind: AnyKind;
  readonly registry: Registry;
  /** All served versions of the kind, this one included. */
  readonly versions: readonly AnyKind[];
  /** Subresources with code of their own, by name. */
  readonly subresources: Readonly<Record<string, SubresourceHandler>>;
}

/** Answers every verb of a subresource. */
export type SubresourceHandler = (request: ApiRequest, served: ServedResource) => Soon<ApiResponse>;

/** A resource of which nothing is stored: each request is answered by code. */
export interface VirtualResource {
  readonly kind: AnyKind;
  readonly verbs: Readonly<Partial<Record<RequestVerb, VirtualHandler>>>;
}

export type VirtualHandler = (request: ApiRequest) => Promise<ApiResponse>;

/** A stored object in the version that was asked for. */
export const answer = (
  code: number,
  { kind }: ServedResource,
  stored: EncodedObject,
  warnings: readonly string[] = [],
): Soon<ApiResponse> =>
  soon(inVersion(kind, stored), (shown) => ({ type: "object", code, kind, stored: shown, warnings }));
