// Runs the same command lines with a real kubectl and with ours, each on a server of its own with the same objects, and tells where
// they differ: what they print, how they end, and what they ask of the server.
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "#base/clock.ts";
import { seededRandom } from "#base/random.ts";
import { kubectl } from "#kubectl/main.ts";
import { manifestDocuments } from "#kubectl/resources/manifest-files.ts";
import { ServerProcess } from "../apiserver/harness.ts";
import { type Kubectl, minorOf } from "../apiserver/kubectls.ts";
import { type ComparedServer, RealServer } from "./real-server.ts";
import { type RecordedRequest, Recorder } from "./recorder.ts";

const folder = fileURLToPath(new URL("lines", import.meta.url));
const files = join(folder, "files");

/** Lines that build on each other, in a namespace of their own. */
export interface LineBlock {
  /** Where it stands, for messages. */
  readonly name: string;
  readonly lines: readonly CommandLine[];
}

interface CommandLine {
  readonly text: string;
  /**
   * Which minor versions of the real kubectl are known to differ, and why is said above the line. They must differ, so that the list
   * stays short.
   */
  readonly differs: (minor: number) => boolean;
  /** What is printed and asked for comes in another order each time, since a real one goes through a map: it is compared sorted. */
  readonly isUnordered: boolean;
}

/**
 * Blocks are separated by empty lines; `#` begins a comment, `~` a line that is known to differ, `~1.34+` one that differs from a kubectl
 * of that version and newer, `~1.33-` from that version and older, and `%` one whose order is left to chance by a real kubectl.
 */
export function blocksIn(path: string): readonly LineBlock[] {
  const parts = readFileSync(path, "utf8").split(/\n\s*\n/);
  return parts.flatMap((part, i) => {
    const lines = part
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== "" && !line.startsWith("#"))
      .map(commandLine);
    return lines.length === 0 ? [] : [{ name: `${basename(path, ".txt")} ${i + 1}`, lines }];
  });
}

function commandLine(line: string): CommandLine {
  const [mark, known, minor, side, order] = /^(~(?:1\.(\d+)([+-]))?)?\s*(%)?\s*/.exec(line) ?? [""];
  const version = Number(minor);
  return {
    text: line.slice(mark.length),
    differs: (other) => known !== undefined && (side === "+" ? other >= version : side !== "-" || other <= version),
    // Managers of one second are in the order of their names, others in that of their times.
    isUnordered: order !== undefined || line.includes("--show-managed-fields"),
  };
}

export const allBlocks = (): readonly LineBlock[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith(".txt"))
    .toSorted()
    .flatMap((name) => blocksIn(join(folder, name)));

interface LineResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
  readonly requests: readonly RecordedRequest[];
}

/** One of the two that are compared: a server, and a way to run a line against it. */
class Side implements AsyncDisposable {
  readonly #server: ComparedServer;
  readonly #recorder: Recorder;
  readonly #home = mkdtempSync(join(tmpdir(), "knarr-differ-"));
  readonly #program: string | undefined;

  /** Without a program it is ours that runs, in this process. */
  private constructor(server: ComparedServer, recorder: Recorder, program: string | undefined) {
    this.#server = server;
    this.#recorder = recorder;
    this.#program = program;
  }

  static async start(program: string | undefined, kubeApiServer: string | undefined): Promise<Side> {
    // No controller makes the service accounts that pods would be refused without.
    const server = kubeApiServer
      ? await RealServer.start(kubeApiServer)
      : await ServerProcess.start({ flags: ["--disable-admission-plugins=ServiceAccount"] });
    const side = new Side(
      server,
      await Recorder.start(server),
      program && join(mkdtempSync(join(tmpdir(), "knarr-differ-bin-")), "kubectl"),
    );
    // Messages contain the name it is called by.
    if (program && side.#program) symlinkSync(program, side.#program);
    for (const name of ["worker-1", "worker-2"])
      await side.#post("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name, labels: { zone: name } } });
    return side;
  }

  /** Makes the namespace of a block, with the objects every block begins with. */
  async prepare(namespace: string): Promise<void> {
    const cluster = { name: "c", cluster: { server: this.#recorder.url } };
    const context = { name: "x", context: { cluster: "c", user: "u", namespace } };
    const config = {
      apiVersion: "v1",
      kind: "Config",
      clusters: [cluster],
      users: [{ name: "u", user: {} }],
      contexts: [context],
      "current-context": "x",
    };
    mkdirSync(join(this.#home, ".kube"), { recursive: true });
    writeFileSync(join(this.#home, ".kube/config"), JSON.stringify(config));
    await this.#post("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
    for (const document of manifestDocuments(readFileSync(join(folder, "objects.yaml"), "utf8"), "objects.yaml")) {
      const { apiVersion, kind } = document as { readonly apiVersion: string; readonly kind: string };
      const base = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
      await this.#post(`${base}/namespaces/${namespace}/${kind.toLowerCase()}s`, document as object);
    }
    this.#recorder.take();
  }

  async run(line: string): Promise<LineResult> {
    const { args, input, variables } = words(line);
    const env = { HOME: this.#home, PATH: process.env.PATH, TZ: "UTC", KUBE_EDITOR: "true", ...variables };
    const { stdout, stderr, code } = await (this.#program === undefined
      ? runOurs(args, env, input)
      : runReal(this.#program, args, env, input));
    return { stdout, stderr, code, requests: this.#recorder.take() };
  }

  /** What stands in messages of this side alone. */
  get places(): readonly string[] {
    return [this.#recorder.url, this.#home];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#recorder[Symbol.asyncDispose]();
    await this.#server[Symbol.asyncDispose]();
    rmSync(this.#home, { recursive: true, force: true });
    if (this.#program) rmSync(dirname(this.#program), { recursive: true, force: true });
  }

  async #post(path: string, object: object): Promise<void> {
    const answer = await fetch(`${this.#recorder.url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(object),
    });
    if (!answer.ok) throw new Error(`prepare ${path}: ${await answer.text()}`);
  }
}

interface LineWords {
  readonly args: readonly string[];
  readonly input: string;
  readonly variables: Readonly<Record<string, string>>;
}

/** Splits as a shell does, with quotes; `NAME=value` before the command is for its environment, `< file` at the end its standard input. */
export function words(line: string): LineWords {
  const found = [...line.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g)].map(([word]) =>
    word.replace(/'([^']*)'|"([^"]*)"/g, (_, a, b) => a ?? b),
  );
  const first = found.findIndex((word) => !/^[A-Z_]+=/.test(word));
  const variables = Object.fromEntries(
    found.slice(0, first).map((word) => [word.slice(0, word.indexOf("=")), word.slice(word.indexOf("=") + 1)]),
  );
  const args = found.slice(first);
  const at = args.indexOf("<");
  if (at < 0) return { args, input: "", variables };
  return { args: args.slice(0, at), input: readFileSync(join(files, args[at + 1] as string), "utf8"), variables };
}

type Ran = Omit<LineResult, "requests">;
/** No line is meant to go on for ever; one that does fails. */
const longestLineMs = 120_000;

async function runOurs(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  input: string,
): Promise<Ran> {
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  const code = await kubectl(args, {
    stdin: (async function* () {
      yield Buffer.from(input);
    })(),
    stdout: { write: (data) => out.push(Buffer.from(data as string)) },
    stderr: { write: (data) => err.push(Buffer.from(data as string)) },
    env,
    cwd: files,
    clock: systemClock,
    random: seededRandom(1),
    signal: AbortSignal.timeout(longestLineMs),
  });
  return { stdout: Buffer.concat(out).toString("utf8"), stderr: Buffer.concat(err).toString("utf8"), code };
}

function runReal(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  input: string,
): Promise<Ran> {
  return new Promise((done, fail) => {
    const child = spawn(program, args, { cwd: files, env, timeout: longestLineMs, killSignal: "SIGKILL" });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => out.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => err.push(chunk));
    child.on("error", fail);
    child.on("close", (code) =>
      done({
        stdout: Buffer.concat(out).toString("utf8"),
        stderr: Buffer.concat(err).toString("utf8"),
        code: code ?? -1,
      }),
    );
    child.stdin.on("error", () => undefined); // one that reads no input is fine
    child.stdin.end(input);
  });
}

export interface LineDifference {
  readonly line: string;
  /** What differs: stdout, stderr, code or requests. */
  readonly what: string;
  readonly real: string;
  readonly ours: string;
}

export interface DifferReport {
  readonly lines: number;
  readonly differences: readonly LineDifference[];
  /** Lines that are said to differ and do not. */
  readonly stale: readonly string[];
}

/** Runs the blocks with a real kubectl and with ours, against servers of ours or against a kube-apiserver of upstream. */
export async function compareBlocks(
  { path, version }: Kubectl,
  blocks: readonly LineBlock[],
  kubeApiServer?: string,
): Promise<DifferReport> {
  await using real = await Side.start(path, kubeApiServer);
  await using ours = await Side.start(undefined, kubeApiServer);
  const differences: LineDifference[] = [];
  const stale: string[] = [];
  const minor = minorOf(version);
  let lines = 0;
  for (const [i, block] of blocks.entries()) {
    const namespace = `differ-${i}`;
    await Promise.all([real.prepare(namespace), ours.prepare(namespace)]);
    for (const line of block.lines) {
      lines++;
      const [a, b] = await Promise.all([real.run(line.text), ours.run(line.text)]);
      const name = `${block.name}: ${line.text}`;
      const found = compare(name, minor < 34 ? asSince34(a) : a, b, line.isUnordered, [...real.places, ...ours.places]);
      if (!line.differs(minor)) differences.push(...found);
      else if (found.length === 0) stale.push(name);
    }
  }
  return { lines, differences, stale };
}

function compare(
  line: string,
  real: LineResult,
  ours: LineResult,
  isUnordered: boolean,
  urls: readonly string[],
): readonly LineDifference[] {
  const ordered = (text: string) => (isUnordered ? text.split("\n").toSorted().join("\n") : text);
  const pairs: readonly (readonly [string, string, string])[] = [
    ["code", String(real.code), String(ours.code)],
    ["stdout", steady(real.stdout, urls), steady(ours.stdout, urls)],
    ["stderr", steady(real.stderr, urls), steady(ours.stderr, urls)],
    ["requests", ...requestTexts(real.requests, ours.requests, urls)],
  ];
  return pairs.flatMap(([what, a, b]) => (ordered(a) === ordered(b) ? [] : [{ line, what, real: a, ours: b }]));
}

/** What a kubectl before 1.34 writes for an object that was never created, a newer one leaves out. */
function asSince34(result: LineResult): LineResult {
  const clean = (text: string) =>
    text
      .replace(/^ *creationTimestamp: null\n/gm, "")
      .replace(/^ *"creationTimestamp": null,\n|,\n *"creationTimestamp": null(?=\n)/gm, "")
      .replace(/"creationTimestamp":null,|,?"creationTimestamp":null/g, "");
  return {
    ...result,
    stdout: clean(result.stdout),
    requests: result.requests.map((one) => ({ ...one, body: clean(one.body) })),
  };
}

/** What cannot be the same twice: ids, times, ages, addresses. */
export function steady(text: string, urls: readonly string[]): string {
  let result = text;
  for (const url of urls)
    result = result.replaceAll(url, "<server>").replaceAll(url.replace("http://", ""), "<server>");
  return (
    result
      .replace(/(?<=\b|%3D)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, "<uid>")
      .replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z\b/g, "<time>")
      .replace(/\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}/g, "<time>")
      .replace(/(resourceVersion"?: ?)"\d+"/g, '$1"<version>"')
      .replace(/\b(resourceVersion:)\d+/g, "$1<version>") // as Go prints a map
      .replace(/(resourceVersion\\":\\"|resourceVersion","value":")\d+/g, "$1<version>")
      .replace(/\bkubectl\/v1\.\d+\.[\w.-]+/g, "kubectl/<release>")
      .replace(/(Resource ?Version:? +)\d+/g, "$1<version>")
      // Left out when empty since 1.34.
      .replace(/^preferences: \{\}\n|^ *"preferences": \{\},\n/gm, "")
      .replace(/\b(node-debugger-[\w-]+-)[a-z0-9]{5}\b/g, "$1<chance>")
      // Files that are made for a moment.
      .replace(/\/[\w./-]*\/(kubectl-edit-|LIVE-|MERGED-)\w+/g, "<$1file>")
      .replace(/\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4}/g, "<time>")
      .replace(/\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4} UTC/g, "<time>")
      .replace(/X509SHA256=[0-9a-f]{64}/g, "<certificate>")
      // Logs of what a client does in the background.
      .replace(/^[IWE]\d{4} .* (memcache|reflector)\.go:.*\n/gm, "")
      .replace(/^[IWE]\d{4} \S+ +\d+ (\w+\.go):\d+\]/gm, "<log $1>")
      .replace(/\bcontinue=[\w%-]+/g, "continue=<token>")
      // A real one puts the terms in the order of a map, another each time.
      .replace(/\binvolvedObject\.[^&\s]+/g, (terms) => terms.split("%2C").sort().join("%2C"))
      .replace(/\b(CLUSTER-IP|AGE|LAST SEEN|FIRST SEEN|DURATION|LAST SCHEDULE) +/g, "$1 ")
      .replace(/\b10\.\d+\.\d+\.\d+( *)/g, "<ip> ")
      .replace(/\b3[0-2]\d{3}\b/g, "<port>")
      .replace(/\b\d+[smhd](\d+[smh])?( *)(?=\s|$)/gm, "<age> ")
      .replace(/ +$/gm, "")
  );
}

/** What the server serves is asked for in the way and as often as each likes; the rest is compared in order. */
const isDiscovery = ({ path }: RecordedRequest): boolean =>
  // How one object is followed is each one's own affair, too.
  /[?&]watch=|fieldSelector=metadata\.name%3D\w+(&|$)/.test(path) ||
  // And so is how it is found out whether the server looks at fields.
  path === "/apis/apiextensions.k8s.io/v1/customresourcedefinitions" ||
  /^\/(api|apis|version|openapi)(\/?$|\?|\/v[23])|^\/api\/v1(\?|$)|^\/apis\/[^/]+\/[^/]+(\?|$)/.test(path);

function requestTexts(
  real: readonly RecordedRequest[],
  ours: readonly RecordedRequest[],
  urls: readonly string[],
): readonly [string, string] {
  const a = real.filter((request) => !isDiscovery(request));
  const b = ours.filter((request) => !isDiscovery(request));
  // Of some kinds a real kubectl sends protobuf: then where it goes is compared, not what it says.
  const text = (requests: readonly RecordedRequest[]) =>
    requests
      .map(({ method, path, body }, i) =>
        `${method} ${path} ${a[i]?.body.startsWith("k8s\0") ? "" : sortedBody(body)}`.trim(),
      )
      // How often it is looked whether something has come is a matter of time.
      .filter((one, i, all) => !one.startsWith("GET ") || !all.slice(lastWrite(all, i), i).includes(one))
      .join("\n");
  return [steady(text(a), urls), steady(text(b), urls)];
}

/** Where what was read before is forgotten. */
const lastWrite = (requests: readonly string[], before: number): number =>
  Math.max(
    0,
    requests.slice(0, before).findLastIndex((one) => !one.startsWith("GET ")),
  );

/** The same JSON in another order of keys is the same request. */
function sortedBody(body: string): string {
  if (!/^\s*[[{]/.test(body)) return body.trim();
  const sorted = (value: unknown): unknown =>
    Array.isArray(value)
      ? value.map(sorted)
      : typeof value === "string"
        ? managersSorted(value)
        : value !== null && typeof value === "object"
          ? Object.fromEntries(
              Object.entries(value)
                .sort(([a], [b]) => (a < b ? -1 : 1))
                .map(([key, one]) => [key, sorted(one)]),
            )
          : value;
  return JSON.stringify(sorted(JSON.parse(body)));
}

/** Managers of one second are in the order of their names, others in that of their times: on two servers that differs by chance. */
function managersSorted(value: string): string {
  if (!/^\{.*"managedFields":\[/.test(value)) return value;
  const object = JSON.parse(value) as { metadata: { managedFields: { manager: string }[] } };
  object.metadata.managedFields.sort((a, b) => (a.manager < b.manager ? -1 : 1));
  return `${JSON.stringify(object)}\n`;
}
