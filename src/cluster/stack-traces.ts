// Has stack traces name the sources, not the bundle that was made of them. Node could do so, too, but looks at the maps of all files
// when it loads them: a quarter of the time that takes, for what is seldom asked.
import { existsSync, readFileSync } from "node:fs";
import type { SourceMap, SourceMapPayload } from "node:module";
import { fileURLToPath } from "node:url";
import { parseJson } from "#schema/json.ts";

/** Formats an error and its call sites; the signature of `Error.prepareStackTrace`. */
export function tracesOfSources(): (error: Error, calls: readonly NodeJS.CallSite[]) => string {
  const maps = new Map<string, SourceMap | undefined>();
  const mapOf = (file: string): SourceMap | undefined => {
    if (!maps.has(file)) maps.set(file, readMap(file));
    return maps.get(file);
  };
  const describe = (call: NodeJS.CallSite): string => {
    const [file, line, column] = [call.getFileName() ?? "", call.getLineNumber() ?? 0, call.getColumnNumber() ?? 0];
    const origin = mapOf(file)?.findEntry(line - 1, column - 1);
    if (!origin || !("originalSource" in origin)) return String(call);
    const { originalSource, originalLine, originalColumn } = origin;
    const source = fileURLToPath(new URL(originalSource, file));
    return String(call).replace(`${file}:${line}:${column}`, `${source}:${originalLine + 1}:${originalColumn + 1}`);
  };
  return (error, calls) => [String(error), ...calls.map((call) => `    at ${describe(call)}`)].join("\n");
}

function readMap(file: string): SourceMap | undefined {
  const map = file.startsWith("file:") ? `${fileURLToPath(file)}.map` : "";
  if (!existsSync(map)) return undefined;
  // Loaded only when something has failed.
  const { SourceMap } = process.getBuiltinModule("node:module");
  return new SourceMap(parseJson(readFileSync(map, "utf8")).value as SourceMapPayload);
}
