// The columns of tables of custom resources. Follows apiextensions-apiserver/pkg/registry/customresource/tableconvertor.
import type { CustomResourceColumnDefinition } from "#api/apiextensions/v1/custom-resource-definition.ts";
import { age, defaultColumns, nameColumn } from "#schema/columns.ts";
import { JsonPath, JsonPathError, printed } from "#schema/json-path.ts";
import type { AnyKind } from "#schema/kind.ts";
import { parseTime, TimeError } from "#schema/time.ts";

type AnyColumn = NonNullable<AnyKind["columns"]>[number];

/** The name, and what the definition adds; the age if it adds nothing. */
export function columnsOf(added: readonly CustomResourceColumnDefinition[] | undefined): readonly AnyColumn[] {
  return added === undefined || added.length === 0 ? [nameColumn, ageColumn] : [nameColumn, ...added.map(column)];
}

const ageColumn = column({
  name: "Age",
  type: "date",
  description: defaultColumns[1]?.doc,
  jsonPath: ".metadata.creationTimestamp",
});

type ColumnRules = Omit<CustomResourceColumnDefinition, "description"> & { readonly description?: string | undefined };

function column({ name, type, format, description, priority, jsonPath }: ColumnRules): AnyColumn {
  const path = new JsonPath(`{${jsonPath}}`, { allowMissing: true });
  return {
    name,
    type: type as "string",
    ...(format && { format }),
    doc: description || `Custom resource definition column (in JSONPath format): ${jsonPath}`,
    ...(priority && { priority }),
    cell: (object, now) => cellOf(path, type, object, now),
  };
}

/** Null where there is nothing, or nothing of the column's type. */
function cellOf(path: JsonPath, type: string, object: unknown, now: number): unknown {
  const value = firstOf(path, object);
  if (value === undefined) return null;
  if (type === "string") return printed(value);
  switch (type) {
    case "integer":
      return typeof value === "bigint" ? value : typeof value === "number" ? Math.trunc(value) : null;
    case "number":
      return typeof value === "number" || typeof value === "bigint" ? value : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
    case "date":
      return typeof value === "string" ? ageOf(value, now) : null;
    default:
      return null;
  }
}

/** The first value that a path finds; undefined also where the object is not what the path expects. */
export function firstOf(path: JsonPath, object: unknown): unknown {
  try {
    return path.find(object)[0]?.[0];
  } catch (error) {
    if (!(error instanceof JsonPathError)) throw error;
    return undefined; // the cell is empty: a list is shown all the same
  }
}

function ageOf(text: string, now: number): string {
  if (text === "" || text === "null") return "<unknown>";
  try {
    parseTime(text);
  } catch (error) {
    if (!(error instanceof TimeError)) throw error;
    return "<invalid>";
  }
  return age(text, now);
}
