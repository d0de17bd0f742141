// The cluster's entry in people's kubeconfigs.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "#base/clock.ts";
import { changeKubeconfig, kubeconfigToChange } from "#client/host/kubeconfig-files.ts";
import { type Kubeconfig, parseKubeconfig, withEntry, withoutEntry } from "#client/kubeconfig.ts";
import type { ClusterFolder } from "./cluster-folder.ts";
import { readSettings } from "./settings.ts";

/** Puts the cluster into the given kubeconfig, or the one that kubectl would use, as its current context. Returns the file. */
export async function addContext(
  place: ClusterFolder,
  explicit: string | undefined,
  signal: AbortSignal,
): Promise<string> {
  const own = parseKubeconfig(readFileSync(place.adminKubeconfig, "utf8"), place.adminKubeconfig);
  const [cluster, user] = [own.clusters[0]?.cluster ?? {}, own.users[0]?.user ?? {}];
  const path = kubeconfigToChange({ explicit, env: process.env });
  await changeKubeconfig(path, (config) => withEntry(config, place.context, cluster, user), systemClock, signal);
  return path;
}

/** Tells the kubeconfig that knows the cluster the administrator's present certificate. Which context is current stays. */
export async function renewContext(place: ClusterFolder, signal: AbortSignal): Promise<void> {
  const path = readSettings(place)?.kubeconfig;
  if (path === undefined || !existsSync(path)) return;
  const certificate = readFileSync(join(place.certificates, "admin.crt")).toString("base64");
  const renewed = ({ name, user }: Kubeconfig["users"][number]) =>
    name === place.context && user["client-certificate-data"] !== undefined
      ? { name, user: { ...user, "client-certificate-data": certificate } }
      : { name, user };
  await changeKubeconfig(path, (config) => ({ ...config, users: config.users.map(renewed) }), systemClock, signal);
}

export async function removeContext(place: ClusterFolder, path: string, signal: AbortSignal): Promise<void> {
  if (existsSync(path))
    await changeKubeconfig(path, (config) => withoutEntry(config, place.context), systemClock, signal);
}
