// The program that runs a cluster at present, as the kernel tells: from another checkout, and of any version.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { runProgram } from "#base/host/run-program.ts";
import { parseJson } from "#schema/json.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";

export interface FormerProgram {
  /** The program and its own arguments, before those of knarr. */
  readonly command: readonly string[];
  /** Whether it is in the same place as this one: then what it was is no more. */
  readonly isReplaced: boolean;
}

/** Throws if the process of the cluster was not started by knarr. */
export function formerProgram(pid: number): FormerProgram {
  const args = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
  const at = args.findIndex((arg) => arg === "run-cluster" || arg === "run-machine");
  const command = at > 0 ? args.slice(0, at) : args.slice(0, foregroundAt(args));
  const main = command.at(-1);
  if (main === undefined)
    throw new Error(`process ${pid} runs the cluster, but does not look like knarr: ${args.join(" ")}`);
  return { command, isReplaced: resolve(main) === resolve(process.argv[1] ?? "") };
}

const foregroundAt = (args: readonly string[]): number =>
  Math.max(
    0,
    args.findIndex((arg) => arg === "up" || arg === "start"),
  );

/** What it says of itself, `0.1.0 (Kubernetes v1.36.4)`. */
export async function versionOf({ command }: FormerProgram): Promise<string> {
  const said = parseJson(await runProgram([...command, "version", "--output=json"])).value;
  const { knarr, kubernetes } = said as Readonly<Record<string, string>>; // every version of ours says these two
  return `${knarr} (Kubernetes ${kubernetes})`;
}

/** Starts the cluster with it, as it was. */
export async function startFormer({ command }: FormerProgram, { name, root }: ClusterFolder): Promise<void> {
  await runProgram([...command, "start", `--name=${name}`, `--data-dir=${root}`, "--no-install"]);
}
