// Where manifests come from: files, folders, patterns, addresses and the standard input
// (upstream: cli-runtime/pkg/resource/builder.go and visitor.go).
import { globSync, readdirSync, readFileSync, statSync } from "node:fs";
import { extname, join, resolve } from "node:path";
import { hasCode } from "#base/errors.ts";
import { DecodeError, decodeUtf8 } from "#schema/json.ts";
import { parseYamlDocuments } from "#wire/yaml/read.ts";
import { KubectlError } from "../errors.ts";
import { type Io, readAll } from "../io.ts";
import { parseAnswer } from "../rest/client.ts";

export interface ManifestSource {
  /** As errors name it. */
  readonly name: string;
  read(): Promise<string>;
}

const extensions = [".json", ".yaml", ".yml"];
const addressAttempts = 3;

export interface SourcesOfManifests {
  readonly sources: readonly ManifestSource[];
  readonly errors: readonly Error[];
  readonly usesStdin: boolean;
  readonly isFolder: boolean;
}

/** What `-f` names, in order. Files are read later; whether they exist is known now. */
export function manifestSources(io: Io, filenames: readonly string[], isRecursive: boolean): SourcesOfManifests {
  const sources: ManifestSource[] = [];
  const errors: Error[] = [];
  let usesStdin = false;
  let isFolder = false;
  for (const filename of filenames) {
    if (filename === "-") {
      if (usesStdin) errors.push(new KubectlError("standard input cannot be used for multiple arguments"));
      usesStdin = true;
      sources.push({ name: "STDIN", read: async () => textOf(await readAll(io.stdin), "STDIN") });
    } else if (/^https?:\/\//.test(filename)) {
      sources.push({ name: filename, read: () => readAddress(io, filename) });
    } else {
      const found = filesAt(io.cwd, filename, isRecursive);
      if (found.error) errors.push(found.error);
      if (found.files.length > 1) isFolder = true;
      sources.push(
        ...found.files.map((name) => ({ name, read: async () => textOf(readFile(resolve(io.cwd, name), name), name) })),
      );
    }
  }
  return { sources, errors, usesStdin, isFolder };
}

interface FoundFiles {
  readonly files: readonly string[];
  readonly error?: Error;
}

function filesAt(cwd: string, pattern: string, isRecursive: boolean): FoundFiles {
  const isThere = (path: string) => statSync(resolve(cwd, path), { throwIfNoEntry: false }) !== undefined;
  const matches = isThere(pattern) ? [pattern] : globSync(pattern, { cwd }).toSorted();
  if (matches.length === 0)
    return { files: [], error: new KubectlError(`the path ${JSON.stringify(pattern)} does not exist`) };
  const files = matches.flatMap((path) => [...walk(cwd, path, isRecursive)]);
  if (files.length > 0) return { files };
  return {
    files,
    error: new KubectlError(
      `error reading [${matches.join(" ")}]: recognized file extensions are [${extensions.join(" ")}]`,
    ),
  };
}

function* walk(cwd: string, path: string, isRecursive: boolean): Generator<string> {
  if (!statSync(resolve(cwd, path)).isDirectory()) {
    yield path;
    return;
  }
  const entries = readdirSync(resolve(cwd, path), { withFileTypes: true }).toSorted((a, b) =>
    a.name < b.name ? -1 : 1,
  );
  for (const entry of entries) {
    const inside = join(path, entry.name);
    if (entry.isDirectory()) {
      if (isRecursive) yield* walk(cwd, inside, true);
    } else if (extensions.includes(extname(entry.name))) yield inside;
  }
}

function readFile(path: string, name: string): Uint8Array {
  try {
    return readFileSync(path);
  } catch (cause) {
    const why = hasCode(cause, "EACCES") ? "permission denied" : String(cause);
    throw new KubectlError(`open ${name}: ${why}`, { cause });
  }
}

async function readAddress(io: Io, address: string): Promise<string> {
  for (let attempt = 1; ; attempt++) {
    const answer = await fetch(address, { signal: io.signal });
    if (answer.status === 200) return textOf(new Uint8Array(await answer.arrayBuffer()), address);
    await answer.body?.cancel();
    const error = new KubectlError(
      `unable to read URL ${JSON.stringify(address)}, server reported ${answer.status} ${answer.statusText}, status code=${answer.status}`,
    );
    if (answer.status < 500 || attempt === addressAttempts) throw error;
    await io.clock.sleep(1000, io.signal);
  }
}

/** UTF-8, or UTF-16 with a byte order mark. */
function textOf(bytes: Uint8Array, source: string): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder("utf-16be").decode(bytes);
  try {
    return decodeUtf8(bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes);
  } catch (cause) {
    if (!(cause instanceof DecodeError)) throw cause;
    throw new KubectlError(`error parsing ${source}: it is not valid UTF-8`, { cause });
  }
}

/** The documents of a text in JSON or YAML; empty ones are left out. Throws KubectlError that names the source. */
export function manifestDocuments(text: string, source: string): readonly unknown[] {
  try {
    if (/^\s*\{/.test(text)) return jsonDocuments(text);
    return parseYamlDocuments(text)
      .map((document) => document.exactValue())
      .filter((value) => value !== null && value !== undefined);
  } catch (cause) {
    if (cause instanceof RangeError) throw new KubectlError(`error parsing ${source}: nested too deeply`, { cause });
    if (!(cause instanceof DecodeError) && !(cause instanceof SyntaxError)) throw cause;
    throw new KubectlError(`error parsing ${source}: ${cause.message}`, { cause });
  }
}

/** YAML has the same limit. */
const mostDepth = 500;

/** Goes down level by level: what is nested without end would break a recursion. */
function isDeeper(value: unknown, levels: number): boolean {
  let level = [value];
  for (let left = levels; level.length > 0; left--) {
    if (left < 0) return true;
    level = level.flatMap((one) => (one !== null && typeof one === "object" ? Object.values(one) : []));
  }
  return false;
}

/** One object after another, with or without whitespace between; what begins as JSON and is none may be YAML. */
function jsonDocuments(text: string): readonly unknown[] {
  try {
    const value = parseAnswer(text);
    if (isDeeper(value, mostDepth)) throw new RangeError(`nested deeper than ${mostDepth} levels`);
    return [value];
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  return parseYamlDocuments(text.replace(/\}\s*\{/g, "}\n---\n{"))
    .map((document) => document.exactValue())
    .filter((value) => value !== null && value !== undefined);
}
