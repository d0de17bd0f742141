// Which server a command talks to and as whom: the kubeconfig, what flags put over it, and, without either, the pod it runs in
// (upstream: client-go/tools/clientcmd/client_config.go).
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { loadKubeconfig } from "#client/host/kubeconfig-files.ts";
import type { KubeCluster, KubeContext, Kubeconfig, KubeUser } from "#client/kubeconfig.ts";
import { ExitError, KubectlError } from "./errors.ts";
import type { GlobalFlags } from "./global-flags.ts";
import type { Io } from "./io.ts";

/** How to reach a server, with everything that flags say put over what files say. */
export interface ClientConfig {
  readonly server: string;
  readonly cluster: KubeCluster;
  readonly user: KubeUser;
  /** As the kubeconfig calls it; empty without one. */
  readonly userName: string;
  readonly contextName: string;
  readonly namespace: string;
  /** Whether the namespace was asked for by a flag. */
  readonly isNamespaceExplicit: boolean;
}

const serviceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";
/** Where a server is looked for when nothing says where one is. */
const defaultServer = "http://localhost:8080";

export async function loadConfigFiles(io: Io, flags: GlobalFlags): Promise<Kubeconfig> {
  const { kubeconfig } = flags;
  const explicit = kubeconfig === "" ? undefined : resolve(io.cwd, kubeconfig);
  if (explicit !== undefined && !existsSync(explicit))
    throw new KubectlError(`stat ${kubeconfig}: no such file or directory`);
  return loadKubeconfig({ explicit, env: io.env });
}

export async function loadClientConfig(io: Io, flags: GlobalFlags): Promise<ClientConfig> {
  const config = await loadConfigFiles(io, flags);
  const isEmpty = config.clusters.length === 0 && config.contexts.length === 0 && config.users.length === 0;
  if (isEmpty && flags.server === "" && flags.context === "" && isInCluster(io)) return inCluster(io, flags);
  const contextName = flags.context || config["current-context"];
  const context = contextOf(config, contextName, flags);
  const cluster = clusterOf(config, flags.cluster || context.cluster || "", flags);
  const userName = flags.user || context.user || "";
  const user = userOf(config, userName, flags);
  const server = flags.server || cluster.server || defaultServer;
  return { server: withScheme(server), cluster, user, userName, contextName, ...namespaceOf(flags, context.namespace) };
}

const namespaceOf = (flags: GlobalFlags, usual: string | undefined) => ({
  namespace: flags.namespace || usual || "default",
  isNamespaceExplicit: flags.namespace !== "",
});

/** A bare `host:port` is spoken to without TLS, as ever. */
const withScheme = (server: string): string => (/^https?:\/\//.test(server) ? server : `http://${server}`);

function contextOf(config: Kubeconfig, name: string, flags: GlobalFlags): KubeContext {
  const found = config.contexts.find((one) => one.name === name)?.context;
  if (!found && flags.context !== "")
    throw new ExitError(1, `Error in configuration: context was not found for specified context: ${name}`);
  return found ?? {};
}

function clusterOf(config: Kubeconfig, name: string, flags: GlobalFlags): KubeCluster {
  const found = config.clusters.find((one) => one.name === name)?.cluster;
  if (!found && flags.cluster !== "" && flags.server === "")
    throw new KubectlError(`no server found for cluster ${JSON.stringify(name)}`);
  const { "certificate-authority": file, "tls-server-name": serverName, server } = flags;
  const isInsecure = flags["insecure-skip-tls-verify"];
  const { "certificate-authority": _file, "certificate-authority-data": _data, ...open } = found ?? {};
  return {
    // An insecure connection has no use for an authority, and another server would not be known to the same one's name.
    ...(isInsecure || file !== "" ? open : found),
    ...(file !== "" && { "certificate-authority": file }),
    ...(isInsecure && { "insecure-skip-tls-verify": true }),
    ...(server !== "" && { "tls-server-name": undefined }),
    ...(serverName !== "" && { "tls-server-name": serverName }),
  } as KubeCluster;
}

function userOf(config: Kubeconfig, name: string, flags: GlobalFlags): KubeUser {
  const found = config.users.find((one) => one.name === name)?.user;
  if (!found && flags.user !== "") throw new KubectlError(`auth info ${JSON.stringify(name)} does not exist`);
  const given: Record<string, string> = {};
  for (const field of ["client-certificate", "client-key", "token", "username", "password"] as const)
    if (flags[field] !== "") given[field] = flags[field];
  const { ...merged }: Record<string, unknown> = found ?? {};
  if (given.token !== undefined) delete merged.tokenFile;
  for (const field of ["client-certificate", "client-key"])
    if (given[field] !== undefined) delete merged[`${field}-data`];
  return { ...merged, ...given, ...impersonation(flags, merged, name) };
}

/** Flags put over the file's, under the names that the file has for them. */
function impersonation(
  flags: GlobalFlags,
  user: Readonly<Record<string, unknown>>,
  name: string,
): Readonly<Record<string, unknown>> {
  const extra = new Map<string, string[]>();
  for (const text of flags["as-user-extra"]) {
    const at = text.indexOf("=");
    if (at < 0) throw new KubectlError(`invalid impersonate user extra ${JSON.stringify(text)}: must be key=value`);
    extra.set(text.slice(0, at), [...(extra.get(text.slice(0, at)) ?? []), text.slice(at + 1)]);
  }
  const asUser = flags.as || user.as;
  const isIncomplete = flags["as-group"].length > 0 || flags["as-uid"] !== "" || extra.size > 0;
  if (!asUser && isIncomplete)
    throw new KubectlError(`requesting uid, groups or user-extra for ${name} without impersonating a user`);
  return {
    ...(flags.as !== "" && { as: flags.as }),
    ...(flags["as-uid"] !== "" && { "as-uid": flags["as-uid"] }),
    ...(flags["as-group"].length > 0 && { "as-groups": flags["as-group"] }),
    ...(extra.size > 0 && { "as-user-extra": Object.fromEntries(extra) }),
  };
}

const isInCluster = ({ env }: Io): boolean =>
  Boolean(env.KUBERNETES_SERVICE_HOST && env.KUBERNETES_SERVICE_PORT) &&
  existsSync(join(serviceAccountFolder, "token"));

function inCluster(io: Io, flags: GlobalFlags): ClientConfig {
  const host = io.env.KUBERNETES_SERVICE_HOST ?? "";
  const namespaceFile = join(serviceAccountFolder, "namespace");
  const own = existsSync(namespaceFile) ? readFileSync(namespaceFile, "utf8").trim() : undefined;
  return {
    server: `https://${host.includes(":") ? `[${host}]` : host}:${io.env.KUBERNETES_SERVICE_PORT}`,
    cluster: { "certificate-authority": join(serviceAccountFolder, "ca.crt") },
    user: { tokenFile: join(serviceAccountFolder, "token"), ...impersonation(flags, {}, "") },
    userName: "",
    contextName: "",
    ...namespaceOf(flags, io.env.POD_NAMESPACE || own),
  };
}
