// -o name, and the line that says what was done (upstream: cli-runtime/pkg/printers/name.go).
import { isObject } from "#base/is-object.ts";
import { KubectlError } from "../errors.ts";
import { isList, itemsOf, type ObjectPrinter, type PrintableObject } from "./printer.ts";

/** `deployment.apps/web created`; without an operation only the name. */
export function namePrinter(operation = ""): ObjectPrinter {
  const print: ObjectPrinter["print"] = (object, write) => {
    if (isList(object)) for (const item of itemsOf(object)) print(item, write);
    else write(`${objectReference(object)}${operation === "" ? "" : ` ${operation}`}\n`);
  };
  return { print };
}

/** `pod/web`, or `deployment.apps/web`. */
export function objectReference(object: PrintableObject): string {
  const { apiVersion = "", kind = "", metadata } = object;
  if (apiVersion === "" && kind === "")
    throw new KubectlError(
      "missing apiVersion or kind; try GetObjectKind().SetGroupVersionKind() if you know the type",
    );
  const name =
    isObject(metadata) && typeof metadata.name === "string" && metadata.name !== "" ? metadata.name : "<unknown>";
  const group = String(apiVersion).includes("/") ? `.${String(apiVersion).split("/")[0]}` : "";
  return `${String(kind).toLowerCase()}${group}/${name}`;
}
