// Plugins of one's own, loaded from modules of JavaScript or TypeScript by their paths.
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { explain, UsageError } from "#base/errors.ts";
import type { SchedulerPlugin } from "../framework.ts";
import type { PluginEntry } from "../plugins/list.ts";
import { extensionPoints } from "../profile.ts";

/** The default export of each module: a plugin, or an entry with `make(args, context)`, or a list of these. Throws UsageError. */
export async function loadPlugins(paths: readonly string[]): Promise<readonly PluginEntry[]> {
  const entries: PluginEntry[] = [];
  for (const path of paths) {
    const exported = await defaultExport(path);
    for (const one of Array.isArray(exported) ? exported : [exported]) entries.push(entryOf(one, path));
  }
  return entries;
}

async function defaultExport(path: string): Promise<unknown> {
  try {
    const module: unknown = await import(pathToFileURL(resolve(path)).href);
    return typeof module === "object" && module !== null && "default" in module ? module.default : undefined;
  } catch (error) {
    throw new UsageError(`--plugin ${path}: ${explain(error)}`, { cause: error });
  }
}

function entryOf(value: unknown, path: string): PluginEntry {
  if (typeof value !== "object" || value === null || !("name" in value) || typeof value.name !== "string")
    throw new UsageError(`--plugin ${path}: expected a plugin with a name as the default export`);
  if ("make" in value && typeof value.make === "function") return value as PluginEntry;
  if (!extensionPoints.some((point) => typeof (value as Record<string, unknown>)[point] === "function"))
    throw new UsageError(
      `--plugin ${path}: plugin "${value.name}" takes part in nothing: it has none of ${extensionPoints.join(", ")}`,
    );
  const plugin = value as SchedulerPlugin; // it has a name and a step, and says itself what its steps take
  return { name: plugin.name, make: () => plugin };
}
