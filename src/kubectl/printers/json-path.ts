// -o jsonpath (upstream: cli-runtime/pkg/printers/jsonpath.go and client-go/util/jsonpath).
import { JsonPath, JsonPathError } from "#schema/json-path.ts";
import { KubectlError } from "../errors.ts";
import { sprint, sprintf } from "../go/format.ts";
import { goJson } from "../go/json.ts";
import { goQuote } from "../go/quote.ts";
import type { GoValue } from "../go/value.ts";
import { asGoMap, type ObjectPrinter } from "./printer.ts";

export interface JsonPathPrinterOptions {
  readonly allowMissingKeys: boolean;
  /** Prints a list of all that was found, as JSON. */
  readonly asJson: boolean;
}

export function jsonPathPrinter(template: string, { allowMissingKeys, asJson }: JsonPathPrinterOptions): ObjectPrinter {
  const path = parseJsonPath(template, allowMissingKeys, `error parsing jsonpath ${template}, `);
  return {
    print: (object, write) => {
      for (const results of findIn(path, template, object))
        write(asJson ? `${goJson(results, "    ")}\n` : results.map(resultText).join(" "));
    },
  };
}

function findIn(
  path: JsonPath,
  template: string,
  object: Readonly<Record<string, unknown>>,
): readonly (readonly unknown[])[] {
  try {
    return path.find(object);
  } catch (error) {
    if (!(error instanceof JsonPathError)) throw error;
    const details =
      `Error executing template: ${error.message}. Printing more information for debugging the template:\n` +
      `\ttemplate was:\n\t\t${template}\n` +
      `\tobject given to jsonpath engine was:\n\t\t${sprintf("%#v", [asGoMap(object)])}\n\n`;
    throw new KubectlError(`error executing jsonpath ${goQuote(template)}: ${details}\n`, { cause: error });
  }
}

/** Lists and objects are JSON, everything else is what Go prints for it. */
function resultText(value: unknown): string {
  if (value === null || value === undefined) return "null";
  return typeof value === "object" ? goJson(value) : sprint([value as GoValue]);
}

/** Throws KubectlError with these words before the reason. */
export function parseJsonPath(template: string, allowMissing: boolean, prefix = ""): JsonPath {
  try {
    return new JsonPath(template, { allowMissing });
  } catch (error) {
    if (!(error instanceof JsonPathError)) throw error;
    throw new KubectlError(`${prefix}${error.message}`, { cause: error });
  }
}

/** A path as people write it in columns and for sorting: braces and the first dot may be left out. Throws KubectlError. */
export function relaxedJsonPath(text: string): string {
  if (text === "") return text;
  const match = /^\{\.?([^{}]+)\}$|^\.?([^{}]+)$/.exec(text);
  if (!match)
    throw new KubectlError(
      "unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'",
    );
  return `{.${match[1] ?? match[2]}}`;
}
