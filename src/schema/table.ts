// Objects as clients see them who want less than the whole: as rows of a table, or as metadata alone.
import { ApiError } from "#base/errors.ts";
import { defaultColumns } from "./columns.ts";
import type { AnyKind, Column, RowCondition } from "./kind.ts";
import { invalid, problemText } from "./problem.ts";
import { asWritten } from "./written.ts";

type Json = Readonly<Record<string, unknown>>;
/** An object of any kind, as far as this file reads it. */
type SomeObject = Json & { readonly metadata: Json };

export type MetaVersion = "meta.k8s.io/v1" | "meta.k8s.io/v1beta1";

export interface TableOptions {
  /** What of each object comes along with its row; defaults to Metadata. */
  readonly includeObject?: IncludeObject;
  /** Which version of Table the client asked for; defaults to v1. */
  readonly apiVersion?: MetaVersion;
  /** In a watch only the first table carries column definitions. */
  readonly headers?: boolean;
  /** The object is a watch's bookmark: it has metadata and nothing else, so there is nothing to read cells from. */
  readonly bookmark?: boolean;
  /** In milliseconds; ages are counted from it. */
  readonly now: number;
}

const includes = ["None", "Metadata", "Object"] as const;
export type IncludeObject = (typeof includes)[number];

export interface ColumnDefinition {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  readonly priority: number;
}

export interface TableRow {
  readonly cells: readonly unknown[];
  readonly conditions?: readonly RowCondition[];
  readonly object: Json | null;
}

export interface Table {
  readonly kind: "Table";
  readonly apiVersion: MetaVersion;
  readonly metadata: Json;
  readonly columnDefinitions: readonly ColumnDefinition[];
  readonly rows: readonly TableRow[];
}

export interface ObjectList {
  readonly metadata: Json;
  readonly items: readonly SomeObject[];
}

export function tableOfList(kind: AnyKind, list: ObjectList, options: TableOptions): Table {
  const { resourceVersion, continue: next, remainingItemCount } = list.metadata;
  const metadata = {
    ...(resourceVersion !== undefined && { resourceVersion }),
    ...(next !== undefined && { continue: next }),
    ...(remainingItemCount !== undefined && { remainingItemCount }),
  };
  return table(kind, metadata, list.items, options);
}

export function tableOfObject(kind: AnyKind, object: SomeObject, options: TableOptions): Table {
  const { resourceVersion } = object.metadata;
  return table(kind, resourceVersion === undefined ? {} : { resourceVersion }, [object], options);
}

/** The `includeObject` of a query, or the refusal of one that does not exist. */
export function parseIncludeObject(text: string | undefined): IncludeObject {
  if (text === undefined || text === "") return "Metadata";
  const known = includes.find((one) => one === text);
  if (known) return known;
  const problem = invalid("includeObject", "must be 'Metadata', 'Object', 'None', or empty", text);
  throw new ApiError({
    code: 400,
    reason: "BadRequest",
    message: `Unable to convert to Table as requested: ${problemText(problem)}`,
  });
}

export const partialObjectMetadata = (object: SomeObject, apiVersion: MetaVersion = "meta.k8s.io/v1"): Json => ({
  kind: "PartialObjectMetadata",
  apiVersion,
  metadata: object.metadata,
});

export const partialObjectMetadataList = (list: ObjectList, apiVersion: MetaVersion = "meta.k8s.io/v1"): Json => ({
  kind: "PartialObjectMetadataList",
  apiVersion,
  metadata: list.metadata,
  // Go's slice of them is nil until the first is appended.
  items: list.items.length === 0 ? null : list.items.map((item) => partialObjectMetadata(item, apiVersion)),
});

export const columnsOf = (kind: AnyKind): readonly Column<any>[] => kind.columns ?? defaultColumns;

export const columnDefinition = ({ name, type, format, doc, wide, priority }: Column<any>): ColumnDefinition => ({
  name,
  type: type ?? "string",
  format: format ?? "",
  description: doc ?? "",
  priority: priority ?? (wide ? 1 : 0),
});

function table(kind: AnyKind, metadata: Json, objects: readonly SomeObject[], options: TableOptions): Table {
  return {
    kind: "Table",
    apiVersion: options.apiVersion ?? "meta.k8s.io/v1",
    metadata,
    columnDefinitions: options.headers === false ? [] : columnsOf(kind).map(columnDefinition),
    rows: objects.map((object) => tableRow(kind, object, options)),
  };
}

export function tableRow(kind: AnyKind, object: SomeObject, options: TableOptions): TableRow {
  const columns = columnsOf(kind);
  const conditions = options.bookmark ? [] : (kind.rowConditions?.(object) ?? []);
  return {
    cells: options.bookmark ? columns.map(() => null) : columns.map((column) => cellOf(column, object, options.now)),
    ...(conditions.length > 0 && { conditions }),
    object: included(kind, object, options.apiVersion ?? "meta.k8s.io/v1", options),
  };
}

const zeros: Readonly<Record<string, unknown>> = { integer: 0, number: 0, boolean: false };

function cellOf(column: Column<any>, object: SomeObject, now: number): unknown {
  const value = column.cell(object, now);
  return value === undefined ? (zeros[column.type ?? "string"] ?? "") : value;
}

/** A bookmark that ends the initial events is recognised by its annotation, so it keeps its metadata whatever was asked. */
function included(kind: AnyKind, object: SomeObject, apiVersion: MetaVersion, options: TableOptions): Json | null {
  switch (options.includeObject) {
    case "Object":
      return { kind: kind.kind, apiVersion: kind.apiVersion, ...asWritten(kind, object) };
    case "None":
      return endsInitialEvents(object) ? partialObjectMetadata(object, apiVersion) : null;
    default:
      return partialObjectMetadata(object, apiVersion);
  }
}

const endsInitialEvents = ({ metadata }: SomeObject): boolean =>
  (metadata.annotations as Json | undefined)?.["k8s.io/initial-events-end"] === "true";
