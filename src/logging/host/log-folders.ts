// The logs in the folder of a node: `namespace_pod_uid/container/0.log`.
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { hasCode } from "#base/errors.ts";
import { type PodFolder, podFolder, runsIn } from "../log-parts.ts";

export interface FoundLog extends PodFolder {
  /** Below the folder of all logs. */
  readonly path: string;
  readonly container: string;
  readonly attempt: number;
  /** Of the container. */
  readonly folder: string;
  readonly log: string;
}

/** Throws if there is no such folder: nobody could tell then whether there are no logs, or whether we look at the wrong place. */
export async function findLogs(folder: string): Promise<readonly FoundLog[]> {
  const logs: FoundLog[] = [];
  for (const name of await readdir(folder)) {
    const pod = podFolder(name);
    if (!pod) continue;
    for (const container of await namesIn(join(folder, name)))
      for (const log of runsIn(await namesIn(join(folder, name, container))))
        logs.push({
          ...pod,
          path: `${name}/${container}/${log}`,
          container,
          attempt: Number.parseInt(log, 10),
          folder: join(folder, name, container),
          log,
        });
  }
  return logs;
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (hasCode(error, "ENOENT", "ENOTDIR")) return [];
    throw error;
  }
}
