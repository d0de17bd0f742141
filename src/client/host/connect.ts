// From a kubeconfig, or from inside a pod, to a client.
import { existsSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "#base/clock.ts";
import { UsageError } from "#base/errors.ts";
import { Client } from "../client.ts";
import { type CredentialSource, impersonationHeaders } from "../credentials.ts";
import type { Discovery } from "../discovery.ts";
import { type KubeCluster, type KubeUser, type ResolvedContext, resolveContext } from "../kubeconfig.ts";
import { ServerDiscovery } from "../server-discovery.ts";
import { execCredentials } from "./exec-credentials.ts";
import type { ClientPair } from "./http2-session.ts";
import { type HttpsTransportOptions, httpsTransport } from "./https-transport.ts";
import { type KubeconfigPlace, kubeconfigPaths, loadKubeconfig } from "./kubeconfig-files.ts";
import { oidcCredentials } from "./oidc-credentials.ts";

export interface ConnectOptions extends KubeconfigPlace {
  readonly context?: string;
  readonly userAgent: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export interface Connection {
  readonly client: Client;
  /** The namespace of the context. */
  readonly namespace: string;
  /** Gets the text under a path that is not an object's. */
  read(path: string): Promise<string>;
  readonly discovery: Discovery;
  close(): void;
}

const serviceAccountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";
/** Objects per page of a list. */
export const pageSize = 500;
const tokenMs = 60_000;

/** A client for the cluster of the kubeconfig or, without one, for the cluster that this process runs in. */
export async function connectClient(options: ConnectOptions): Promise<Connection> {
  const { userAgent, signal } = options;
  const { namespace, ...https } = await connection(options);
  const { transport, read, document, close } = httpsTransport(https);
  const user = { name: "", groups: [] }; // the server knows us by our credentials
  return {
    client: new Client({ transport, user, userAgent, signal, pageSize }),
    namespace,
    read: (path) => read(path, { userAgent, signal }),
    discovery: new ServerDiscovery((path, how) => document(path, { ...how, userAgent })),
    close,
  };
}

/** Where such a client would connect to, with which credentials, and the namespace of the context. */
export async function connection(
  options: Omit<ConnectOptions, "userAgent" | "signal">,
): Promise<HttpsTransportOptions & { readonly namespace: string }> {
  const { env, clock } = options;
  const config = await loadKubeconfig(options);
  const isEmpty = config.clusters.length === 0 && config.contexts.length === 0;
  const context =
    isEmpty && !options.explicit && options.context === undefined && isInCluster(env)
      ? await inCluster(env)
      : resolveContext(config, kubeconfigPaths(options).join(", "), options.context);
  return { ...(await transportOptions(context, clock)), namespace: context.namespace };
}

/** The certificate that a kubeconfig says now; undefined if it has none. */
export async function clientPair(options: KubeconfigPlace): Promise<ClientPair | undefined> {
  const config = await loadKubeconfig(options);
  const { user } = resolveContext(config, kubeconfigPaths(options).join(", "));
  const [cert, key] = await Promise.all([pem(user, "client-certificate"), pem(user, "client-key")]);
  return cert === undefined || key === undefined ? undefined : { cert, key };
}

const isInCluster = (env: ConnectOptions["env"]): boolean =>
  Boolean(env.KUBERNETES_SERVICE_HOST && env.KUBERNETES_SERVICE_PORT) &&
  existsSync(join(serviceAccountFolder, "token"));

async function inCluster(env: ConnectOptions["env"]): Promise<ResolvedContext> {
  const host = env.KUBERNETES_SERVICE_HOST ?? "";
  const namespaceFile = join(serviceAccountFolder, "namespace");
  return {
    cluster: {
      server: `https://${host.includes(":") ? `[${host}]` : host}:${env.KUBERNETES_SERVICE_PORT}`,
      "certificate-authority": join(serviceAccountFolder, "ca.crt"),
    },
    user: { tokenFile: join(serviceAccountFolder, "token") },
    namespace: existsSync(namespaceFile) ? (await readFile(namespaceFile, "utf8")).trim() : "default",
  };
}

/** Throws UsageError for credentials that cannot be used. */
export async function transportOptions(
  { cluster, user }: ResolvedContext,
  clock: Clock,
): Promise<HttpsTransportOptions> {
  const { server } = cluster;
  if (!/^https:\/\//.test(server)) throw new UsageError(`server ${server}: only https is spoken`);
  if (cluster["proxy-url"]) throw new UsageError(`server ${server}: proxy-url is not supported`);
  const [ca, cert, key] = await Promise.all([
    pem(cluster, "certificate-authority"),
    pem(user, "client-certificate"),
    pem(user, "client-key"),
  ]);
  if ((cert === undefined) !== (key === undefined))
    throw new UsageError(`server ${server}: client-certificate and client-key belong together`);
  const serverName = cluster["tls-server-name"];
  const source = sourceOf(cluster, user, clock);
  // A connection has one client certificate for life, so a certificate from a credential program is fetched before connecting.
  const given = cert === undefined ? await source?.current() : undefined;
  const authorization = source ? async () => (await source.current()).authorization : authorizationOf(user, clock);
  const headers = impersonationHeaders(user);
  return {
    server,
    clock,
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(given?.cert !== undefined && { cert: given.cert, key: given.key }),
    ...(source && { refused: () => source.refused() }),
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(serverName !== undefined && { serverName }),
    ...(cluster["insecure-skip-tls-verify"] && { insecure: true }),
    ...(authorization && { authorization }),
  };
}

/** Credentials from a program or an issuer. Those in the kubeconfig itself take precedence. */
function sourceOf(cluster: KubeCluster, user: KubeUser, clock: Clock): CredentialSource | undefined {
  if (user.token || user.tokenFile || user.username) return undefined;
  if (user.exec !== undefined) return execCredentials(user.exec, cluster, clock);
  const provider = user["auth-provider"];
  return provider === undefined ? undefined : oidcCredentials(provider, (path) => readFileSync(path, "utf8"), clock);
}

/** Data in the kubeconfig takes precedence over the file that it names. */
async function pem(entry: Readonly<Record<string, unknown>>, field: string): Promise<string | undefined> {
  const data = entry[`${field}-data`];
  if (typeof data === "string" && data !== "") {
    const text = Buffer.from(data, "base64").toString();
    if (!text.includes("-----BEGIN ")) throw new UsageError(`${field}-data: expected PEM in base64`);
    return text;
  }
  const path = entry[field];
  if (typeof path !== "string" || path === "") return undefined;
  return readCredential(path, field);
}

async function readCredential(path: string, field: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new UsageError(`${field}: cannot read ${path}`, { cause });
  }
}

/** A token file is read again every minute: whoever gives tokens out renews them there. */
function authorizationOf(user: KubeUser, clock: Clock): HttpsTransportOptions["authorization"] {
  const { token, tokenFile, username, password } = user;
  if (tokenFile) {
    let known: { readonly text: string; readonly at: number } | undefined;
    return async () => {
      if (!known || clock.elapsed() - known.at >= tokenMs)
        known = { text: (await readCredential(tokenFile, "tokenFile")).trim(), at: clock.elapsed() };
      return `Bearer ${known.text}`;
    };
  }
  if (token) return async () => `Bearer ${token}`;
  if (username !== undefined)
    return async () => `Basic ${Buffer.from(`${username}:${password ?? ""}`).toString("base64")}`;
  return undefined;
}
