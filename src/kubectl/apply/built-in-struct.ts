// How lists of the built-in kinds are merged. A kind that is not among them has no strategic patches, here as upstream.
import { catalog } from "#api/catalog.ts";
import type { AnyStruct } from "#schema/struct.ts";
import type { KubeObject } from "../rest/client.ts";

export const builtInStruct = ({ apiVersion, kind }: KubeObject): AnyStruct | undefined =>
  catalog.find((known) => known.kind === kind && known.apiVersion === apiVersion)?.struct;
