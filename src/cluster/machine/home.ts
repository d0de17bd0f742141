// Notes which cluster folder the nodes of a name belong to: names of links and namespaces have room for a cluster's name, not for its folder.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hasCode } from "#base/errors.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";

const homeFile = ({ runFolder }: ClusterFolder): string => join(runFolder, "home");

/** Notes that this cluster has nodes on this machine from now on. */
export function markHome(place: ClusterFolder): void {
  mkdirSync(place.runFolder, { recursive: true, mode: 0o700 });
  writeFileSync(homeFile(place), place.folder);
}

/** The folder of the cluster of this name that has nodes on this machine. */
export function homeOf(place: ClusterFolder): string | undefined {
  try {
    return readFileSync(homeFile(place), "utf8");
  } catch (error) {
    if (!hasCode(error, "ENOENT")) throw error;
    return undefined;
  }
}

/** The same, if it is there and another than this one. */
export function namesakeOf(place: ClusterFolder): string | undefined {
  const home = homeOf(place);
  return home !== undefined && home !== place.folder && existsSync(home) ? home : undefined;
}
