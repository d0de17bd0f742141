// What config maps and secrets are made from: literals, files, folders and files of variables
// (upstream: kubectl/pkg/util/util.go, kubectl/pkg/cmd/util/env_file.go).
import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { hasCode } from "#base/errors.ts";
import { KubectlError } from "../errors.ts";

export interface KeyValueSources {
  /** Of the object that they are for. */
  readonly name: string;
  readonly literals: readonly string[];
  readonly files: readonly string[];
  readonly envFiles: readonly string[];
}

/** Each key with its bytes, in the order of the sources. Throws KubectlError. */
export function keyValues(
  sources: KeyValueSources,
  kind: "ConfigMap" | "Secret",
  io: KeyValueFiles,
): Map<string, Uint8Array> {
  const found = new Map<string, Uint8Array>();
  const add = (key: string, value: Uint8Array) => {
    const problem = keyProblem(key);
    if (problem !== undefined)
      throw new KubectlError(
        `${JSON.stringify(key)} is not ${kind === "Secret" ? "valid key name for a Secret" : "a valid key name for a ConfigMap:"} ${problem}`,
      );
    if (found.has(key))
      throw new KubectlError(
        `cannot add key ${kind === "Secret" ? key : JSON.stringify(key)}, another key by that name already exists${kind === "Secret" ? "" : ` in Data for ConfigMap ${JSON.stringify(sources.name)}`}`,
      );
    found.set(key, value);
  };
  const text = new TextEncoder();
  const literals = () => {
    for (const literal of sources.literals) {
      const [key, value] = literalSource(literal);
      add(key, text.encode(value));
    }
  };
  const files = () => {
    for (const file of sources.files) for (const [key, value] of fileSource(file, io.cwd)) add(key, value);
  };
  // Upstream reads files first for one kind and literals first for the other, which shows in what is refused first.
  for (const read of kind === "Secret" ? [literals, files] : [files, literals]) read();
  for (const file of sources.envFiles)
    for (const [key, value] of envFileSource(file, kind, io)) add(key, text.encode(value));
  return found;
}

export interface KeyValueFiles {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

function keyProblem(key: string): string | undefined {
  if (key.length > 253) return "must be no more than 253 characters";
  if (!/^[-._a-zA-Z0-9]+$/.test(key))
    return "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
  if (key === ".") return "must not be '.'";
  if (key === "..") return "must not be '..'";
  return key.startsWith("..") ? "must not start with '..'" : undefined;
}

function literalSource(source: string): readonly [string, string] {
  const at = source.indexOf("=");
  if (at <= 0) throw new KubectlError(`invalid literal source ${source}, expected key=value`);
  const value = source.slice(at + 1);
  const isQuoted = value.length >= 2 && /^(["']).*\1$/s.test(value);
  return [source.slice(0, at), isQuoted ? value.slice(1, -1) : value];
}

function* fileSource(source: string, cwd: string): Generator<readonly [string, Uint8Array]> {
  const parts = source.split("=");
  if (parts.length > 2) throw new KubectlError("key names or file paths cannot contain '='");
  const [key, path] = parts.length === 1 ? [basename(source), source] : (parts as [string, string]);
  if (parts.length === 2 && key === "") throw new KubectlError(`key name for file path ${path} missing`);
  if (parts.length === 2 && path === "") throw new KubectlError(`file path for key name ${key} missing`);
  if (statOf(path, cwd).isDirectory()) {
    if (parts.length === 2) throw new KubectlError("cannot give a key name for a directory path");
    const entries = readdirSync(resolve(cwd, path), { withFileTypes: true });
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1)))
      if (entry.isFile()) yield [entry.name, readFileSync(join(resolve(cwd, path), entry.name))];
  } else yield [key, readFileSync(resolve(cwd, path))];
}

function statOf(path: string, cwd: string) {
  try {
    return statSync(resolve(cwd, path));
  } catch (cause) {
    const why = hasCode(cause, "ENOENT")
      ? "no such file or directory"
      : hasCode(cause, "EACCES")
        ? "permission denied"
        : String(cause);
    throw new KubectlError(`error reading ${path}: ${why}`, { cause });
  }
}

/** A name alone stands for the variable of that name, if there is one. */
function* envFileSource(path: string, kind: string, { cwd, env }: KeyValueFiles): Generator<readonly [string, string]> {
  if (statOf(path, cwd).isDirectory())
    throw new KubectlError(`env ${kind === "Secret" ? "secret" : "config"} file cannot be a directory`);
  const text = readFileSync(resolve(cwd, path), "utf8").replace(/^\ufeff/, "");
  for (const raw of text.split("\n")) {
    const line = raw.replace(/\r$/, "").trimStart();
    if (line === "" || line.startsWith("#")) continue;
    const at = line.indexOf("=");
    const key = at < 0 ? line : line.slice(0, at);
    if (!/^[-._a-zA-Z][-._a-zA-Z0-9]*$/.test(key))
      throw new KubectlError(
        `${JSON.stringify(key)} is not a valid key name: a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit (e.g. 'my.env-name',  or 'MY_ENV.NAME',  or 'MyEnvName1', regex used for validation is '[-._a-zA-Z][-._a-zA-Z0-9]*')`,
      );
    if (at >= 0) yield [key, line.slice(at + 1)];
    else if (env[key] !== undefined) yield [key, env[key]];
  }
}
