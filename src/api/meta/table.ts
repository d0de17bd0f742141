import { type Infer, int32, list, rawExtension, ref, string, struct, typeMeta } from "#schema/index.ts";
import { ListMeta } from "#schema/object-meta.ts";

export const TableColumnDefinition = struct(
  "meta/v1.TableColumnDefinition",
  {
    name: string(0, "The heading.").required(),
    type: string(0, "Type of the cells: string, integer, number, boolean or date.").required(),
    format: string(0, "More about the type; name marks the column with the name of the object.").required(),
    description: string(0, "What the column shows.").required(),
    priority: int32(0, "0 for what is always shown; larger for what is shown in wide tables.").required(),
  },
  { doc: "A column of a table." },
);
export interface TableColumnDefinition extends Infer<typeof TableColumnDefinition> {}

export const TableRowCondition = struct(
  "meta/v1.TableRowCondition",
  {
    type: string(0, "What it is about; Completed is the only one.").required(),
    status: string(0, "Whether it holds: True, False or Unknown.").required(),
    reason: string(0, "Why, in one word."),
    message: string(0, "Why, in words."),
  },
  { doc: "Something to know about a row." },
);
export interface TableRowCondition extends Infer<typeof TableRowCondition> {}

export const TableRow = struct(
  "meta/v1.TableRow",
  {
    cells: list(0, "json", "One value for each column.").required(),
    conditions: list(0, TableRowCondition, "What to know about the row."),
    object: rawExtension(0, "The object, or its metadata, as was asked."),
  },
  { doc: "One object of a table." },
);
export interface TableRow extends Infer<typeof TableRow> {}

export const Table = struct(
  "meta/v1.Table",
  {
    ...typeMeta,
    metadata: ref(0, ListMeta, "The revision, and how to continue.").default({}),
    columnDefinitions: list(0, TableColumnDefinition, "The columns; in a watch only of the first table.").required(),
    rows: list(0, TableRow, "The objects.").required().keepsEmpty(),
  },
  { doc: "Objects as rows, for display." },
);
export interface Table extends Infer<typeof Table> {}

export const TableOptions = struct(
  "meta/v1.TableOptions",
  {
    ...typeMeta,
    includeObject: string(1, "What of each object comes with its row: None, Metadata or Object."),
  },
  { doc: "How to make a table." },
);
export interface TableOptions extends Infer<typeof TableOptions> {}
