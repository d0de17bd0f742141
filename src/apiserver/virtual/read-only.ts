// Resources whose objects are made when they are asked for, and that can only be read.
// Upstream: staging/src/k8s.io/apiserver/pkg/registry/rest/rest.go.
import type { AnyKind } from "#schema/kind.ts";
import type { ApiObject } from "#schema/object.ts";
import { encodeObject } from "#wire/json.ts";
import { notFound } from "#wire/status.ts";
import { parseListOptions } from "../registry/options.ts";
import type { VirtualResource } from "../served-resource.ts";

export interface ReadOnlyObjects {
  get(namespace: string | undefined, name: string): ApiObject | undefined;
  /** Of a namespace, or of all. */
  list(namespace: string | undefined): readonly ApiObject[];
}

export const readOnlyResource = (kind: AnyKind, objects: ReadOnlyObjects): VirtualResource => ({
  kind,
  verbs: {
    get: async ({ namespace, name = "" }) => {
      const { group } = kind;
      const object = objects.get(namespace, name);
      if (!object)
        throw notFound({ group, resource: kind.kind.toLowerCase() }, namespace ? `${namespace}/${name}` : name);
      return { type: "plain", code: 200, kind, object };
    },
    list: async (request) => {
      const { wants } = parseListOptions(kind, request);
      const items = objects
        .list(request.namespace)
        .filter((object) => !wants || wants(object))
        .map((object) => ({ object, json: encodeObject(object, object) }));
      return { type: "list", page: { kind, resourceVersion: "", items } };
    },
  },
});
