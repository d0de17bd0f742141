// Where a machine that has joined a cluster keeps what it is: a file beside those that a cluster of its own would have.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Taint } from "#api/core/v1/node.ts";
import { makeFolder } from "#base/host/make-folder.ts";
import { parseJson } from "#schema/json.ts";
import { replaceFile } from "../certificates.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";
import type { JoinConfig } from "./join-config.ts";

export interface MachineMembership {
  readonly node: string;
  /** Of this machine. */
  readonly address: string;
  readonly server: string;
  /** All API servers that are known, the one that was asked last first; machines that joined long ago know one. */
  readonly servers?: readonly string[];
  /** Whether it is a control plane as well. */
  readonly isControlPlane?: boolean;
  /** In PEM. */
  readonly ca: string;
  readonly config: JoinConfig;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly pluginFolder: string;
  /** A number that no other machine has; absent of machines that joined long ago. */
  readonly claim?: string;
  /** UID of the dead node whose name it took. */
  readonly replaces?: string;
}

const fileOf = ({ folder }: ClusterFolder): string => join(folder, "machine.json");
export const kubeconfigOf = ({ folder }: ClusterFolder): string => join(folder, "kubelet.conf");

/** What it joined as; undefined if it has joined nothing. */
export function joinedMachine(place: ClusterFolder): MachineMembership | undefined {
  if (!existsSync(fileOf(place))) return undefined;
  return parseJson(readFileSync(fileOf(place), "utf8")).value as MachineMembership; // we wrote it
}

export function writeMachine(place: ClusterFolder, machine: MachineMembership): void {
  makeFolder(place.folder);
  replaceFile(fileOf(place), `${JSON.stringify(machine, undefined, 2)}\n`, 0o600);
}
