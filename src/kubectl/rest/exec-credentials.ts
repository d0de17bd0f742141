// Programs that give out credentials (upstream: client-go/plugin/pkg/client/auth/exec/exec.go).
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename, delimiter, join, normalize } from "node:path";
import { isObject } from "#base/is-object.ts";
import type { KubeCluster } from "#client/kubeconfig.ts";
import { KubectlError } from "../errors.ts";
import { type Io, readAll } from "../io.ts";
import type { PluginPolicy } from "../kuberc/preference.ts";
import { isProgram } from "../plugins.ts";
import { parseAnswer } from "./client.ts";
import type { CredentialIssuer, IssuedCredentials } from "./credentials.ts";

type Entry = Readonly<Record<string, unknown>>;

export interface ExecOptions {
  readonly exec: Entry;
  readonly server: string;
  readonly cluster: KubeCluster;
  readonly io: Io;
  readonly policy: PluginPolicy | undefined;
}

const group = "client.authentication.k8s.io";
const outputLimit = 16 * 1024 * 1024;

/** Runs the program when credentials are first needed, when they have expired, and when the server refused them. */
export function execCredentials(options: ExecOptions): CredentialIssuer {
  const { apiVersion } = options.exec;
  if (apiVersion !== `${group}/v1` && apiVersion !== `${group}/v1beta1`)
    throw new KubectlError(`exec plugin: invalid apiVersion ${JSON.stringify(apiVersion ?? "")}`);
  let known: Promise<IssuedCredentials> | undefined;
  return {
    async current() {
      const expiresAt = (await known)?.expiresAt;
      if (expiresAt !== undefined && options.io.clock.now() > expiresAt) known = undefined;
      known ??= runProgram(options);
      return known;
    },
    refused() {
      known = undefined;
    },
  };
}

/** Rejects with KubectlError. */
async function runProgram(options: ExecOptions): Promise<IssuedCredentials> {
  const { exec, io, policy } = options;
  const fail = (why: string, cause?: unknown) => new KubectlError(`getting credentials: ${why}`, { cause });
  const command = typeof exec.command === "string" ? exec.command : "";
  if (command === "") throw new KubectlError("exec plugin: command is not set");
  const isInteractive = interactive(exec, io);
  const path = programPath(command, io);
  const refusal = refusalOf(policy, normalize(command), path, io);
  if (refusal !== undefined) throw fail(refusal);
  if (path === undefined) throw fail(`exec: executable ${command} not found${hintOf(exec)}`);
  const output = await outputOf(path, options, isInteractive).catch((error: unknown) => {
    if (io.signal.aborted) throw io.signal.reason;
    throw fail(
      `exec: ${error instanceof ExitCode ? `executable ${command} failed with exit code ${error.code}` : (error as Error).message}`,
      error,
    );
  });
  return issuedIn(output, String(exec.apiVersion), fail);
}

/** Whether the program may ask the person. Throws KubectlError. */
function interactive({ interactiveMode, apiVersion }: Entry, { stdin }: Io): boolean {
  // Only the older version does without it.
  const mode = interactiveMode ?? (apiVersion === `${group}/v1beta1` ? "IfAvailable" : "");
  const why = "getting credentials: exec plugin cannot support interactive mode: ";
  switch (mode) {
    case "Never":
      return false;
    case "IfAvailable":
      return stdin.isTTY === true;
    case "Always":
      if (!stdin.isTTY) throw new KubectlError(`${why}standard input is not a terminal`);
      return true;
    case "":
      throw new KubectlError(`interactiveMode must be specified for to use exec authentication plugin`);
    default:
      throw new KubectlError(`${why}unknown interactiveMode: ${JSON.stringify(mode)}`);
  }
}

function programPath(command: string, { env, cwd }: Io): string | undefined {
  if (command.includes("/")) {
    const path = command.startsWith("/") ? command : join(cwd, command);
    return isProgram(path) ? path : undefined;
  }
  return (env.PATH ?? "")
    .split(delimiter)
    .filter((folder) => folder !== "")
    .map((folder) => join(folder, command))
    .find(isProgram);
}

/** Why the person's preferences do not let it run; undefined if they do. */
function refusalOf(
  policy: PluginPolicy | undefined,
  command: string,
  path: string | undefined,
  io: Io,
): string | undefined {
  if (policy?.type === "DenyAll") return `plugin ${JSON.stringify(command)} not allowed: policy set to "DenyAll"`;
  if (policy?.type !== "Allowlist") return undefined;
  const isAllowed = policy.allowed.some(
    (entry) =>
      entry === command ||
      entry === path ||
      (path !== undefined && basename(entry) === basename(path) && programPath(entry, io) === path),
  );
  if (isAllowed) return undefined;
  return `plugin path ${JSON.stringify(path ?? command)} is not permitted by the credential plugin allowlist`;
}

const hintOf = ({ installHint }: Entry): string =>
  `\n\nIt looks like you are trying to use a client-go credential plugin that is not installed.\n\nTo learn more about this feature, consult the documentation available at:\n      https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins${typeof installHint === "string" && installHint !== "" ? `\n\n${installHint}` : ""}`;

class ExitCode extends Error {
  readonly code: number | null;

  constructor(code: number | null) {
    super(`exit code ${code}`);
    this.code = code;
  }
}

async function outputOf(path: string, options: ExecOptions, isInteractive: boolean): Promise<string> {
  const { exec, io } = options;
  const given = (Array.isArray(exec.env) ? exec.env : [])
    .filter(isObject)
    .map(({ name, value }) => [String(name), String(value)]);
  const child = spawn(path, (Array.isArray(exec.args) ? exec.args : []).map(String), {
    cwd: io.cwd,
    env: {
      ...io.env,
      ...Object.fromEntries(given),
      KUBERNETES_EXEC_INFO: JSON.stringify(execInfo(options, isInteractive)),
    },
    stdio: [isInteractive ? "inherit" : "ignore", "pipe", isInteractive ? "inherit" : "pipe"],
    signal: io.signal,
  });
  child.stderr?.on("data", (text: Uint8Array) => io.stderr.write(text));
  const ended = new Promise<number | null>((done, fail) => {
    child.once("error", fail);
    child.once("close", done);
  });
  const [code, bytes] = await Promise.all([
    ended,
    child.stdout ? readAll(child.stdout, outputLimit) : new Uint8Array(),
  ]);
  if (code !== 0) throw new ExitCode(code);
  return Buffer.from(bytes).toString("utf8");
}

/** What the program is told. */
function execInfo({ exec, server, cluster }: ExecOptions, isInteractive: boolean): object {
  const extensions = Array.isArray(cluster.extensions) ? cluster.extensions.filter(isObject) : [];
  const config = extensions.find(({ name }) => name === `${group}/exec`)?.extension;
  const ca = authority(cluster);
  const told = {
    server,
    ...(cluster["tls-server-name"] && { "tls-server-name": cluster["tls-server-name"] }),
    ...(cluster["insecure-skip-tls-verify"] === true && { "insecure-skip-tls-verify": true }),
    ...(ca !== undefined && { "certificate-authority-data": ca }),
    ...(typeof cluster["proxy-url"] === "string" && { "proxy-url": cluster["proxy-url"] }),
    config: config ?? null,
  };
  return {
    kind: "ExecCredential",
    apiVersion: exec.apiVersion,
    spec: { interactive: isInteractive, ...(exec.provideClusterInfo === true && { cluster: told }) },
  };
}

function authority(cluster: KubeCluster): string | undefined {
  const { "certificate-authority-data": data, "certificate-authority": file } = cluster;
  if (typeof data === "string" && data !== "") return data;
  return typeof file === "string" && file !== "" ? readFileSync(file).toString("base64") : undefined;
}

function issuedIn(
  output: string,
  apiVersion: string,
  fail: (why: string, cause?: unknown) => Error,
): IssuedCredentials {
  let value: unknown;
  try {
    value = parseAnswer(output);
  } catch (cause) {
    throw fail(`decoding stdout: ${cause instanceof Error ? cause.message : cause}`, cause);
  }
  if (!isObject(value) || value.kind !== "ExecCredential") throw fail("decoding stdout: it is no ExecCredential");
  if (value.apiVersion !== apiVersion)
    throw fail(
      `exec plugin is configured to use API version ${apiVersion}, plugin returned version ${value.apiVersion}`,
    );
  if (!isObject(value.status)) throw fail("exec plugin didn't return a status field");
  const { token = "", clientCertificateData: cert = "", clientKeyData: key = "", expirationTimestamp } = value.status;
  if (token === "" && cert === "" && key === "") throw fail("exec plugin didn't return a token or cert/key pair");
  if ((cert === "") !== (key === "")) throw fail("exec plugin returned only certificate or key, not both");
  const expiresAt = typeof expirationTimestamp === "string" ? Date.parse(expirationTimestamp) : Number.NaN;
  return {
    ...(token !== "" && { authorization: `Bearer ${token}` }),
    ...(cert !== "" && { cert: String(cert), key: String(key) }),
    ...(!Number.isNaN(expiresAt) && { expiresAt }),
  };
}
