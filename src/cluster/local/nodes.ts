// The nodes that the settings of a cluster ask for.
import type { SystemObject } from "#apiserver/bootstrap/objects.ts";
import { type NodeConnection, noConnection } from "#apiserver/node-connection.ts";
import type { ServiceNetwork } from "#apiserver/strategies/service/ranges.ts";
import type { Log } from "#base/log.ts";
import type { Component } from "#base/supervise.ts";
import { simulatedNodes } from "#kubelet/simulated/nodes.ts";
import { spdyCompression } from "#wire/host/streams/spdy-compression.ts";
import type { Cluster, ClusterConfig } from "../cluster.ts";
import { withStorage } from "../local-storage.ts";
import type { ClusterFolder } from "./cluster-folder.ts";
import type { FrontOptions } from "./front.ts";
import { nodeNames, type Settings } from "./settings.ts";

export interface NodesSetup {
  readonly make: ClusterConfig["nodes"];
  /** What the API has to have for them. */
  readonly objects: readonly SystemObject[];
  readonly connection: NodeConnection;
  readonly inside: FrontOptions["inside"];
  /** What runs beside the cluster because of them. */
  readonly beside: (cluster: Cluster, around: ClusterSurroundings) => readonly Component[];
}

export interface ClusterSurroundings {
  /** The authority of the cluster, in PEM. */
  readonly ca: string;
  readonly log: Log;
  /** The name of this process among those that share the store; undefined if it is alone. */
  readonly candidate: string | undefined;
}

export interface NodesOptions {
  readonly place: ClusterFolder;
  readonly settings: Settings;
  readonly network: ServiceNetwork;
  readonly clientCa: string;
}

/** Names of nodes mean nothing to the machine they are on. */
export const addressTypes = ["InternalIP", "Hostname"];

/** Begins at once with what needs no API. */
export async function nodesOf(options: NodesOptions, signal: AbortSignal): Promise<NodesSetup> {
  const { settings } = options;
  if (settings.runtime !== "simulated") {
    // With it comes all that real containers need; who has none need not wait for that.
    const { containerNodes } = await import("./container-nodes.ts");
    return containerNodes(options, signal);
  }
  return {
    make: (parts) =>
      withStorage(
        simulatedNodes({ ...parts, names: nodeNames(settings), podRange: settings["cluster-cidr"], spdyCompression }),
      ),
    objects: [],
    // The addresses of simulated nodes may be those of real machines: nothing is ever sent there.
    connection: { ...noConnection, spdyCompression, addressTypes },
    inside: undefined,
    beside: () => [], // simulated pods would answer nobody
  };
}
