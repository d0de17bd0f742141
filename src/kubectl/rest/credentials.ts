// What proves who one is: certificates, tokens, passwords, and programs that give them out
// (upstream: client-go/plugin/pkg/client/auth/exec/exec.go).
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { isObject } from "#base/is-object.ts";
import type { KubeUser } from "#client/kubeconfig.ts";
import { KubectlError } from "../errors.ts";
import type { Io } from "../io.ts";
import { parseAnswer } from "./client.ts";

export interface ClientCredentials {
  readonly cert?: string;
  readonly key?: string;
  /** The value of the Authorization header. */
  readonly authorization?: string;
  /** Headers by which one acts as another user. */
  readonly impersonation: Readonly<Record<string, string | readonly string[]>>;
}

export async function credentialsOf(user: KubeUser, server: string, io: Io): Promise<ClientCredentials> {
  const cert = pem(user, "client-certificate");
  const key = pem(user, "client-key");
  const impersonation = impersonationHeaders(user);
  const authorization = authorizationOf(user);
  if (authorization === undefined && cert === undefined && isObject(user.exec))
    return { ...(await fromProgram(user.exec, server, io)), impersonation };
  return {
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    ...(authorization !== undefined && { authorization }),
    impersonation,
  };
}

/** What stands in the file itself counts before the file it names. */
export function pem(entry: Readonly<Record<string, unknown>>, field: string): string | undefined {
  const data = entry[`${field}-data`];
  if (typeof data === "string" && data !== "") return Buffer.from(data, "base64").toString();
  const path = entry[field];
  if (typeof path !== "string" || path === "") return undefined;
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new KubectlError(
      `unable to read ${field} ${path}: ${(cause as NodeJS.ErrnoException).code === "ENOENT" ? `open ${path}: no such file or directory` : String(cause)}`,
      { cause },
    );
  }
}

function authorizationOf({ token, tokenFile, username, password }: KubeUser): string | undefined {
  if (token) return `Bearer ${token}`;
  if (tokenFile) return `Bearer ${readFileSync(tokenFile, "utf8").trim()}`;
  if (username) return `Basic ${Buffer.from(`${username}:${password ?? ""}`).toString("base64")}`;
  return undefined;
}

function impersonationHeaders(user: KubeUser): ClientCredentials["impersonation"] {
  if (typeof user.as !== "string" || user.as === "") return {};
  const headers: Record<string, string | readonly string[]> = { "impersonate-user": user.as };
  if (typeof user["as-uid"] === "string") headers["impersonate-uid"] = user["as-uid"];
  const groups = user["as-groups"];
  if (Array.isArray(groups)) headers["impersonate-group"] = groups.map(String);
  const extra = user["as-user-extra"];
  if (isObject(extra))
    for (const [name, values] of Object.entries(extra))
      headers[`impersonate-extra-${encodeURIComponent(name)}`] = [values].flat().map(String);
  return headers;
}

const programOutputLimit = 16 * 1024 * 1024;

/** Runs the program of an `exec` entry, which prints an ExecCredential. */
async function fromProgram(
  exec: Readonly<Record<string, unknown>>,
  server: string,
  io: Io,
): Promise<Omit<ClientCredentials, "impersonation">> {
  const { command, args = [], env = [], apiVersion, installHint } = exec;
  if (typeof command !== "string" || command === "") throw new KubectlError("exec plugin: command is not set");
  const info = { kind: "ExecCredential", apiVersion, spec: { interactive: io.stdin.isTTY === true } };
  const given = (Array.isArray(env) ? env : [])
    .filter(isObject)
    .map(({ name, value }) => [String(name), String(value)]);
  const output = await new Promise<string>((done, fail) => {
    const child = execFile(
      command,
      (Array.isArray(args) ? args : []).map(String),
      {
        cwd: io.cwd,
        env: { ...io.env, ...Object.fromEntries(given), KUBERNETES_EXEC_INFO: JSON.stringify(info) },
        maxBuffer: programOutputLimit,
        signal: io.signal,
      },
      (error, stdout) => {
        if (!error) return done(stdout);
        const why =
          error.code === "ENOENT"
            ? `executable ${command} not found`
            : `executable ${command} failed with exit code ${error.code}`;
        const hint = error.code === "ENOENT" && typeof installHint === "string" ? `\n\n${installHint}` : "";
        fail(new KubectlError(`getting credentials: exec: ${why}${hint}`, { cause: error }));
      },
    );
    child.stderr?.on("data", (text: string) => io.stderr.write(text));
  });
  return statusOf(output, server);
}

function statusOf(output: string, server: string): Omit<ClientCredentials, "impersonation"> {
  let value: unknown;
  try {
    value = parseAnswer(output);
  } catch (cause) {
    throw new KubectlError(`getting credentials for ${server}: decoding stdout: ${String(cause)}`, { cause });
  }
  const status = isObject(value) && isObject(value.status) ? value.status : undefined;
  if (!status) throw new KubectlError("getting credentials: exec plugin didn't return a status field");
  const { token, clientCertificateData: cert, clientKeyData: key } = status;
  return {
    ...(typeof token === "string" && { authorization: `Bearer ${token}` }),
    ...(typeof cert === "string" && { cert }),
    ...(typeof key === "string" && { key }),
  };
}
