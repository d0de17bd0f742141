// Every struct that is reachable from what we declare.
import { AdmissionReview } from "#api/admission/v1/admission-review.ts";
import { APIGroupDiscoveryList } from "#api/apidiscovery/v2/discovery.ts";
import { catalog } from "#api/catalog.ts";
import { PartialObjectMetadata, PartialObjectMetadataList } from "#api/meta/partial-object-metadata.ts";
import { Table, TableOptions } from "#api/meta/table.ts";
import { metaStructs } from "#api/openapi.ts";
import type { FieldSpec, Type } from "#schema/field.ts";
import { subresourcesOf } from "#schema/kind.ts";
import type { AnyStruct, Fields } from "#schema/struct.ts";

export const fieldsOf = (struct: AnyStruct): readonly (readonly [string, FieldSpec])[] =>
  Object.entries(struct.fields as Fields).map(([name, { spec }]) => [name, spec] as const);

export function reachableStructs(): ReadonlyMap<string, AnyStruct> {
  const found = new Map<string, AnyStruct>();
  const visit = (struct: AnyStruct) => {
    if (found.has(struct.name)) return;
    found.set(struct.name, struct);
    for (const [, spec] of fieldsOf(struct)) {
      visitType(spec.type);
      if (spec.inlined) visit(spec.inlined.struct);
    }
  };
  const visitType = (type: Type): void => {
    if (type.is === "struct") visit(type.struct());
    if (type.is === "list") visitType(type.item);
    if (type.is === "map") visitType(type.value);
    if (type.is === "either") visit(type.either.struct());
  };
  for (const kind of catalog) {
    visit(kind.struct);
    for (const { kind: other, options } of Object.values(subresourcesOf(kind, metaStructs.Scale))) {
      if (other) visit(other().struct);
      if (options) visit(options());
    }
  }
  for (const one of Object.values(metaStructs)) visit("struct" in one ? one.struct : one);
  for (const struct of [PartialObjectMetadata, PartialObjectMetadataList, Table, TableOptions, APIGroupDiscoveryList])
    visit(struct);
  visit("struct" in AdmissionReview ? (AdmissionReview.struct as AnyStruct) : AdmissionReview);
  return found;
}
