import { join } from "node:path";
import { runProgram } from "#base/host/run-program.ts";
import { projectFolder } from "./manifests.ts";

export interface ProjectImageOptions {
  /** Where images are kept; may be shared by clusters. */
  readonly cache: string;
  /** Of the list of images. */
  readonly name: string;
  /** Whether somebody waits for it; otherwise it gives way to all else that goes on. */
  readonly isAwaited: boolean;
}

/** Makes an image of this project where it is not there yet; resolves with its reference. */
export async function projectImage(
  { cache, name, isAwaited }: ProjectImageOptions,
  signal: AbortSignal,
): Promise<string> {
  const tool = join(projectFolder(), "tools", "addon-image.ts");
  const command = [process.execPath, tool, cache, name, ...(isAwaited ? [] : ["later"])];
  const said = await runProgram(command, { signal, env: { NODE_OPTIONS: undefined } });
  return said.trim();
}
