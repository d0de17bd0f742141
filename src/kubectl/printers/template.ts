// -o go-template (upstream: cli-runtime/pkg/printers/template.go).
import { KubectlError } from "../errors.ts";
import { sprintf } from "../go/format.ts";
import { goJson } from "../go/json.ts";
import { goQuote } from "../go/quote.ts";
import { bytesOf } from "../go/value.ts";
import { TemplateError } from "../template/error.ts";
import { compileTemplate, type Template } from "../template/template.ts";
import { asGoMap, type ObjectPrinter, type PrintableObject } from "./printer.ts";

export function templatePrinter(text: string, allowMissingKeys: boolean): ObjectPrinter {
  const template = parse(text, allowMissingKeys);
  return {
    print: (object, write) => {
      // A template may write bytes that are no text, such as those of a Secret.
      const writeBytes = (part: string) => write(part.isWellFormed() ? part : bytesOf(part));
      try {
        template.execute(asGoMap(object), writeBytes);
      } catch (error) {
        if (!(error instanceof TemplateError)) throw error;
        writeBytes(debugText(error.message, text, object));
        throw new KubectlError(`error executing template ${goQuote(text)}: ${error.message}`, { cause: error });
      }
    },
  };
}

function parse(text: string, allowMissingKeys: boolean): Template {
  try {
    return compileTemplate("output", text, { missingKeyFails: !allowMissingKeys });
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    throw new KubectlError(`error parsing template ${text}, ${error.message}`, { cause: error });
  }
}

const debugText = (message: string, template: string, object: PrintableObject): string =>
  `Error executing template: ${message}. Printing more information for debugging the template:\n` +
  `\ttemplate was:\n\t\t${template}\n` +
  `\traw data was:\n\t\t${goJson(object)}\n` +
  `\tobject given to template engine was:\n\t\t${sprintf("%+v", [asGoMap(object)])}\n\n`;
