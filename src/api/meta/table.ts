import { type Infer, int32, list, rawExtension, ref, string, struct, typeMeta } from "#schema/index.ts";
import { ListMeta } from "#schema/object-meta.ts";

export const TableColumnDefinition = struct("meta/v1.TableColumnDefinition", {
  name: string(0).required(),
  type: string(0).required(),
  format: string(0).required(),
  description: string(0).required(),
  priority: int32(0).required(),
});
export interface TableColumnDefinition extends Infer<typeof TableColumnDefinition> {}

export const TableRowCondition = struct("meta/v1.TableRowCondition", {
  type: string(0).required(),
  status: string(0).required(),
  reason: string(0),
  message: string(0),
});
export interface TableRowCondition extends Infer<typeof TableRowCondition> {}

export const TableRow = struct("meta/v1.TableRow", {
  cells: list(0, "json").required(),
  conditions: list(0, TableRowCondition),
  object: rawExtension(0),
});
export interface TableRow extends Infer<typeof TableRow> {}

export const Table = struct("meta/v1.Table", {
  ...typeMeta,
  metadata: ref(0, ListMeta).default({}),
  columnDefinitions: list(0, TableColumnDefinition).required(),
  rows: list(0, TableRow).required(),
});
export interface Table extends Infer<typeof Table> {}

export const TableOptions = struct("meta/v1.TableOptions", {
  ...typeMeta,
  includeObject: string(1),
});
export interface TableOptions extends Infer<typeof TableOptions> {}
