// Configuration files of the parts that run alone: one object of a kind of upstream's, read field by field.
import { readFileSync } from "node:fs";
import { UsageError } from "#base/errors.ts";
import { DecodeError } from "#schema/json.ts";
import { parseYaml } from "#wire/yaml/read.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The object in the file. Throws UsageError if it cannot be read or is of another kind. */
export function readConfigurationFile(file: string, kind: string, version: string): Fields {
  const where = `--config ${file}`;
  try {
    const { value } = parseYaml(readFileSync(file, "utf8"));
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw new UsageError(`${where}: expected a ${kind}`);
    const document = value as Record<string, unknown>; // what is inside is checked by whoever reads a field
    if (document.apiVersion !== version || document.kind !== kind)
      throw new UsageError(
        `${where}: expected kind ${kind} of ${version}, found ${String(document.kind)} of ${String(document.apiVersion)}`,
      );
    return document;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    if (error instanceof DecodeError) throw new UsageError(`${where}: ${error.message}`, { cause: error });
    throw new UsageError(`${where} cannot be read: ${String(error)}`, { cause: error });
  }
}

/** Fields that are no objects, with their paths. */
export const leavesOf = (value: Fields, prefix = ""): readonly (readonly [string, unknown])[] =>
  Object.entries(value).flatMap(([key, inner]) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? leavesOf(inner as Fields, `${prefix}${key}.`)
      : [[`${prefix}${key}`, inner] as const],
  );
