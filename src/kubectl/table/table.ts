// Tables as servers make them, with the columns that kubectl adds (upstream: cli-runtime/pkg/printers/tableprinter.go).
import { humanDuration } from "#base/duration.ts";
import { isObject } from "#base/is-object.ts";
import type { RestMapping } from "../discovery/rest-mapper.ts";
import { metadataOf, stringIn } from "../resources/resource-info.ts";
import type { KubeObject } from "../rest/client.ts";
import type { TabWriter } from "../tab-writer.ts";

export interface TableColumnsOptions {
  readonly isWide: boolean;
  readonly isHeadless: boolean;
  readonly withNamespace: boolean;
  /** Names are printed as `kind.group/name` of this resource. */
  readonly kindOf?: RestMapping | undefined;
  readonly labelColumns: readonly string[];
  readonly showLabels: boolean;
}

interface ColumnDefinition {
  readonly name: string;
  readonly type?: string;
  readonly format?: string;
  readonly priority?: number;
}

interface TableRow {
  readonly cells: readonly unknown[];
  readonly object: KubeObject | undefined;
}

/** What asks a server for a table, and for the object itself from those that make none. */
export const acceptTable = [
  ...["v1", "v1beta1"].map((version) => `application/json;as=Table;v=${version};g=meta.k8s.io`),
  "application/json",
].join(",");

export const isTable = ({ kind, apiVersion }: Readonly<KubeObject>): boolean =>
  kind === "Table" && stringIn(apiVersion).startsWith("meta.k8s.io/");

/** The rows of a table with the objects they tell of. */
export const rowsOf = (table: Readonly<KubeObject>): readonly TableRow[] =>
  (Array.isArray(table.rows) ? table.rows : []).filter(isObject).map(({ cells, object }) => ({
    cells: Array.isArray(cells) ? cells : [],
    object: isObject(object) ? (object as KubeObject) : undefined,
  }));

/** A column that a server lies about keeps its place, so that cells stay in theirs. */
const columnsOf = (table: Readonly<KubeObject>): readonly ColumnDefinition[] =>
  (Array.isArray(table.columnDefinitions) ? table.columnDefinitions : []).map((column: unknown) =>
    isObject(column) && typeof column.name === "string" ? (column as unknown as ColumnDefinition) : { name: "" },
  );

const eventNames: Readonly<Record<string, string>> = {
  ADDED: "ADDED   ",
  MODIFIED: "MODIFIED",
  DELETED: "DELETED ",
  BOOKMARK: "BOOKMARK",
  ERROR: "ERROR   ",
};

/** Prints tables one after another; those with the columns of the last one go on with it. */
export class TablePrinter {
  readonly #options: TableColumnsOptions;
  readonly #now: () => number;
  #columns: readonly ColumnDefinition[] = [];
  #hasHeaders = false;

  constructor(options: TableColumnsOptions, now: () => number) {
    this.#options = options;
    this.#now = now;
  }

  /** An object of a server that makes no tables becomes a row with its name and age. */
  print(object: Readonly<KubeObject>, writer: TabWriter, eventType = ""): void {
    const isServed = isTable(object);
    const given = isServed ? columnsOf(object) : plainColumns;
    const rows = isServed ? rowsOf(object) : [this.#plainRow(object)];
    const isSame = given.length === 0 || JSON.stringify(given) === JSON.stringify(this.#columns);
    let isHeadless = this.#options.isHeadless;
    if (this.#hasHeaders && isSame) isHeadless = true;
    if (!isSame) {
      this.#columns = given;
      this.#hasHeaders = false;
    }
    if (rows.length > 0) this.#hasHeaders = true;
    const decorated = this.#decorate(this.#columns, rows, eventType);
    this.#write(decorated.columns, decorated.rows, isHeadless, writer);
  }

  #plainRow(object: Readonly<KubeObject>): TableRow {
    const { name, creationTimestamp } = metadataOf(object);
    const created = Date.parse(stringIn(creationTimestamp));
    const age = Number.isNaN(created) ? "<unknown>" : humanDuration(this.#now() - created);
    return { cells: [stringIn(name), age], object };
  }

  #decorate(columns: readonly ColumnDefinition[], rows: readonly TableRow[], eventType: string) {
    const { withNamespace, labelColumns, showLabels, kindOf } = this.#options;
    const nameColumn = kindOf ? columns.findIndex(({ format, type }) => format === "name" && type === "string") : -1;
    const prefix = kindOf && `${kindOf.kind}${kindOf.group === "" ? "" : `.${kindOf.group}`}`.toLowerCase();
    const named = (name: string): ColumnDefinition => ({ name, type: "string" });
    return {
      columns: [
        ...(eventType === "" ? [] : [named("Event")]),
        ...(withNamespace ? [named("Namespace")] : []),
        ...columns,
        ...labelColumns.map((label) => named(label.slice(label.lastIndexOf("/") + 1))),
        ...(showLabels ? [named("Labels")] : []),
      ],
      rows: rows.map(({ cells, object }) => {
        const { namespace, labels } = metadataOf(object);
        const own: Readonly<Record<string, unknown>> = isObject(labels) ? labels : {};
        return [
          ...(eventType === "" ? [] : [eventNames[eventType] ?? eventType]),
          ...(withNamespace ? [stringIn(namespace)] : []),
          ...cells.map((cell, i) => (i === nameColumn ? `${prefix}/${cell}` : cell)),
          ...labelColumns.map((label) => (Object.hasOwn(own, label) ? own[label] : "")),
          ...(showLabels ? [formatLabels(own)] : []),
        ];
      }),
    };
  }

  #write(
    columns: readonly ColumnDefinition[],
    rows: readonly (readonly unknown[])[],
    isHeadless: boolean,
    writer: TabWriter,
  ): void {
    if (rows.length === 0) return;
    const isShown = ({ priority = 0 }: ColumnDefinition) => this.#options.isWide || priority === 0;
    if (!isHeadless)
      writer.write(
        `${columns
          .filter(isShown)
          .map(({ name }) => name.toUpperCase())
          .join("\t")}\n`,
      );
    for (const row of rows) {
      const cells = row.filter((_, i) => columns[i] !== undefined && isShown(columns[i]));
      writer.write(`${cells.map(cellText).join("\t")}\n`);
    }
  }
}

const plainColumns: readonly ColumnDefinition[] = [
  { name: "Name", type: "string", format: "name" },
  { name: "Age", type: "string" },
];

/** One line, without what a terminal would obey. */
export function cellText(cell: unknown): string {
  if (cell === null || cell === undefined) return "";
  const text = typeof cell === "string" ? cell : typeof cell === "object" ? JSON.stringify(cell) : String(cell);
  const end = text.search(/[\f\n\r]/);
  return end < 0 ? escaped(text) : `${escaped(text.slice(0, end))}...`;
}

const escaped = (text: string): string => text.replaceAll("\u001b", "^[");

export function formatLabels(labels: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  return parts.length === 0 ? "<none>" : parts.sort().join(",");
}
