// Lets the kubeconfigs of a control plane name another API server while the one of this machine does not answer.
import { readFileSync } from "node:fs";
import { parseKubeconfig } from "#client/kubeconfig.ts";
import { readMember } from "../etcd/local-etcd.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";
import { readSettings } from "../local/settings.ts";
import { makeKnown } from "../local/start.ts";
import { joinedMachine } from "./machine-folder.ts";
import { nameServer } from "./machine-servers.ts";
import { authorityIn, readyServers } from "./other-servers.ts";

/** Changes nothing if the server that is named answers, or if no other does. When the one of this machine starts again it is named again. */
export async function nameWorkingServer(place: ClusterFolder): Promise<void> {
  const settings = readSettings(place);
  if (!settings) return;
  const port = settings.port ?? 6443;
  // Each control plane has a member of etcd at the same address.
  const beside = readMember(place)?.endpoints.map((endpoint) => `https://${new URL(endpoint).hostname}:${port}`);
  // Where the etcd was given, the node of this machine remembers the servers.
  const others = beside ?? joinedMachine(place)?.servers ?? [];
  if (others.length === 0) return;
  const cluster = parseKubeconfig(readFileSync(place.adminKubeconfig, "utf8"), place.adminKubeconfig).clusters[0]
    ?.cluster;
  const servers = [...new Set([cluster?.server ?? "", ...others])];
  const [working] = await readyServers(servers, authorityIn(place.adminKubeconfig));
  if (working === undefined || working === cluster?.server) return;
  nameServer(place.adminKubeconfig, working);
  if (settings.kubeconfig !== undefined) await makeKnown(place, settings.kubeconfig, new AbortController().signal);
}
