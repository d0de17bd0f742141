// Upstream: kubectl/pkg/cmd/cp/cp.go. What a container sends is not trusted: nothing is written outside of the destination.
import { statSync } from "node:fs";
import { basename, posix } from "node:path";
import { ByteQueue } from "#wire/streams/byte-queue.ts";
import { command } from "../../command.ts";
import { ExitError, KubectlError } from "../../errors.ts";
import { written } from "../../io.ts";
import { metadataOf, resourcePath, stringIn } from "../../resources/resource-info.ts";
import type { KubeObject } from "../../rest/client.ts";
import type { Session } from "../../session.ts";
import { chooseContainer, podMapping, statusOf } from "../../workloads/pods.ts";
import { extract, packed } from "./local-files.ts";
import { stream } from "./remote-command.ts";
import { noSizes } from "./terminal.ts";

interface FileSpec {
  readonly namespace: string;
  /** Empty for a file of this machine. */
  readonly pod: string;
  readonly path: string;
}

export const cp = command({
  use: "cp <file-spec-src> <file-spec-dest>",
  long: "Copy files and folders to and from containers. The container must have tar; links that a container sends are left out.",
  examples: `# A folder to a pod
kubectl cp ./site web:/var/www

# A file to a container of a pod in another namespace
kubectl cp notes.txt shop/web:/tmp/notes.txt -c main

# A folder from a pod, and again from where it was cut off if the connection breaks
kubectl cp web:/var/log ./log --retries=5`,
  flags: {
    container: { type: "string", short: "c", help: "The container; the pod's default or first one unless given." },
    "no-preserve": { type: "bool", help: "Owners and permissions are not kept in the container." },
    retries: { type: "int", help: "How often to resume a copy from a container; negative for without end." },
  },
  async run(session, args, flags) {
    if (args.length !== 2) throw new KubectlError("source and destination are required");
    const [from, to] = args.map(fileSpec) as [FileSpec, FileSpec];
    if (from.pod !== "" && to.pod !== "")
      throw new KubectlError("one of src or dest must be a local file specification");
    if (from.path === "" || to.path === "") throw new KubectlError("filepath can not be empty");
    if (from.pod === "" && to.pod === "")
      throw new KubectlError("one of src or dest must be a remote file specification");
    if (from.pod !== "") return copyFrom(session, from, to.path, flags);
    return copyTo(session, from.path, to, flags);
  },
});

/** `[[namespace/]pod:]path`. Throws KubectlError. */
export function fileSpec(text: string): FileSpec {
  const at = text.indexOf(":");
  const malformed = "filespec must match the canonical format: [[namespace/]pod:]file/path";
  if (at === 0) throw new KubectlError(malformed);
  if (at < 0) return { namespace: "", pod: "", path: withoutTrailing(text) };
  const parts = text.slice(0, at).split("/");
  if (parts.length > 2) throw new KubectlError(malformed);
  const path = withoutTrailing(text.slice(at + 1).replaceAll("\\", "/"));
  return { namespace: parts.length === 2 ? (parts[0] ?? "") : "", pod: parts.at(-1) ?? "", path };
}

/** The root stays the root. */
const withoutTrailing = (path: string): string => path.replace(/(?<=[^/])\/+$/, "");

/** Without what leads out of the root: it is how the names in the archive begin. */
export function archivePrefix(path: string): string {
  const clean = posix.normalize(path.replace(/^\/+|\/+$/g, "") || ".").replace(/\/$/, "");
  const inside = clean.replace(/^(\.\.\/)+/, "");
  return inside === "." || inside === ".." ? "" : inside.replace(/^\//, "");
}

interface CopyFlags {
  readonly container: string;
  readonly "no-preserve": boolean;
  readonly retries: number;
}

async function copyTo(session: Session, from: string, to: FileSpec, flags: CopyFlags): Promise<void> {
  try {
    statSync(posix.resolve(session.io.cwd, from));
  } catch (cause) {
    throw new KubectlError(`${from} doesn't exist in local filesystem`, { cause });
  }
  const pod = await runningPod(session, to);
  const nothing = { stdin: undefined, stdout: async () => undefined, stderr: async () => undefined };
  // Not every container has a `test`; what is really wrong is told by what follows.
  const isFolder = await runIn(session, pod, flags, ["test", "-d", to.path], nothing, true).then(
    () => true,
    () => false,
  );
  session.io.signal.throwIfAborted();
  const target = posix.normalize(isFolder ? posix.join(to.path, basename(from)) : to.path);
  const keep = flags["no-preserve"] ? ["--no-same-permissions", "--no-same-owner"] : [];
  const program = ["tar", ...keep, "-xmf", "-", "-C", posix.dirname(target)];
  const { stdout, stderr } = session.io;
  const broken = new AbortController();
  const archive = failing(packed(posix.resolve(session.io.cwd, from), posix.basename(target)), broken);
  try {
    await runIn(session, pod, flags, program, {
      stdin: archive,
      stdout: (bytes) => written(stdout, bytes),
      stderr: (bytes) => written(stderr, bytes),
    });
  } catch (error) {
    throw broken.signal.aborted ? broken.signal.reason : error;
  }
  broken.signal.throwIfAborted();
}

/** What goes wrong with the files here is remembered: the other side only sees the archive end. */
async function* failing(archive: AsyncIterable<Uint8Array>, broken: AbortController): AsyncGenerator<Uint8Array> {
  try {
    yield* archive;
  } catch (error) {
    broken.abort(error instanceof Error ? new KubectlError(error.message, { cause: error }) : error);
  }
}

async function copyFrom(session: Session, from: FileSpec, to: string, flags: CopyFlags): Promise<void> {
  const pod = await runningPod(session, from);
  await extract(remoteArchive(session, pod, from, flags), {
    prefix: archivePrefix(from.path),
    target: posix.resolve(session.io.cwd, to),
    shown: to,
    warn: (text) => session.printError(`warning: ${text}`),
    linkHint: ` (consider using "kubectl exec -n ${JSON.stringify(from.namespace)} ${JSON.stringify(from.pod)} -- tar cf - ${JSON.stringify(from.path)} | tar xf -")`,
  });
}

/** The archive as the container's tar makes it, from where it broke off if it did. */
async function* remoteArchive(
  session: Session,
  pod: KubeObject,
  { path }: FileSpec,
  flags: CopyFlags,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for (let retries = 0; ; ) {
    const script = `tar cf - '${path.replaceAll("'", "'\\''")}' | tail -c+${bytes + 1}`;
    const program = flags.retries === 0 ? ["tar", "cf", "-", path] : ["sh", "-c", script];
    try {
      for await (const part of outputOf(session, pod, flags, program)) {
        bytes += part.length;
        yield part;
      }
      return;
    } catch (error) {
      const isLast = flags.retries >= 0 && retries >= flags.retries;
      if (error instanceof ExitError || flags.retries === 0 || session.io.signal.aborted) throw error;
      if (isLast) session.print(`Dropping out copy after ${retries} retries`);
      if (isLast) throw error;
      retries++;
      session.print(`Resuming copy at ${bytes} bytes, retry ${retries}/${flags.retries}`);
    }
  }
}

const waitingBytes = 1024 * 1024;

async function* outputOf(
  session: Session,
  pod: KubeObject,
  flags: CopyFlags,
  program: readonly string[],
): AsyncGenerator<Uint8Array> {
  const queue = new ByteQueue(waitingBytes);
  const left = new AbortController();
  const done = runIn(session, pod, flags, program, {
    stdin: undefined,
    stdout: (bytes) => queue.push(bytes),
    // As upstream has it: what tar complains of is not an error of ours.
    stderr: (bytes) => written(session.io.stdout, bytes),
    signal: left.signal,
  }).then(
    () => queue.end(),
    (error: unknown) => queue.fail(error instanceof Error ? error : new Error(String(error))),
  );
  try {
    yield* queue;
  } finally {
    left.abort(new Error("the archive is not read any more"));
    await done;
  }
}

async function runningPod(session: Session, { namespace, pod: name }: FileSpec): Promise<KubeObject> {
  const place = namespace || (await session.namespace());
  const pod = await (await session.client()).json({ path: resourcePath(podMapping, place, name) });
  const { phase } = statusOf(pod);
  if (phase === "Succeeded" || phase === "Failed")
    throw new KubectlError(`cannot exec into a container in a completed pod; current phase is ${phase}`);
  return pod;
}

interface CopyStreams {
  readonly stdin: AsyncIterable<Uint8Array> | undefined;
  readonly stdout: (bytes: Uint8Array) => Promise<void>;
  readonly stderr: (bytes: Uint8Array) => Promise<void>;
  readonly signal?: AbortSignal;
}

async function runIn(
  session: Session,
  pod: KubeObject,
  { container }: CopyFlags,
  program: readonly string[],
  { signal, ...streams }: CopyStreams,
  isQuiet = false,
): Promise<void> {
  const { name, namespace } = metadataOf(pod);
  const chosen = chooseContainer(session, pod, container, isQuiet);
  await stream(session, {
    request: {
      path: resourcePath(podMapping, stringIn(namespace), stringIn(name), "exec"),
      query: [
        ...program.map((word) => ["command", word] as const),
        ["container", chosen.name],
        ...(streams.stdin ? [["stdin", "true"] as const] : []),
        ["stderr", "true"],
        ["stdout", "true"],
      ],
      ...(signal && { signal }),
    },
    tty: false,
    streams: { ...streams, resizes: noSizes() },
  });
}
