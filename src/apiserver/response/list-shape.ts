// A list in the requested shape (objects, table or metadata): what surrounds its items, and how each item is converted.
import { PartialObjectMetadataList } from "#api/meta/partial-object-metadata.ts";
import { Table } from "#api/meta/table.ts";
import type { ApiObject } from "#schema/object.ts";
import { listStruct } from "#schema/protobuf/list.ts";
import { partialObjectMetadata, partialObjectMetadataList, tableOfList, tableRow } from "#schema/table.ts";
import type { ListPage } from "#wire/api-request.ts";
import type { TypedSubject } from "#wire/codec.ts";
import { noSuchForm } from "#wire/status.ts";
import { internalListType } from "../foreign-kind.ts";
import type { ResponseForm } from "./form.ts";

export interface ListShape {
  readonly named: TypedSubject;
  /** The whole list, if it has no items. */
  readonly empty: object;
  /** Where the items stand. */
  readonly field: "items" | "rows";
  item(object: ApiObject): object;
}

/** Throws ApiError 406 if a list has no such shape. */
export function listShape(
  page: ListPage,
  { as, metaVersion, includeObject, isOfLists }: ResponseForm,
  now: number,
): ListShape {
  const { kind } = page;
  if (isOfLists === false)
    throw noSuchForm(
      `you requested PartialObjectMetadata, but the requested object is a list (*${internalListType(kind)})`,
    );
  const empty = { metadata: listMetadata(page), items: [] };
  switch (as) {
    case "object":
      return {
        named: { apiVersion: kind.apiVersion, kind: kind.listKind, struct: listStruct(kind) },
        empty: { ...empty, metadata: objectListMetadata(page) },
        field: "items",
        item: kind.model.publication.isUnstructured ? (object) => object : unnamed,
      };
    case "metadata":
      return {
        named: { apiVersion: metaVersion, kind: "PartialObjectMetadataList", struct: PartialObjectMetadataList },
        empty: partialObjectMetadataList(empty, metaVersion),
        field: "items",
        item: (object) => partialObjectMetadata(object, metaVersion),
      };
    case "table": {
      const options = { apiVersion: metaVersion, includeObject, now };
      return {
        named: tableNamed(metaVersion),
        empty: tableOfList(kind, empty, options),
        field: "rows",
        item: (object) => tableRow(kind, object, options),
      };
    }
  }
}

export const tableNamed = (apiVersion: string): TypedSubject => ({ apiVersion, kind: "Table", struct: Table });

/** The items of a list are what the list says they are; none says so itself. */
const unnamed = ({ apiVersion: _apiVersion, kind: _kind, ...rest }: ApiObject): object => rest;

/** Of a list of objects as they are: upstream's lists of maps always say where they go on, also if it is nowhere. */
export const objectListMetadata = (page: ListPage) => ({
  ...(page.kind.model.publication.isUnstructured && { continue: "" }),
  ...listMetadata(page),
});

export const listMetadata = ({ resourceVersion, continue: next, remainingItemCount }: ListPage) => ({
  resourceVersion,
  ...(next !== undefined && { continue: next }),
  ...(remainingItemCount !== undefined && { remainingItemCount }),
});
