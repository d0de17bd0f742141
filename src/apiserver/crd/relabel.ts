// Conversion without a webhook: an object of one version is one of another by its name alone. What the other version does not know is
// dropped; defaults are those of the version in which an object was written. Follows apiextensions-apiserver/pkg/apiserver/conversion/nop_converter.go.
import { copyJson } from "#schema/apply/value.ts";
import type { AnyKind } from "#schema/kind.ts";

type Json = Readonly<Record<string, unknown>>;

export function relabelled(object: Json, kind: AnyKind): Json {
  const { metadata, ...rest } = object;
  // Metadata is the same in all versions, and most of it is the server's own record of who owns what.
  const copy = { ...(copyJson(rest) as Json), apiVersion: kind.apiVersion, kind: kind.kind, metadata };
  return kind.model.decodeValue(copy).object as Json;
}
