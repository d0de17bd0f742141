// What a machine has that a cluster could leave behind, to be compared before and after.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { mounts } from "#base/host/mounts.ts";
import { runProgram } from "#base/host/run-program.ts";
import { cgroupTrees } from "./cgroups.ts";
import { processes } from "./processes.ts";

export interface TraceOptions {
  /** Of which all files count. */
  readonly folders: readonly string[];
  /** Which traces count, on a machine that others use as well; defaults to all. */
  readonly isMine?: (trace: string) => boolean;
}

const kinds = [
  "processes",
  "namespaces",
  "mounts",
  "links",
  "routes",
  "cgroups",
  "tables",
  "files",
  "shared memory",
] as const;

export type Traces = Readonly<Record<(typeof kinds)[number], readonly string[]>>;

export async function readTraces({ folders, isMine = () => true }: TraceOptions): Promise<Traces> {
  const linesOf = async (...command: readonly string[]) => (await runProgram(command)).split("\n");
  const traces: Traces = {
    processes: processes().map(({ pid, args, cwd }) => `${args.join(" ")} in ${cwd} (process ${pid})`),
    namespaces: namesIn("/run/netns"),
    mounts: mounts().map(({ path, type, options }) => `${path} ${type} ${options}`),
    links: (await linesOf("ip", "-o", "link")).flatMap((line) => /^\d+: ([^@:]+)/.exec(line)?.[1] ?? []),
    routes: await linesOf("ip", "route", "show", "table", "all"),
    cgroups: cgroupTrees().flatMap(foldersBelow),
    tables: await linesOf("nft", "list", "tables"),
    files: folders.flatMap(filesBelow),
    "shared memory": [...filesBelow("/dev/shm"), ...filesBelow("/dev/mqueue")],
  };
  return of((kind) => traces[kind].filter((one) => one.trim() !== "" && isMine(one)).sort());
}

/** What is there after that was not before, and what is there no more. */
export function changesOf(before: Traces, after: Traces): readonly string[] {
  return kinds.flatMap((kind) => {
    const had = new Set(before[kind]);
    const has = new Set(after[kind]);
    return [
      ...after[kind].filter((one) => !had.has(one)).map((one) => `new in ${kind}: ${one}`),
      ...before[kind].filter((one) => !has.has(one)).map((one) => `gone from ${kind}: ${one}`),
    ];
  });
}

/** How many of each there are. */
export const countOf = (traces: Traces): Readonly<Record<keyof Traces, number>> => of((kind) => traces[kind].length);

const of = <T>(make: (kind: keyof Traces) => T) =>
  Object.fromEntries(kinds.map((kind) => [kind, make(kind)])) as Readonly<Record<keyof Traces, T>>; // all keys are there

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // there is no such folder
  }
}

function filesBelow(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? [path, ...filesBelow(path)] : [path];
    });
  } catch {
    return []; // it went while we looked
  }
}

function foldersBelow(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .flatMap(({ name }) => [join(folder, name), ...foldersBelow(join(folder, name))]);
  } catch {
    return []; // it went while we looked
  }
}
