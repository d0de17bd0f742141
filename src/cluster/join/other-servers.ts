// Whether a cluster on a given etcd goes on without this machine: nobody asks the members of such an etcd, but other API servers.
import { readFileSync } from "node:fs";
import { EndpointSlice } from "#api/discovery/v1/endpoint-slice.ts";
import { askReady } from "#client/host/server-choice.ts";
import { parseKubeconfig } from "#client/kubeconfig.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";
import { serversIn } from "./machine-servers.ts";
import { withConnection } from "./start-machine.ts";

const patienceMs = 20_000;
const readyMs = 3_000;

/** Those of them that are ready. */
export async function readyServers(servers: readonly string[], ca: string): Promise<readonly string[]> {
  const answers = await Promise.allSettled(servers.map((server) => askReady(server, ca, AbortSignal.timeout(readyMs))));
  return servers.filter((_, i) => answers[i]?.status === "fulfilled");
}

/** The authority of the API servers that a kubeconfig of ours leads to, in PEM. */
export function authorityIn(kubeconfig: string): string {
  const [entry] = parseKubeconfig(readFileSync(kubeconfig, "utf8"), kubeconfig).clusters;
  return Buffer.from(entry?.cluster["certificate-authority-data"] ?? "", "base64").toString();
}

/** All API servers that are ready, the one of this machine included. The service leads to one that has ended for a while longer. */
export async function liveServers(place: ClusterFolder): Promise<readonly string[]> {
  const kubeconfig = place.adminKubeconfig;
  const known = await withConnection(kubeconfig, AbortSignal.timeout(patienceMs), async ({ client }) =>
    serversIn(await client.find(EndpointSlice, { namespace: "default", name: "kubernetes" })),
  );
  return readyServers(known, authorityIn(kubeconfig));
}

/** Throws if these are not more than the one of this machine. */
export function mustBeSeveral(servers: readonly string[]): void {
  if (servers.length < 2)
    throw new Error(
      'no other control plane of the cluster is known to run: with this one the keys of the cluster are lost, and with them the Secrets in the etcd that was given; "knarr leave --force" leaves all the same',
    );
}
