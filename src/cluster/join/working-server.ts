// Lets the kubeconfigs of a control plane name another API server while the one of this machine does not answer.
import { readFileSync } from "node:fs";
import { askReady } from "#client/host/server-choice.ts";
import { parseKubeconfig } from "#client/kubeconfig.ts";
import { readMember } from "../etcd/local-etcd.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";
import { readSettings } from "../local/settings.ts";
import { makeKnown } from "../local/start.ts";
import { nameServer } from "./machine-servers.ts";

const patienceMs = 3_000;

/** Changes nothing if the server that is named answers, or if no other does. When the one of this machine starts again it is named again. */
export async function nameWorkingServer(place: ClusterFolder): Promise<void> {
  const settings = readSettings(place);
  const member = readMember(place);
  if (!settings?.ha || !member) return;
  const cluster = parseKubeconfig(readFileSync(place.adminKubeconfig, "utf8"), place.adminKubeconfig).clusters[0]
    ?.cluster;
  const ca = Buffer.from(cluster?.["certificate-authority-data"] ?? "", "base64").toString();
  // Each control plane has a member of etcd at the same address.
  const others = member.endpoints.map((endpoint) => `https://${new URL(endpoint).hostname}:${settings.port ?? 6443}`);
  const servers = [...new Set([cluster?.server ?? "", ...others])];
  const working = await firstReady(servers, ca);
  if (working === undefined || working === cluster?.server) return;
  nameServer(place.adminKubeconfig, working);
  if (settings.kubeconfig !== undefined) await makeKnown(place, settings.kubeconfig, new AbortController().signal);
}

async function firstReady(servers: readonly string[], ca: string): Promise<string | undefined> {
  const answers = await Promise.allSettled(
    servers.map((server) => askReady(server, ca, AbortSignal.timeout(patienceMs))),
  );
  return servers.find((_, i) => answers[i]?.status === "fulfilled");
}
