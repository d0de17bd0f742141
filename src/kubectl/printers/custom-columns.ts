// -o custom-columns (upstream: kubectl/pkg/cmd/get/customcolumn.go).
import type { JsonPath } from "#schema/json-path.ts";
import { KubectlError } from "../errors.ts";
import { sprint } from "../go/format.ts";
import type { GoValue } from "../go/value.ts";
import { TabWriter, tableColumns } from "../tab-writer.ts";
import { parseJsonPath, relaxedJsonPath } from "./json-path.ts";
import { escapeTerminal, itemsOf, type ObjectPrinter, type PrintableObject } from "./printer.ts";

interface CustomColumn {
  readonly header: string;
  readonly path: JsonPath;
}

/** Of `NAME:.metadata.name,IMAGE:.spec.image`. Throws KubectlError. */
export function customColumnsPrinter(spec: string, noHeaders: boolean): ObjectPrinter {
  if (spec === "") throw new KubectlError("custom-columns format specified but no custom columns given");
  const columns = spec.split(",").map((part) => {
    const at = part.indexOf(":");
    if (at < 0) throw new KubectlError(`unexpected custom-columns spec: ${part}, expected <header>:<json-path-expr>`);
    return column(part.slice(0, at), part.slice(at + 1));
  });
  return columnsPrinter(columns, noHeaders);
}

/** Of a file with a line of headers and a line of paths. Throws KubectlError. */
export function customColumnsFilePrinter(text: string, noHeaders: boolean): ObjectPrinter {
  const expected = "Expected format is one line of space separated headers, one line of space separated column specs.";
  const [headerLine = "", specLine] = text.split(/\r?\n/);
  if (text === "") throw new KubectlError(`invalid template, missing header line. ${expected}`);
  if (specLine === undefined || (specLine === "" && text.trimEnd() === headerLine))
    throw new KubectlError(`invalid template, missing spec line. ${expected}`);
  const words = (line: string) => line.split(/\s+/).filter((word) => word !== "");
  const headers = words(headerLine);
  const specs = words(specLine);
  if (headers.length !== specs.length)
    throw new KubectlError(
      `number of headers (${headers.length}) and field specifications (${specs.length}) don't match`,
    );
  return columnsPrinter(
    headers.map((header, i) => column(header, specs[i] ?? "")),
    noHeaders,
  );
}

const column = (header: string, spec: string): CustomColumn => ({
  header,
  path: parseJsonPath(relaxedJsonPath(spec), true),
});

function columnsPrinter(columns: readonly CustomColumn[], noHeaders: boolean): ObjectPrinter {
  let needsHeader = !noHeaders;
  return {
    print: (object, write) => {
      const table = new TabWriter(write, tableColumns);
      if (needsHeader) table.write(`${columns.map(({ header }) => header).join("\t")}\n`);
      needsHeader = false;
      for (const item of itemsOf(object)) table.write(`${columns.map(({ path }) => cell(path, item)).join("\t")}\n`);
      table.flush();
    },
  };
}

function cell(path: JsonPath, object: PrintableObject): string {
  const results = path.find(object);
  const texts = results.flat().map((value) => escapeTerminal(sprint([value as GoValue])));
  return (results[0]?.length ?? 0) === 0 ? ["<none>", ...texts].join(",") : texts.join(",");
}
