// A try to join that was cut off, as by a kill or a power cut. The folder has a mark until the machine is a node.
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { explain } from "#base/errors.ts";
import { type FolderLock, holderOf, lockFolder } from "#base/host/folder-lock.ts";
import { makeFolder } from "#base/host/make-folder.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";

const joinLock = "join";
const markOf = ({ folder }: ClusterFolder): string => join(folder, "joining");

/** Throws if another process joins with this folder just now. */
export function markJoining(place: ClusterFolder): FolderLock {
  makeFolder(place.folder);
  const lock = lockFolder(place.folder, joinLock, "machine");
  writeFileSync(markOf(place), "");
  return lock;
}

export const markJoined = (place: ClusterFolder): void => rmSync(markOf(place), { force: true });

export const isUnfinished = (place: ClusterFolder): boolean =>
  existsSync(markOf(place)) && holderOf(place.folder, joinLock) === undefined;

/** Resolves with why the cluster could not be told of it; undefined if it was, or knows nothing of it. */
export async function removeUnfinished(place: ClusterFolder): Promise<string | undefined> {
  const { abandonMachine } = await import("./leave.ts");
  const { tellCluster } = await import("./tell-cluster.ts");
  let problem: string | undefined;
  try {
    await tellCluster(place);
  } catch (error) {
    problem = explain(error);
  }
  await abandonMachine(place);
  return problem;
}
