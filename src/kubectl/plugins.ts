// Programs on the PATH named `kubectl-…` are commands (upstream: kubectl/pkg/cmd/cmd.go and cmd/plugin).
import { spawn } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";
import { ExitError } from "./errors.ts";
import type { Io } from "./io.ts";

/** Runs the plugin that a command line names with at least so many words; undefined if there is none. */
export async function runPlugin(args: readonly string[], io: Io, fewest = 1): Promise<number | undefined> {
  const at = args.findIndex((arg) => arg.startsWith("-"));
  const named = at < 0 ? args : args.slice(0, at);
  if (named.length === 0) throw new ExitError(1, `Error: flags cannot be placed before plugin name: ${args[0]}`);
  const words = named.map((word) => word.replaceAll("-", "_"));
  for (let count = words.length; count >= fewest; count--) {
    const program = onPath(`kubectl-${words.slice(0, count).join("-")}`, io.env.PATH ?? "");
    if (program !== undefined) return run(program, args.slice(count), io);
  }
  return undefined;
}

function onPath(name: string, path: string): string | undefined {
  return path
    .split(delimiter)
    .filter((folder) => folder !== "")
    .map((folder) => join(folder, name))
    .find(isProgram);
}

export function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false; // not there, or not for us: no plugin either way
  }
}

function run(program: string, args: readonly string[], { env, cwd }: Io): Promise<number> {
  return new Promise((done, fail) => {
    const child = spawn(program, args, { stdio: "inherit", env, cwd });
    child.once("error", fail);
    child.once("close", (code) => done(code ?? 1));
  });
}
