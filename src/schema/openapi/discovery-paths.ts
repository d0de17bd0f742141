// The paths beside those of kinds: what there is, in which version, and who signs tokens.

import type { Model } from "./definitions.ts";
import { idPart, tagOf } from "./names.ts";
import { type ApiOperation, type MetaStructs, mediaTypes, type Paths } from "./operations.ts";

/** Paths that any server has, by the name of the document they are in. */
export function rootDocuments(meta: MetaStructs): ReadonlyMap<string, Paths> {
  return new Map([
    [
      ".well-known/openid-configuration",
      page({
        path: "/.well-known/openid-configuration/",
        id: "getServiceAccountIssuerOpenIDConfiguration",
        tag: "WellKnown",
        description: "Read who issues service account tokens.",
        model: "string",
        types: ["application/json"],
      }),
    ],
    [
      "openid/v1/jwks",
      page({
        path: "/openid/v1/jwks/",
        id: "getServiceAccountIssuerOpenIDKeyset",
        tag: "openid",
        description: "Read the keys that service account tokens are checked with.",
        model: "string",
        types: ["application/jwk-set+json"],
      }),
    ],
    [
      "version",
      page({
        path: "/version/",
        id: "getCodeVersion",
        tag: "version",
        description: "Read the version of this server.",
        model: { struct: meta.VersionInfo },
        types: ["application/json"],
        consumes: ["application/json"],
      }),
    ],
    [
      "api",
      page({
        path: "/api/",
        id: "getCoreAPIVersions",
        tag: "core",
        description: "Read the versions of the core group.",
        model: { struct: meta.APIVersions },
        consumes: mediaTypes,
      }),
    ],
    [
      "apis",
      page({
        path: "/apis/",
        id: "getAPIVersions",
        tag: "apis",
        description: "Read the groups there are.",
        model: { struct: meta.APIGroupList },
        consumes: mediaTypes,
      }),
    ],
  ]);
}

export const groupPaths = (group: string, meta: MetaStructs): Paths =>
  page({
    path: `/apis/${group}/`,
    id: `get${idPart(group)}APIGroup`,
    tag: tagOf(group),
    description: "Read the versions of this group.",
    model: { struct: meta.APIGroup },
    consumes: mediaTypes,
  });

export const resourcesPaths = (group: string, version: string, meta: MetaStructs): Paths =>
  page({
    path: group === "" ? `/api/${version}/` : `/apis/${group}/${version}/`,
    id: `get${idPart(group === "" ? "core" : group)}${idPart(version)}APIResources`,
    tag: tagOf(group, version),
    description: "Read the resources of this version.",
    model: { struct: meta.APIResourceList },
    consumes: mediaTypes,
  });

interface Page {
  readonly path: string;
  readonly id: string;
  readonly tag: string;
  readonly description: string;
  readonly model: Model;
  readonly types?: readonly string[];
  readonly consumes?: readonly string[];
}

function page({ path, id, tag, description, model, types = mediaTypes, consumes = [] }: Page): Paths {
  const operation: ApiOperation = {
    method: "get",
    id,
    tag,
    description,
    parameters: [],
    responses: [[200, "OK", model]],
    consumes,
    produces: types,
  };
  return new Map([[path, [operation]]]);
}
