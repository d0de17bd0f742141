// Which printer `-o` means (upstream: cli-runtime/pkg/genericclioptions/print_flags.go and its neighbours).
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { hasCode } from "#base/errors.ts";
import { KubectlError } from "../errors.ts";
import type { FlagDeclarations } from "../flags.ts";
import { customColumnsFilePrinter, customColumnsPrinter } from "./custom-columns.ts";
import { jsonPathPrinter } from "./json-path.ts";
import { kyamlPrinter } from "./kyaml.ts";
import { namePrinter } from "./name.ts";
import type { ObjectPrinter } from "./printer.ts";
import { jsonPrinter, withoutManagedFields, yamlPrinter } from "./structured.ts";
import { templatePrinter } from "./template.ts";

/** The flags of commands that print the objects they wrote. */
export const printFlags = {
  "allow-missing-template-keys": {
    type: "bool",
    default: true,
    help: "Ignore errors in templates when a field or map key is missing.",
  },
  output: {
    type: "string",
    short: "o",
    help: "Output format: json, yaml, kyaml, name, go-template, go-template-file, template, templatefile, jsonpath, jsonpath-as-json or jsonpath-file.",
  },
  "show-managed-fields": { type: "bool", help: "Keep the managed fields when printing JSON or YAML." },
  template: { type: "string", help: "Template, or file of one, for -o go-template and -o go-template-file." },
} as const satisfies FlagDeclarations;

export interface OutputRequest {
  /** What `-o` says; empty if nothing. */
  readonly output: string;
  readonly template: string;
  readonly "show-managed-fields": boolean;
  readonly "allow-missing-template-keys": boolean;
}

export interface OutputOptions {
  /** What the line says that is printed without `-o`: `created`. */
  readonly operation: string;
  /** Files of templates are relative to this. */
  readonly cwd: string;
}

const structuredFormats = ["json", "yaml", "kyaml"];
const pathFormats = ["jsonpath", "jsonpath-as-json", "jsonpath-file"];
const templateFormats = ["go-template", "go-template-file", "template", "templatefile"];
const columnFormats = ["custom-columns", "custom-columns-file"];

/** The printer of a command that says what it did. Throws KubectlError. */
export function outputPrinter(request: OutputRequest, { operation, cwd }: OutputOptions): ObjectPrinter {
  if (request.output === "" && request.template === "") return namePrinter(operation);
  const printer = formatPrinter(request, cwd);
  if (printer) return printer;
  throw noPrinter(request.output, ["name", ...structuredFormats, ...pathFormats, ...templateFormats]);
}

/** The printer of a format that every printing command has; undefined for another one. Throws KubectlError. */
export function formatPrinter(request: OutputRequest, cwd: string): ObjectPrinter | undefined {
  const { output, template } = request;
  const format = output === "" && template !== "" ? "go-template" : output;
  const lower = format.toLowerCase();
  if (structuredFormats.includes(lower)) {
    const printer = lower === "json" ? jsonPrinter() : lower === "yaml" ? yamlPrinter() : kyamlPrinter();
    return request["show-managed-fields"] ? printer : withoutManagedFields(printer);
  }
  if (lower === "name") return namePrinter();
  const allowMissingKeys = request["allow-missing-template-keys"];
  const path = expressionOf(format, pathFormats, template, cwd);
  if (path) return jsonPathPrinter(path.text, { allowMissingKeys, asJson: path.format === "jsonpath-as-json" });
  const goTemplate = expressionOf(format, templateFormats, template, cwd);
  return goTemplate && templatePrinter(goTemplate.text, allowMissingKeys);
}

/** The printer of `-o custom-columns`; undefined for another format. Throws KubectlError. */
export function columnsFormatPrinter(output: string, noHeaders: boolean, cwd: string): ObjectPrinter | undefined {
  const format = columnFormats.find((one) => output === one || output.startsWith(`${one}=`));
  if (format === undefined) return undefined;
  const value = output.slice(format.length + 1);
  if (value === "") throw new KubectlError("custom-columns format specified but no custom columns given");
  if (format === "custom-columns") return customColumnsPrinter(value, noHeaders);
  return customColumnsFilePrinter(readTemplate(value, cwd), noHeaders);
}

interface FormatExpression {
  readonly format: string;
  readonly text: string;
}

/** The expression behind `format=`, or that of `--template`. */
function expressionOf(
  output: string,
  formats: readonly string[],
  template: string,
  cwd: string,
): FormatExpression | undefined {
  const at = output.indexOf("=");
  const isInside = template === "" && at >= 0;
  const format = isInside ? output.slice(0, at) : output;
  if (!formats.includes(format)) return undefined;
  const value = isInside ? output.slice(at + 1) : template;
  if (value === "") throw new KubectlError("template format specified but no template given");
  return { format, text: /file$/.test(format) ? readTemplate(value, cwd) : value };
}

function readTemplate(path: string, cwd: string): string {
  try {
    return readFileSync(resolve(cwd, path), "utf8");
  } catch (cause) {
    const why = hasCode(cause, "ENOENT")
      ? "no such file or directory"
      : hasCode(cause, "EACCES")
        ? "permission denied"
        : String(cause);
    throw new KubectlError(`error reading --template ${path}, open ${path}: ${why}`, { cause });
  }
}

export function noPrinter(output: string, allowed: readonly string[]): KubectlError {
  const formats = allowed.toSorted().join(",");
  return new KubectlError(
    `unable to match a printer suitable for the output format ${JSON.stringify(output)}, allowed formats are: ${formats}`,
  );
}
