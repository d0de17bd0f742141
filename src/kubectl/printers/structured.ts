// -o json and -o yaml (upstream: cli-runtime/pkg/printers/json.go, yaml.go and managedfields.go).
import { isObject } from "#base/is-object.ts";
import { printYaml } from "#wire/yaml/write.ts";
import { goJson } from "../go/json.ts";
import { isList, itemsOf, type ObjectPrinter, type PrintableObject } from "./printer.ts";

export const jsonPrinter = (): ObjectPrinter => ({
  print: (object, write) => write(`${goJson(object, "    ")}\n`),
});

/** Objects after the first stand behind a line of dashes. */
export function yamlPrinter(): ObjectPrinter {
  let isFirst = true;
  return {
    print: (object, write) => {
      if (!isFirst) write("---\n");
      isFirst = false;
      write(printYaml(object));
    },
  };
}

/** Prints objects without their managed fields, which few people want to read. */
export const withoutManagedFields = (printer: ObjectPrinter): ObjectPrinter => ({
  print: (object, write) => printer.print(omitManagedFields(object), write),
});

function omitManagedFields(object: PrintableObject): PrintableObject {
  if (isList(object)) return { ...object, items: itemsOf(object).map(omitManagedFields) };
  const { metadata } = object;
  if (!isObject(metadata) || !Object.hasOwn(metadata, "managedFields")) return object;
  const { managedFields: _, ...rest } = metadata;
  return { ...object, metadata: rest };
}
