// Finds the nodes of a cluster whose folder was removed, by the names of namespaces that only its nodes have.

import { readdirSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { hasCode } from "#base/errors.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";
import { usual } from "../local/settings.ts";
import { homeOf, namesakeOf } from "./home.ts";
import { type LocalNodes, localNodes } from "./local-nodes.ts";
import { plannedNetwork } from "./planned-network.ts";
import { isRootedIn, networkAt, type ProcessInfo, processes } from "./processes.ts";

const namespaceFolder = "/run/netns";

/** Undefined if there are none, or they are a namesake's. Throws if it is not certain that they are this cluster's. */
export function forgottenNodes(place: ClusterFolder): LocalNodes | undefined {
  if (process.getuid?.() !== 0) return undefined; // then it had none that are real
  const name = JSON.stringify(place.name);
  const home = homeOf(place);
  if (namesakeOf(place) !== undefined) return undefined;
  if (home !== undefined && home !== place.folder)
    throw new Error(
      `what is left of a cluster ${name} is not of ${place.root} but of ${home}; "knarr down --name=${place.name} --data-dir=${dirname(home)}" removes it`,
    );
  const namespaces = namespacesOf(place);
  const nodes = [...namesIn(place.runFolder), ...namespaces.map(({ node }) => node), ...runningNodes(place)];
  if (home === undefined && namespaces.length + nodes.length === 0) return undefined;
  const strangers = home === undefined ? strangersIn(namespaces, place) : [];
  if (strangers.length > 0)
    throw new Error(
      `network namespaces of a cluster ${name} are left, but others use them, so nothing was removed: ${strangers.map(describe).join(", ")}`,
    );
  const numbers = nodes.map((node) => Number(/^node-(\d+)$/.exec(node)?.[1] ?? 1));
  return localNodes(place, { ...usual, nodes: Math.max(1, ...numbers) });
}

const describe = ({ pid, args }: ProcessInfo): string => `process ${pid} (${args.join(" ").slice(0, 80)})`;

interface NodeNamespace {
  readonly name: string;
  /** Empty for that of the switch. */
  readonly node: string;
}

/** No other cluster has a namespace of these names, whatever it is called. */
function namespacesOf(place: ClusterFolder): readonly NodeNamespace[] {
  const { switch: join, nodes } = plannedNetwork(place, { ...usual, nodes: 1 });
  const [{ netns = "", name: one = "" } = {}] = nodes;
  const prefix = netns.slice(0, -one.length);
  return namesIn(namespaceFolder).flatMap((name) => {
    if (name === join) return [{ name, node: "" }];
    const node = name.startsWith(prefix) ? name.slice(prefix.length) : "";
    return /^node-\d+$/.test(node) ? [{ name, node }] : [];
  });
}

/** Nodes whose containerd has its configuration in this cluster's folder, even if that is gone. */
const runningNodes = (place: ClusterFolder): readonly string[] =>
  processes().flatMap(({ args }) => {
    const config = args.find((arg) => arg.startsWith(`${place.nodes}/`));
    return basename(args[0] ?? "") === "containerd" && config !== undefined ? basename(dirname(config)) : [];
  });

/** Processes in these namespaces that have nothing to do with this cluster's folders. */
function strangersIn(namespaces: readonly NodeNamespace[], place: ClusterFolder): readonly ProcessInfo[] {
  const networks = new Set(namespaces.map(({ name }) => networkAt(join(namespaceFolder, name))));
  const isBelow = (path: string) => [place.folder, place.runFolder].some((folder) => path.startsWith(`${folder}/`));
  return processes().filter((one) => {
    const network = networkAt(`/proc/${one.pid}/ns/net`);
    if (network === undefined || !networks.has(network)) return false;
    return !one.args.some(isBelow) && !isBelow(`${one.cwd}/`) && !isRootedIn(one.pid, place.folder);
  });
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return []; // nothing was ever made there
    throw error;
  }
}
