// Joins this machine to a cluster: finds out whom to believe, gets an identity, and starts what makes the machine a node.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { ConfigMap } from "#api/core/v1/config-map.ts";
import type { Taint } from "#api/core/v1/node.ts";
import { systemClock } from "#base/clock.ts";
import { createLog } from "#base/log.ts";
import { systemRandom } from "#base/random.ts";
import { replaceFile } from "../certificates.ts";
import type { ClusterFolder } from "../local/cluster-folder.ts";
import { ensureRequirements } from "../machine/requirements.ts";
import { bootstrap } from "../node/bootstrap.ts";
import { addressTowards } from "../node/own-address.ts";
import { StoredPair } from "../node/stored-pair.ts";
import { type DiscoveryOptions, discoverCluster } from "./discovery.ts";
import { joinConfigKey, joinConfigName, readJoinConfig } from "./join-config.ts";
import { joinedMachine, kubeconfigOf, type MachineMembership, writeMachine } from "./machine-folder.ts";
import { freeName } from "./node-claim.ts";
import { plainRefusal, whenTokenIsTaken } from "./refusals.ts";
import { startMachine, withConnection } from "./start-machine.ts";
import { isUnfinished, markJoining, removeUnfinished } from "./unfinished.ts";

export interface JoinOptions extends Omit<DiscoveryOptions, "clock"> {
  readonly place: ClusterFolder;
  readonly node: string;
  /** Of this machine; defaults to the one that the cluster is reached from. */
  readonly address: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
  readonly install: boolean;
  /** Makes the machine a control plane as well, with what is encrypted with this key. */
  readonly certificateKey: string | undefined;
  readonly progress: (text: string) => void;
}

const clock = systemClock;

/** Nothing is left of it if it fails. Resolves when the node is ready. */
export async function joinCluster(options: JoinOptions, signal: AbortSignal): Promise<MachineMembership> {
  const { place, progress } = options;
  if (isUnfinished(place)) {
    progress("removing what is left of a try that was cut off");
    await removeUnfinished(place);
  }
  const before = joinedMachine(place);
  if (before)
    throw new Error(
      `this machine is node ${before.node} of a cluster already, at ${before.server}; "knarr leave" takes it out of that`,
    );
  if (place.exists)
    throw new Error(
      `there is a cluster ${JSON.stringify(place.name)} on this machine; "knarr down" ends it, or choose another --name`,
    );
  const lock = markJoining(place);
  try {
    const machine = await identified(options, signal);
    writeMachine(place, machine);
    progress(machine.isControlPlane ? "starting the control plane and the node" : "starting the node");
    await startMachine(place, machine, signal);
    return machine;
  } catch (error) {
    const { abandonMachine } = await import("./leave.ts");
    await abandonMachine(place);
    throw error;
  } finally {
    lock.release();
  }
}

async function identified(options: JoinOptions, signal: AbortSignal): Promise<MachineMembership> {
  const { place, node, token, host, port, labels, taints, progress, certificateKey } = options;
  progress(`asking ${host}:${port} who it is`);
  const { ca } = await discoverCluster({ ...options, clock }, signal);
  // The one that was just proven to be of the cluster; the one that the cluster names may be down if there are several.
  const server = `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
  const { pluginFolder } = await ensureRequirements(
    { folder: place.folder, install: options.install, progress },
    signal,
  );
  const bootstrapKubeconfig = join(place.folder, "bootstrap.conf");
  replaceFile(bootstrapKubeconfig, tokenKubeconfig(server, ca, `${token.id}.${token.secret}`), 0o600);
  try {
    const [config, files, replaces] = await withConnection(bootstrapKubeconfig, signal, async ({ client }) => {
      const dead = await whenTokenIsTaken(() => freeName(client, node, signal), progress, signal);
      const { data = {} } = await client.get(ConfigMap, joinConfigName);
      const { fetchFiles } = await import("./shared-files.ts");
      const shared = certificateKey === undefined ? undefined : await fetchFiles(client, certificateKey);
      return [readJoinConfig(data[joinConfigKey] ?? "{}"), shared, dead] as const;
    });
    progress("asking for a certificate");
    const pair = new StoredPair(join(place.folder, "pki"), "kubelet-client", clock);
    const log = createLog({ clock, write: () => undefined });
    await bootstrap({ node, kubeconfig: kubeconfigOf(place), bootstrapKubeconfig, pair, clock, log }, signal);
    const address = options.address ?? (await addressTowards(host, port));
    const claim = { claim: systemRandom.uuid(), ...(replaces !== undefined && { replaces }) };
    const machine = { node, address, server, ca, config, labels, taints, pluginFolder, servers: [server], ...claim };
    if (!files) return machine;
    const { prepareControlPlane } = await import("./control-plane.ts");
    if (files.settings.ha) {
      const { ensureEtcd } = await import("../etcd/etcd-program.ts");
      await ensureEtcd({ install: options.install, progress }, signal);
    }
    progress("becoming a member of the control plane");
    await prepareControlPlane(place, files, { node, address }, signal);
    return { ...machine, isControlPlane: true };
  } catch (error) {
    throw plainRefusal(error, `${host}:${port}`);
  } finally {
    rmSync(bootstrapKubeconfig, { force: true });
  }
}

const tokenKubeconfig = (server: string, ca: string, token: string): string =>
  JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      { name: "knarr", cluster: { server, "certificate-authority-data": Buffer.from(ca).toString("base64") } },
    ],
    users: [{ name: "token", user: { token } }],
    contexts: [{ name: "knarr", context: { cluster: "knarr", user: "token" } }],
    "current-context": "knarr",
  });
