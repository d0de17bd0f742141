// Credentials that a program gives: the `exec` of a kubeconfig's user. Follows client-go/plugin/pkg/client/auth/exec upstream.
import type { Clock } from "#base/clock.ts";
import { explain, UsageError } from "#base/errors.ts";
import { runProgram } from "#base/host/run-program.ts";
import { isObject } from "#base/is-object.ts";
import { DecodeError, parseJson } from "#schema/json.ts";
import { type CredentialSource, type ExpiringCredential, ExpiringCredentials } from "../credentials.ts";
import type { KubeCluster } from "../kubeconfig.ts";

const versions = ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];
/** A program that waits for longer is waiting for a person who is not there. */
const programMs = 60_000;

interface ExecPlugin {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly apiVersion: string;
  readonly installHint: string;
  readonly providesCluster: boolean;
}

/** Throws UsageError for an `exec` that cannot be run. The program is run when credentials are first asked for. */
export function execCredentials(exec: unknown, cluster: KubeCluster, clock: Clock): CredentialSource {
  const plugin = pluginOf(exec);
  return new ExpiringCredentials(() => credentialOf(plugin, cluster, clock), clock);
}

function pluginOf(exec: unknown): ExecPlugin {
  if (!isObject(exec)) throw new UsageError("exec: expected a mapping");
  const { command, args = [], env, apiVersion, installHint = "", provideClusterInfo, interactiveMode } = exec;
  if (typeof command !== "string" || command === "") throw new UsageError("exec: command must be specified");
  if (!Array.isArray(args)) throw new UsageError("exec: args must be a list");
  if (!versions.some((known) => known === apiVersion))
    throw new UsageError(`exec: invalid apiVersion ${JSON.stringify(apiVersion)}; use ${versions.join(" or ")}`);
  if (interactiveMode === "Always")
    throw new UsageError("exec: the program wants a terminal (interactiveMode: Always), and there is none here");
  const variables = (Array.isArray(env) ? env : [])
    .filter(isObject)
    .map(({ name, value }) => [String(name), String(value)]);
  return {
    command: [command, ...args.map(String)],
    env: Object.fromEntries(variables),
    apiVersion: String(apiVersion),
    installHint: String(installHint),
    providesCluster: provideClusterInfo === true,
  };
}

async function credentialOf(plugin: ExecPlugin, cluster: KubeCluster, clock: Clock): Promise<ExpiringCredential> {
  const { command, env, apiVersion, installHint, providesCluster } = plugin;
  const spec = { interactive: false, ...(providesCluster && { cluster: clusterInfo(cluster) }) };
  const info = JSON.stringify({ kind: "ExecCredential", apiVersion, spec });
  const late = new AbortController();
  const cancel = clock.after(programMs, () => late.abort(new Error(`it did not end within ${programMs} ms`)));
  let output: string;
  try {
    output = await runProgram(command, { env: { ...env, KUBERNETES_EXEC_INFO: info }, signal: late.signal });
  } catch (cause) {
    const hint = installHint && `\n${installHint}`;
    throw new Error(`getting credentials: exec: ${explain(cause)}${hint}`, { cause });
  } finally {
    cancel();
  }
  return credentialIn(output, apiVersion);
}

const clusterInfo = (cluster: KubeCluster): object => ({
  server: cluster.server,
  ...(cluster["tls-server-name"] && { "tls-server-name": cluster["tls-server-name"] }),
  ...(cluster["insecure-skip-tls-verify"] && { "insecure-skip-tls-verify": true }),
  ...(cluster["certificate-authority-data"] && {
    "certificate-authority-data": cluster["certificate-authority-data"],
  }),
});

/** What a program printed is not shown in errors: it may be a secret. */
function credentialIn(output: string, apiVersion: string): ExpiringCredential {
  const wrong = (why: string) => new Error(`getting credentials: exec plugin ${why}`);
  let value: unknown;
  try {
    ({ value } = parseJson(output));
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw wrong("did not print JSON"); // the error would show what it printed
  }
  if (!isObject(value) || value.kind !== "ExecCredential") throw wrong("did not print an ExecCredential");
  if (value.apiVersion !== apiVersion)
    throw wrong(`is configured to use API version ${apiVersion}, plugin returned version ${String(value.apiVersion)}`);
  if (!isObject(value.status)) throw wrong("didn't return a status field");
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = value.status;
  const hasToken = typeof token === "string" && token !== "";
  const hasPair = typeof cert === "string" && cert !== "" && typeof key === "string" && key !== "";
  if (!hasPair && (cert || key)) throw wrong("returned only certificate or key, not both");
  if (!hasToken && !hasPair) throw wrong("didn't return a token or cert/key pair");
  const until = typeof expirationTimestamp === "string" ? Date.parse(expirationTimestamp) : undefined;
  return {
    credentials: { ...(hasToken && { authorization: `Bearer ${token}` }), ...(hasPair && { cert, key }) },
    until: Number.isNaN(until) ? undefined : until,
  };
}
