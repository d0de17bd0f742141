// Files of this machine into an archive, and out of one.
import { constants, createReadStream } from "node:fs";
import { copyFile, lstat, mkdir, open, readdir, readlink } from "node:fs/promises";
import { dirname, join, posix, relative } from "node:path";
import { KubectlError } from "../../errors.ts";
import { type ArchivedFile, readTar } from "../../tar/read.ts";
import { paddingOf, type TarHeader } from "../../tar/tar.ts";
import { tarEnd, tarHeader } from "../../tar/write.ts";

/** An archive of a file or folder, under another name. */
export async function* packed(path: string, name: string): AsyncGenerator<Uint8Array> {
  yield* packedEntry(path, name);
  yield tarEnd();
}

async function* packedEntry(path: string, name: string): AsyncGenerator<Uint8Array> {
  const is = await lstat(path);
  const { mode, uid, gid, size, mtimeMs } = is;
  const header: Omit<TarHeader, "type"> = { name, mode, uid, gid, size: 0, mtime: mtimeMs / 1000, linkName: "" };
  if (is.isDirectory()) {
    const names = (await readdir(path)).toSorted();
    if (names.length === 0) yield tarHeader({ ...header, name: `${name}/`, type: "directory" });
    for (const one of names) yield* packedEntry(join(path, one), posix.join(name, one));
  } else if (is.isSymbolicLink()) yield tarHeader({ ...header, type: "symlink", linkName: await readlink(path) });
  else if (is.isFile()) yield* packedFile(path, { ...header, size, type: "file" });
  else throw new KubectlError(`archive/tar: ${path} is neither a file nor a folder nor a link`);
}

async function* packedFile(path: string, header: TarHeader): AsyncGenerator<Uint8Array> {
  yield tarHeader(header);
  let left = header.size;
  if (left > 0)
    for await (const part of createReadStream(path, { end: header.size - 1 }) as AsyncIterable<Uint8Array>) {
      left -= part.length;
      yield part;
    }
  if (left > 0) throw new KubectlError(`${path} became shorter while it was read`);
  yield new Uint8Array(paddingOf(header.size));
}

export interface ExtractOptions {
  /** How all names in the archive begin. */
  readonly prefix: string;
  readonly target: string;
  /** The target as the person wrote it. */
  readonly shown: string;
  readonly warn: (text: string) => void;
  /** What is said with the first link. */
  readonly linkHint: string;
}

/** Rejects with KubectlError if the archive is not what was asked for; what leads elsewhere is left out, and said. */
export async function extract(archive: AsyncIterable<Uint8Array>, options: ExtractOptions): Promise<void> {
  const { prefix, target, shown, warn } = options;
  const files = new Map<string, string>();
  let hint = options.linkHint;
  let count = 0;
  for await (const entry of readTar(archive)) {
    count++;
    if (!entry.name.startsWith(prefix)) throw new KubectlError("tar contents corrupted");
    const rest = entry.name.slice(prefix.length);
    const path = join(target, rest);
    const name = join(shown, rest);
    if (!isInside(target, path)) {
      warn(`file ${JSON.stringify(name)} is outside target destination, skipping`);
      continue;
    }
    if (entry.type === "symlink") {
      warn(`skipping symlink: ${JSON.stringify(name)} -> ${JSON.stringify(entry.linkName)}${hint}`);
      hint = "";
    } else if (entry.type === "other") warn(`skipping ${JSON.stringify(name)}: it is no file`);
    else if (entry.type === "hardlink") await sameFile(entry, path, files, warn);
    else await place(entry, path, files);
  }
  if (count === 0) throw new KubectlError(`the container sent no file for ${options.prefix || "/"}`);
}

const isInside = (folder: string, path: string): boolean => {
  const way = relative(folder, path);
  return way !== ".." && !way.startsWith("../");
};

async function place(entry: ArchivedFile, path: string, files: Map<string, string>): Promise<void> {
  await mkdir(entry.type === "directory" ? path : dirname(path), { recursive: true, mode: 0o755 });
  if (entry.type === "directory") return;
  const file = await openForWriting(path);
  try {
    for await (const part of entry.content) await file.write(part);
  } finally {
    await file.close();
  }
  files.set(entry.name, path);
}

async function openForWriting(path: string) {
  try {
    return await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC, 0o666);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new KubectlError(`open ${path}: ${openReasons[code ?? ""] ?? code}`, { cause });
  }
}

const openReasons: Readonly<Record<string, string>> = {
  EISDIR: "is a directory",
  EACCES: "permission denied",
  ENOSPC: "no space left on device",
  EROFS: "read-only file system",
  ENOTDIR: "not a directory",
};

/** Another name of a file that came before is a copy of it here; of any other nothing is known. */
async function sameFile(
  { name, linkName }: ArchivedFile,
  path: string,
  files: Map<string, string>,
  warn: (text: string) => void,
): Promise<void> {
  const known = files.get(linkName);
  if (known === undefined) return warn(`skipping link: ${JSON.stringify(name)} -> ${JSON.stringify(linkName)}`);
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  await copyFile(known, path);
  files.set(name, path);
}
