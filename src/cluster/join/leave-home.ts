// Takes the machine that a cluster was made on out of it. The other control planes go on.
import { ConfigMap } from "#api/core/v1/config-map.ts";
import { Node } from "#api/core/v1/node.ts";
import { explain, isNotFound } from "#base/errors.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";
import { endProcess } from "../local/end.ts";
import { removeCluster } from "../local/remove.ts";
import { nodeNames, type Settings } from "../local/settings.ts";
import { describedCluster } from "./discovery.ts";
import { infoKubeconfig } from "./join-objects.ts";
import { leaveEtcd } from "./leave-etcd.ts";
import { nameServer } from "./machine-servers.ts";
import { liveServers, mustBeSeveral } from "./other-servers.ts";
import { withConnection } from "./start-machine.ts";

const patienceMs = 20_000;

/** Resolves with what could not be done; undefined if all was. Rejects, and changes nothing, if the others could not go on. */
export async function leaveHome(
  place: ClusterFolder,
  settings: Settings,
  { force }: { readonly force: boolean },
): Promise<string | undefined> {
  const { signal } = new AbortController();
  const problems: string[] = [];
  const attempt = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await work();
    } catch (error) {
      problems.push(explain(error));
      return undefined;
    }
  };
  const servers = (await attempt(() => liveServers(place))) ?? [];
  if (!force && !settings.ha) mustBeSeveral(servers);
  if (force) await attempt(() => leaveEtcd(place, { force }, signal));
  else await leaveEtcd(place, { force }, signal);
  await endProcess(place, signal);
  await attempt(() => tell(place, settings, servers));
  await removeCluster(place);
  return problems.length === 0 ? undefined : problems.join("; ");
}

/** The nodes of this machine are no more, and machines that join are to ask another. */
async function tell(place: ClusterFolder, settings: Settings, servers: readonly string[]): Promise<void> {
  let last: unknown = new Error("no other API server is known");
  for (const server of servers) {
    try {
      nameServer(place.adminKubeconfig, server);
      return await withConnection(place.adminKubeconfig, AbortSignal.timeout(patienceMs), async ({ client }) => {
        for (const name of nodeNames(settings))
          await client.delete(Node, { name }).catch((error: unknown) => {
            if (!isNotFound(error)) throw error;
          });
        const info = { namespace: "kube-public", name: "cluster-info" };
        const ca = describedCluster((await client.find(ConfigMap, info))?.data?.kubeconfig ?? "{}")?.ca;
        if (ca !== undefined)
          await client.patch(ConfigMap, info, "merge", { data: { kubeconfig: infoKubeconfig(server, ca) } });
      });
    } catch (error) {
      last = error; // it may be the one of this machine, which has ended
    }
  }
  throw last;
}
