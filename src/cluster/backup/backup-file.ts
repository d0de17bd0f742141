// A backup of a cluster is one tar archive: `backup.json`, which says what it is and how each other file has to be, the settings, the files that
// a control plane cannot do without, and the store. Whoever has it has the cluster, so nobody but its owner may read it.
import { createHash } from "node:crypto";
import { createReadStream, existsSync, renameSync, rmSync, statSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { decodeUtf8, parseJson } from "#schema/json.ts";
import { syncFolder } from "#store/host/write-durably.ts";
import { tarEnd, tarHead, tarPadding } from "../images/tar.ts";
import { readExactly, type TarPlace, tarIndex } from "../images/tar-index.ts";
import type { Settings } from "../local/settings.ts";

export interface BackupContent {
  readonly cluster: string;
  /** Of knarr and of Kubernetes. */
  readonly versions: { readonly knarr: string; readonly kubernetes: string };
  /** When, as RFC 3339 has it. */
  readonly madeAt: string;
  readonly settings: Settings;
  /** Keys and certificates by the names that `shared-files.ts` has for them. */
  readonly texts: Readonly<Record<string, string>>;
}

interface BackupHead extends Omit<BackupContent, "settings" | "texts"> {
  readonly format: string;
  /** SHA-256 of each other file. */
  readonly files: Readonly<Record<string, string>>;
}

const format = "knarr backup 1";
const headName = "backup.json";
const settingsName = "settings.json";
const filesFolder = "files/";
const storeName = "store.lmdb";
const chunkBytes = 1 << 20;
/** No file of a backup but its store is as large as this. */
const mostTextBytes = 8 << 20;

/** Writes it whole or not at all. The store is a file of the embedded engine. */
export async function writeBackup(target: string, content: BackupContent, store: string): Promise<void> {
  if (existsSync(target)) throw new Error(`${target} exists; choose another name, or delete it first`);
  const { settings, texts, ...about } = content;
  const small = new Map([[settingsName, Buffer.from(JSON.stringify(settings, undefined, 2))]]);
  for (const [name, text] of Object.entries(texts)) small.set(`${filesFolder}${name}`, Buffer.from(text));
  const files = Object.fromEntries([...small].map(([name, bytes]) => [name, hashOf(bytes)]));
  files[storeName] = await hashOfFile(store);
  const head: BackupHead = { format, ...about, files };
  const draft = `${target}.new`;
  try {
    const file = await open(draft, "w", 0o600);
    try {
      await writeEntry(file, headName, [Buffer.from(JSON.stringify(head, undefined, 2))]);
      for (const [name, bytes] of small) await writeEntry(file, name, [bytes]);
      await writeEntry(file, storeName, createReadStream(store, { highWaterMark: chunkBytes }), statSync(store).size);
      await file.writeFile(tarEnd);
      await file.sync();
    } finally {
      await file.close();
    }
    renameSync(draft, target);
    syncFolder(dirname(target));
  } finally {
    rmSync(draft, { force: true });
  }
}

async function writeEntry(
  file: FileHandle,
  name: string,
  parts: AsyncIterable<Buffer> | readonly Buffer[],
  size = Array.isArray(parts) ? parts.reduce((sum: number, part: Buffer) => sum + part.length, 0) : 0,
): Promise<void> {
  await file.writeFile(tarHead({ name, mode: 0o600 }, size));
  for await (const part of parts) await file.writeFile(part);
  await file.writeFile(tarPadding(size));
}

/** Checks every file of a backup, and puts its store into a folder. Throws an error that says what is wrong with it. */
export async function readBackup(
  path: string,
  folder: string,
): Promise<{ readonly content: BackupContent; readonly store: string }> {
  const store = join(folder, storeName);
  const file = await open(path).catch((cause: unknown) => {
    throw new Error(`read backup ${path}`, { cause });
  });
  try {
    const places = await tarIndex(file);
    const { format: found, files, ...about } = (await jsonIn(file, places.get(headName))) as Partial<BackupHead>;
    if (found !== format) throw new Error(`it is of a form that this version does not read (${found ?? "unknown"})`);
    for (const [name, hash] of Object.entries(files ?? {})) {
      const place = places.get(name);
      if (!place) throw new Error(`${name} is missing in it`);
      if ((await copyEntry(file, place, name === storeName ? store : undefined)) !== hash)
        throw new Error(`${name} in it is not as it was written`);
    }
    const texts: Record<string, string> = {};
    for (const [name, place] of places)
      if (name.startsWith(filesFolder)) texts[name.slice(filesFolder.length)] = await textIn(file, place);
    const settings = (await jsonIn(file, places.get(settingsName))) as Settings; // the hash says that we wrote it
    const { cluster = "", versions = { knarr: "", kubernetes: "" }, madeAt = "" } = about;
    return { content: { cluster, versions, madeAt, settings, texts }, store };
  } catch (cause) {
    throw new Error(`${path} cannot be used as a backup`, { cause });
  } finally {
    await file.close();
  }
}

async function jsonIn(file: FileHandle, place: TarPlace | undefined): Promise<unknown> {
  if (!place) throw new Error("it is no backup of a cluster");
  return parseJson(await textIn(file, place)).value;
}

async function textIn(file: FileHandle, { offset, size }: TarPlace): Promise<string> {
  if (size > mostTextBytes) throw new Error(`a file of ${size} bytes is too large for it`);
  const bytes = Buffer.alloc(size);
  await readExactly(file, bytes, offset);
  return decodeUtf8(bytes);
}

/** Resolves with the hash of what is there. */
async function copyEntry(file: FileHandle, { offset, size }: TarPlace, target: string | undefined): Promise<string> {
  const hash = createHash("sha256");
  const copy = target === undefined ? undefined : await open(target, "wx", 0o600);
  try {
    for (let done = 0; done < size; done += chunkBytes) {
      const chunk = Buffer.alloc(Math.min(chunkBytes, size - done));
      await readExactly(file, chunk, offset + done);
      hash.update(chunk);
      await copy?.writeFile(chunk);
    }
  } finally {
    await copy?.close();
  }
  return hash.digest("hex");
}

const hashOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

async function hashOfFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const part of createReadStream(path, { highWaterMark: chunkBytes })) hash.update(part);
  return hash.digest("hex");
}
