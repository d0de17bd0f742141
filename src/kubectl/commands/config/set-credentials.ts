import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { isObject } from "#base/is-object.ts";
import { command } from "../../command.ts";
import { KubectlError } from "../../errors.ts";
import type { ParsedFlags } from "../../flags.ts";
import type { Session } from "../../session.ts";
import { entryIn, startingConfig, writeEntry } from "./config-files.ts";
import { unexpectedArguments } from "./contexts.ts";

const flags = {
  "auth-provider": { type: "string", help: "Which provider authenticates the user." },
  "auth-provider-arg": { type: "stringSlice", help: "Argument of the provider, as key=value; key- removes it." },
  "client-certificate": { type: "string", help: "Path to the client certificate." },
  "client-key": { type: "string", help: "Path to the key of the client certificate." },
  "embed-certs": { type: "bool", help: "Put certificate and key themselves into the kubeconfig." },
  "exec-api-version": { type: "string", help: "API version of the program's credentials." },
  "exec-arg": { type: "stringSlice", help: "Argument of the program." },
  "exec-command": { type: "string", help: "The program that gives out credentials." },
  "exec-env": { type: "stringArray", help: "Environment of the program, as key=value; key- removes it." },
  "exec-interactive-mode": { type: "string", help: "Whether the program may ask: Never, IfAvailable or Always." },
  "exec-provide-cluster-info": { type: "bool", help: "Tell the program about the cluster." },
  password: { type: "string", help: "Password for basic authentication." },
  token: { type: "string", help: "Bearer token." },
  username: { type: "string", help: "User name for basic authentication." },
} as const;
type CredentialFlags = ParsedFlags<typeof flags>;

export const setCredentials = command({
  use: "set-credentials NAME [--client-certificate=path/to/certfile] [--client-key=path/to/keyfile] [--token=bearer_token] [--username=basic_user] [--password=basic_password] [--auth-provider=provider_name] [--auth-provider-arg=key=value] [--exec-command=exec_command] [--exec-api-version=exec_api_version] [--exec-arg=arg] [--exec-env=key=value]",
  flags,
  async run(session, args, flags, { changed }) {
    const [name = ""] = args;
    if (args.length !== 1) throw unexpectedArguments(session, args, "set-credentials NAME");
    validate(name, flags);
    const user: Record<string, unknown> = { ...entryIn(await startingConfig(session), "users", name) };
    setCertificates(session, user, flags, changed);
    setSecrets(user, flags, changed);
    setProvider(user, flags, changed);
    setProgram(user, flags, changed);
    await writeEntry(session, "users", name, user);
    session.print(`User ${JSON.stringify(name)} set.`);
  },
});

function validate(name: string, flags: CredentialFlags): void {
  if (name === "") throw new KubectlError("you must specify a non-empty user name");
  const methods = [
    ...(flags.token === "" ? [] : ["--token"]),
    ...(flags.username === "" && flags.password === "" ? [] : ["--username/--password"]),
  ];
  if (methods.length > 1)
    throw new KubectlError(
      `you cannot specify more than one authentication method at the same time: ${methods.join(", ")}`,
    );
  if (flags["embed-certs"] && flags["client-certificate"] === "" && flags["client-key"] === "")
    throw new KubectlError("you must specify a --client-certificate or --client-key to embed");
}

function setCertificates(
  session: Session,
  user: Record<string, unknown>,
  flags: CredentialFlags,
  changed: ReadonlySet<string>,
): void {
  for (const field of ["client-certificate", "client-key"] as const) {
    if (!changed.has(field)) continue;
    const path = resolve(session.io.cwd, flags[field]);
    delete user[field];
    delete user[`${field}-data`];
    if (!flags["embed-certs"]) user[field] = path;
    else
      try {
        user[`${field}-data`] = readFileSync(path).toString("base64");
      } catch (cause) {
        throw new KubectlError(
          `could not stat ${field} file ${flags[field]}: stat ${flags[field]}: no such file or directory`,
          { cause },
        );
      }
  }
}

/** A token and a password exclude each other. */
function setSecrets(user: Record<string, unknown>, flags: CredentialFlags, changed: ReadonlySet<string>): void {
  if (changed.has("token")) {
    user.token = flags.token;
    if (flags.token !== "") {
      delete user.username;
      delete user.password;
    }
  }
  for (const field of ["username", "password"] as const) if (changed.has(field)) user[field] = flags[field];
  if (flags.username !== "" || flags.password !== "") delete user.token;
}

function setProvider(user: Record<string, unknown>, flags: CredentialFlags, changed: ReadonlySet<string>): void {
  if (!changed.has("auth-provider") && !changed.has("auth-provider-arg")) return;
  const known = isObject(user["auth-provider"]) ? user["auth-provider"] : {};
  const config = new Map(Object.entries(isObject(known.config) ? known.config : {}));
  changeEntries(config, flags["auth-provider-arg"], "auth-provider-arg");
  const name = changed.has("auth-provider") ? flags["auth-provider"] : known.name;
  user["auth-provider"] = { name, config: config.size === 0 ? null : Object.fromEntries(config) };
}

function setProgram(user: Record<string, unknown>, flags: CredentialFlags, changed: ReadonlySet<string>): void {
  if (![...changed].some((flag) => flag.startsWith("exec-"))) return;
  const known = isObject(user.exec) ? user.exec : {};
  const list = Array.isArray(known.env) ? known.env.filter(isObject) : [];
  const env = new Map(list.map(({ name, value }) => [String(name), value]));
  changeEntries(env, flags["exec-env"], "exec-env");
  user.exec = {
    args: null,
    command: "",
    provideClusterInfo: false,
    ...known,
    ...(changed.has("exec-command") && { command: flags["exec-command"] }),
    ...(changed.has("exec-api-version") && { apiVersion: flags["exec-api-version"] }),
    ...(changed.has("exec-arg") && { args: flags["exec-arg"] }),
    ...(changed.has("exec-interactive-mode") && { interactiveMode: flags["exec-interactive-mode"] }),
    ...(changed.has("exec-provide-cluster-info") && { provideClusterInfo: flags["exec-provide-cluster-info"] }),
    env: env.size === 0 && !isObject(user.exec) ? null : [...env].map(([name, value]) => ({ name, value })),
  };
}

/** `key=value` sets, `key-` removes. */
function changeEntries(entries: Map<string, unknown>, changes: readonly string[], flag: string): void {
  for (const change of changes) {
    const at = change.indexOf("=");
    if (at >= 0) entries.set(change.slice(0, at), change.slice(at + 1));
    else if (change.endsWith("-")) entries.delete(change.slice(0, -1));
    else throw new KubectlError(`invalid ${flag}: ${change}`);
  }
}
