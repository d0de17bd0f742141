// Nodes that a person switched off. A file for each says so, so that they stay off when the cluster is stopped and started.
import { existsSync, mkdirSync, rmSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";
import { aborted } from "#base/aborted.ts";
import type { Component } from "#base/supervise.ts";
import type { ClusterNodes } from "../cluster.ts";
import type { ClusterFolder } from "./cluster-folder.ts";

const fileOf = (place: ClusterFolder, node: string): string => join(place.nodes, `${node}.off`);

export const isSwitchedOff = (place: ClusterFolder, node: string): boolean => existsSync(fileOf(place, node));

/** Whoever runs the cluster notices. */
export function switchNode(place: ClusterFolder, node: string, isOn: boolean): void {
  mkdirSync(place.nodes, { recursive: true, mode: 0o700 });
  if (isOn) rmSync(fileOf(place, node), { force: true });
  else writeFileSync(fileOf(place, node), "", { mode: 0o600 });
}

/** Does to the nodes what their files say. */
export const nodeSwitches = (
  place: ClusterFolder,
  names: readonly string[],
  nodes: Pick<ClusterNodes, "stop" | "start">,
): Component => ({
  name: "node switches",
  async run(signal) {
    const off = new Set<string>();
    const look = () => {
      for (const name of names) {
        const isOff = isSwitchedOff(place, name);
        if (isOff === off.has(name)) continue;
        if (isOff) nodes.stop(name);
        else nodes.start(name);
        if (isOff) off.add(name);
        else off.delete(name);
      }
    };
    mkdirSync(place.nodes, { recursive: true, mode: 0o700 });
    const watcher = watch(place.nodes, look);
    look();
    await aborted(signal);
    watcher.close();
  },
});
