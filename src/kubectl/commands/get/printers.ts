// The printers of get: every format there is.
import { KubectlError } from "../../errors.ts";
import { goJson } from "../../go/json.ts";
import { columnsFormatPrinter, formatPrinter, noPrinter, type OutputRequest } from "../../printers/output.ts";
import type { ObjectPrinter, PrintableObject } from "../../printers/printer.ts";
import { sortObjects } from "../../printers/sort.ts";
import type { KubeObject } from "../../rest/client.ts";
import type { Session } from "../../session.ts";
import { rowsOf } from "../../table/table.ts";

export interface GetOutputRequest extends OutputRequest {
  readonly "no-headers": boolean;
}

const formats = [
  ...["json", "yaml", "name"],
  ...["go-template", "go-template-file", "template", "templatefile"],
  ...["jsonpath", "jsonpath-as-json", "jsonpath-file"],
  ...["custom-columns", "custom-columns-file", "kyaml", "wide"],
];

/** Throws KubectlError for a format that there is not. */
export function getPrinter(session: Session, request: GetOutputRequest): ObjectPrinter {
  const { cwd } = session.io;
  const printer = formatPrinter(request, cwd) ?? columnsFormatPrinter(request.output, request["no-headers"], cwd);
  if (!printer) throw noPrinter(request.output, formats);
  return printer;
}

type EventPrinter = (type: string, object: PrintableObject, write: (data: string | Uint8Array) => void) => void;

/** What happened to an object, and the object. */
export function eventPrinter(session: Session, request: GetOutputRequest): EventPrinter {
  const printer = getPrinter(session, request);
  return (type, object, write) => {
    // Of events, JSON stands on one line each.
    if (request.output === "json") write(`${goJson({ type, object })}\n`);
    else printer.print({ type, object }, write);
  };
}

/** The table with its rows sorted by their objects. Throws KubectlError. */
export function sortedTable(table: KubeObject, field: string): KubeObject {
  const rows = rowsOf(table);
  const byObject = new Map(rows.map((row) => [row.object, row]));
  const objects = rows.flatMap(({ object }) => (object ? [object] : []));
  if (objects.length < rows.length) throw new KubectlError("sorting error: the server sent rows without objects");
  return { ...table, rows: sortObjects(objects, field).map((object) => byObject.get(object)) };
}
